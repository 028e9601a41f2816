/**
 * A model that does what its prompt says: the prompt of an agent holds a plan, and a plan may hold the plans of sub-agents.
 *
 * Owns the plan and the next answer for a conversation. It keeps nothing between requests, so the same run can be repeated, cut off
 * and continued, in this process or behind a server.
 */

/** One thing that the model does in a turn. */
export type Move =
  | { call: string; args?: Record<string, unknown>; id?: string }
  | { task: Plan; name: string; agent?: string; mode?: "sync" | "background"; budget?: object };

export interface Turn {
  moves?: readonly Move[];
  /** The model does not answer before the test opens this gate. */
  gate?: string;
  /** The model call fails with these words. */
  fails?: string;
}

/** Turns with calls, then one answer in words. */
export interface Plan {
  turns?: readonly Turn[];
  says: string;
}

export interface Said {
  role: "user" | "assistant" | "tool";
  text: string;
}

export interface NextMove {
  gate?: string;
  fails?: string;
  text: string;
  calls: { id?: string; name: string; arguments: Record<string, unknown> }[];
}

export function promptOf(plan: Plan): string {
  return `PLAN:${Buffer.from(JSON.stringify(plan)).toString("base64url")}:END`;
}

export function planIn(text: string): Plan | undefined {
  const found = [...text.matchAll(/PLAN:([A-Za-z0-9_-]+):END/g)].at(-1)?.[1];
  return found === undefined ? undefined : (JSON.parse(Buffer.from(found, "base64url").toString("utf8")) as Plan);
}

/** What comes next in a conversation: the first turn of the latest plan that has not been taken. */
export function nextMove(conversation: readonly Said[]): NextMove {
  const start = conversation.findLastIndex(({ role, text }) => role === "user" && planIn(text) !== undefined);
  const plan = planIn(conversation[start]?.text ?? "") ?? { says: "I have no plan." };
  const since = conversation.slice(start + 1);
  const turn = plan.turns?.[since.filter(({ role }) => role === "assistant").length];
  if (!turn) return { text: plan.says, calls: [] };
  const agents = agentsIn(conversation);
  return {
    gate: turn.gate,
    fails: turn.fails,
    text: "",
    calls: (turn.moves ?? []).map((move) => callOf(move, agents)),
  };
}

/** The answer in words, whatever the plan still has: no call may follow. */
export function lastMove(conversation: readonly Said[]): NextMove {
  const plan = conversation.findLast(({ role, text }) => role === "user" && planIn(text) !== undefined);
  return { text: planIn(plan?.text ?? "")?.says ?? "I have no plan.", calls: [] };
}

function callOf(move: Move, agents: readonly string[]): NextMove["calls"][number] {
  if ("call" in move) return { id: move.id, name: move.call, arguments: filled(move.args ?? {}, agents) };
  const { task, name, agent = "general-purpose", mode, budget } = move;
  return {
    name: "task",
    arguments: {
      name,
      description: `work of ${name}`,
      agent_type: agent,
      prompt: promptOf(task),
      ...(mode ? { mode } : {}),
      ...(budget ? { budget } : {}),
    },
  };
}

/** `$agent:0` stands for the first agent that a result named. */
function filled(args: Record<string, unknown>, agents: readonly string[]): Record<string, unknown> {
  const entries = Object.entries(args).map(([key, value]) => {
    const index = typeof value === "string" ? /^\$agent:(\d+)$/.exec(value)?.[1] : undefined;
    return [key, index === undefined ? value : (agents[Number(index)] ?? "no-such-agent")];
  });
  return Object.fromEntries(entries);
}

function agentsIn(conversation: readonly Said[]): string[] {
  const results = conversation.filter(({ role }) => role === "tool").map(({ text }) => text);
  return [...new Set(results.flatMap((text) => [...text.matchAll(/agent_id: ([\w-]+)/g)].map(([, id = ""]) => id)))];
}
