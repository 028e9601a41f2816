/** The rows of the table with their budgets. A budget is a ratio within one run, never an absolute time. */

export interface Budget {
  /** What our number is divided by: the peer's same number, another number of ours, or nothing. */
  against: "peer" | { own: string; called: string } | "absolute";
  atMost?: number;
  atLeast?: number;
}

export interface Row {
  id: string;
  title: string;
  unit: string;
  budgets: Budget[];
}

const ofPeer = (atMost: number): Budget => ({ against: "peer", atMost });

export const ROWS: Row[] = [
  { id: "start.node", title: "a bare `node -e 0`", unit: "ms", budgets: [] },
  {
    id: "start.ping",
    title: "start to first ping",
    unit: "ms",
    budgets: [{ against: { own: "start.node", called: "bare node" }, atMost: 2 }],
  },
  { id: "start.ping.cpu", title: "CPU of the runtime for it", unit: "ms", budgets: [] },
  { id: "start.answer", title: "start to first answer", unit: "ms", budgets: [ofPeer(0.7)] },
  { id: "start.answer.cpu", title: "CPU of the runtime for it", unit: "ms", budgets: [] },
  { id: "turn", title: "plain turn", unit: "ms", budgets: [ofPeer(0.3)] },
  { id: "turn.cpu", title: "CPU of the runtime for it", unit: "ms", budgets: [] },
  { id: "tool", title: "turn with one host tool", unit: "ms", budgets: [ofPeer(0.25)] },
  { id: "tool.cpu", title: "CPU of the runtime for it", unit: "ms", budgets: [] },
  { id: "chunks", title: "5,000 streamed chunks", unit: "ms", budgets: [ofPeer(0.3)] },
  { id: "chunks.cpu", title: "CPU of the runtime for them", unit: "ms", budgets: [] },
  {
    id: "sessions.rate",
    title: "20 sessions × 10 tool turns at once",
    unit: "turns/s",
    budgets: [{ against: "peer", atLeast: 6 }],
  },
  { id: "sessions.cpu", title: "CPU of the runtime for each turn there", unit: "ms", budgets: [] },
  { id: "history.first", title: "first turns of 500 characters", unit: "ms", budgets: [] },
  {
    id: "history.late",
    title: "turn after 370 such turns",
    unit: "ms",
    budgets: [ofPeer(0.1), { against: { own: "history.first", called: "own first" }, atMost: 1.3 }],
  },
  { id: "history.resume", title: "resume of that session in a new process", unit: "ms", budgets: [] },
  { id: "history.resumed", title: "that resume and its first answer", unit: "ms", budgets: [ofPeer(0.25)] },
  { id: "history.resumed.cpu", title: "CPU of that process from its start", unit: "ms", budgets: [] },
  { id: "memory.idle", title: "memory, idle", unit: "MB", budgets: [] },
  { id: "memory.session", title: "memory per session", unit: "MB", budgets: [ofPeer(0.5)] },
  { id: "memory.end", title: "memory after the 20 sessions", unit: "MB", budgets: [] },
  { id: "agent.sync", title: "turn with one sync sub-agent", unit: "ms", budgets: [ofPeer(0.25)] },
  { id: "agent.sync.cpu", title: "CPU of the runtime for it", unit: "ms", budgets: [] },
  { id: "agent.sixteen", title: "16 sub-agents at once, one host tool each", unit: "ms", budgets: [ofPeer(0.2)] },
  { id: "agent.sixteen.cpu", title: "CPU of the runtime for them", unit: "ms", budgets: [] },
  {
    id: "agent.runs",
    title: "runs of the host tool per call there",
    unit: "",
    budgets: [{ against: "absolute", atMost: 1 }],
  },
  { id: "background.total", title: "200 background agents", unit: "ms", budgets: [] },
  {
    id: "background.lost",
    title: "their results not delivered exactly once",
    unit: "",
    budgets: [{ against: "absolute", atMost: 0 }],
  },
  {
    id: "background.memory",
    title: "memory per settled agent",
    unit: "MB",
    budgets: [{ against: "absolute", atMost: 1 }],
  },
  { id: "background.early", title: "sync sub-agent before them", unit: "ms", budgets: [] },
  {
    id: "background.late",
    title: "sync sub-agent after them",
    unit: "ms",
    budgets: [{ against: { own: "background.early", called: "before" }, atMost: 1.3 }],
  },
];
