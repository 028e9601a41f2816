/**
 * What waits to enter a session: prompts in a queue, steering for the running turn, notices from background work.
 *
 * Owns their order. Each item is in the store before it is acknowledged, and leaves the store in the same transaction
 * in which its event enters the log: it is neither lost nor delivered twice.
 */
import type { Attachment, EventData } from "@retinue/protocol";
import type { Log } from "./log.ts";

export type AgentMode = "interactive" | "plan" | "autopilot" | "shell";

export interface Prompt {
  kind: "prompt";
  id: string;
  messageId: string;
  prompt: string;
  displayPrompt?: string;
  attachments?: Attachment[];
  agentMode?: AgentMode;
  requestHeaders?: Record<string, string>;
  /** Who wrote it, when it was not the user: `system`, `agent-<id>`. */
  source?: string;
  requiredTool?: string;
  responseFormat?: unknown;
  isAutopilotContinuation?: boolean;
  /** Already the whole text for the model: no date, no hooks. */
  transformed?: string;
  /** Put into the running turn before its next model call. */
  isSteering?: boolean;
}

export interface Notice {
  kind: "notice";
  id: string;
  content: string;
  cause: EventData<"system.notification">["kind"];
}

export type InboxEntry = Prompt | Notice;

/** An answer to an ask that nothing in the log tells of yet. It is stored beside the inbox, and leaves the store in the same way. */
export interface KeptAnswer {
  kind: "answer";
  requestId: string;
  answer: unknown;
}

export function answerKeeper(log: Log): {
  keep(requestId: string, answer: unknown): void;
  drop(requestId: string): void;
} {
  const idOf = (requestId: string) => `answer/${requestId}`;
  return {
    keep(requestId, answer) {
      log.addToInbox({
        id: idOf(requestId),
        sessionId: log.rootId,
        json: JSON.stringify({ kind: "answer", requestId, answer } satisfies KeptAnswer),
      });
    },
    drop(requestId) {
      log.removeFromInbox(idOf(requestId));
    },
  };
}

/** What a store holds for a session: what waits to enter it, and answers that were taken. */
export function readInbox(items: readonly { json: string }[]): { entries: InboxEntry[]; answers: KeptAnswer[] } {
  const all = items.map(({ json }) => JSON.parse(json) as InboxEntry | KeptAnswer);
  return {
    entries: all.filter((each) => each.kind !== "answer"),
    answers: all.filter((each) => each.kind === "answer"),
  };
}

export class Inbox {
  readonly #sessionId: string;
  readonly #log: Log;
  #queue: Prompt[] = [];
  #steering: Prompt[] = [];
  #notices: Notice[] = [];
  #isPaused = false;

  constructor({ sessionId, log, stored = [] }: { sessionId: string; log: Log; stored?: readonly InboxEntry[] }) {
    this.#sessionId = sessionId;
    this.#log = log;
    for (const entry of stored) this.#place(entry);
  }

  get queue(): readonly Prompt[] {
    return this.#queue;
  }
  get steering(): readonly Prompt[] {
    return this.#steering;
  }
  get notices(): readonly Notice[] {
    return this.#notices;
  }
  get isEmpty(): boolean {
    return this.#steering.length === 0 && this.#notices.length === 0 && (this.#isPaused || this.#queue.length === 0);
  }

  add(entry: InboxEntry, { at }: { at?: number } = {}): void {
    this.#log.addToInbox({ id: entry.id, sessionId: this.#sessionId, json: JSON.stringify(entry) });
    this.#place(entry, at);
  }

  /** Everything that may enter a running turn: steering first, then notices. */
  takeForTurn(): InboxEntry[] {
    const taken = [...this.#steering, ...this.#notices];
    this.#steering = [];
    this.#notices = [];
    return taken;
  }

  /** What the next run starts with: one prompt, or all notices at once. Steering without a turn is an ordinary prompt. */
  takeForRun(): InboxEntry[] {
    const steering = this.#steering.shift();
    if (steering) return [steering];
    const prompt = this.#isPaused ? undefined : this.#queue.shift();
    if (prompt) return [prompt];
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }

  /** To be called in the tick in which the event of the entry is appended. */
  delivered(entry: InboxEntry): void {
    this.#log.removeFromInbox(entry.id);
  }

  remove(id: string): boolean {
    const entry = [...this.#queue, ...this.#steering].find((each) => each.id === id);
    if (!entry) return false;
    this.#queue = this.#queue.filter((each) => each !== entry);
    this.#steering = this.#steering.filter((each) => each !== entry);
    this.#log.removeFromInbox(id);
    return true;
  }

  /** Drops prompts and steering; notices stay, because what they tell has happened. */
  clear(): void {
    for (const entry of [...this.#queue, ...this.#steering]) this.#log.removeFromInbox(entry.id);
    this.#queue = [];
    this.#steering = [];
  }

  removeNotices(matches: (notice: Notice) => boolean): void {
    for (const notice of this.#notices.filter(matches)) this.#log.removeFromInbox(notice.id);
    this.#notices = this.#notices.filter((notice) => !matches(notice));
  }

  move(id: string, toPosition: number): boolean {
    const from = this.#queue.findIndex((each) => each.id === id);
    const [entry] = from < 0 ? [] : this.#queue.splice(from, 1);
    if (!entry) return false;
    const to = Math.min(Math.max(0, toPosition), this.#queue.length);
    this.#queue.splice(to, 0, entry);
    this.#rewrite();
    return to !== from;
  }

  update(id: string, change: Partial<Pick<Prompt, "prompt" | "displayPrompt" | "isSteering">>): boolean {
    const index = this.#queue.findIndex((each) => each.id === id);
    const entry = this.#queue[index];
    if (!entry) return false;
    const changed = { ...entry, ...change };
    this.#queue.splice(index, 1);
    if (changed.isSteering) this.#steering.push(changed);
    else this.#queue.splice(index, 0, changed);
    this.#rewrite();
    return true;
  }

  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
  }

  #place(entry: InboxEntry, at?: number): void {
    if (entry.kind === "notice") this.#notices.push(entry);
    else if (entry.isSteering) this.#steering.push(entry);
    else if (at === undefined) this.#queue.push(entry);
    else {
      this.#queue.splice(at, 0, entry);
      this.#rewrite();
    }
  }

  /** Stored order is insertion order, so a changed order is stored anew. */
  #rewrite(): void {
    for (const entry of [...this.#steering, ...this.#queue]) {
      this.#log.removeFromInbox(entry.id);
      this.#log.addToInbox({ id: entry.id, sessionId: this.#sessionId, json: JSON.stringify(entry) });
    }
  }
}
