/**
 * What waits to enter a session: prompts in a queue, steering for the running turn, notices from background work.
 *
 * Owns their order. Each item is in the store before it is acknowledged, and leaves the store in the same transaction
 * in which its event enters the log: it is neither lost nor delivered twice.
 */
import { type AppError, Attachments, lazy, NotificationKind } from "@retinue/protocol";
import * as z from "zod";
import { codec, readAll } from "../store/document.ts";
import type { InboxItem } from "../store/store.ts";
import type { Log } from "./log.ts";

const Prompt = lazy(() =>
  z.object({
    kind: z.literal("prompt"),
    id: z.string(),
    messageId: z.string(),
    prompt: z.string(),
    displayPrompt: z.string().optional(),
    attachments: Attachments().optional(),
    agentMode: z.enum(["interactive", "plan", "autopilot", "shell"]).optional(),
    requestHeaders: z.record(z.string(), z.string()).optional(),
    /** Who wrote it, when it was not the user: `system`, `agent-<id>`. */
    source: z.string().optional(),
    requiredTool: z.string().optional(),
    responseFormat: z.unknown().optional(),
    isAutopilotContinuation: z.boolean().optional(),
    /** Already the whole text for the model: no date, no hooks. */
    transformed: z.string().optional(),
    /** Put into the running turn before its next model call. */
    isSteering: z.boolean().optional(),
  }),
);
export type Prompt = z.output<ReturnType<typeof Prompt>>;
export type AgentMode = NonNullable<Prompt["agentMode"]>;

const Notice = lazy(() =>
  z.object({ kind: z.literal("notice"), id: z.string(), content: z.string(), cause: NotificationKind() }),
);
export type Notice = z.output<ReturnType<typeof Notice>>;

export type InboxEntry = Prompt | Notice;

/** An answer to an ask that nothing in the log tells of yet. It is stored beside the inbox, and leaves the store in the same way. */
const KeptAnswer = lazy(() => z.object({ kind: z.literal("answer"), requestId: z.string(), answer: z.unknown() }));
export type KeptAnswer = z.output<ReturnType<typeof KeptAnswer>>;

const stored = codec(() => z.discriminatedUnion("kind", [Prompt(), Notice(), KeptAnswer()]));

export function answerKeeper(log: Log): {
  keep(requestId: string, answer: unknown): void;
  drop(requestId: string): void;
} {
  const idOf = (requestId: string) => `answer/${requestId}`;
  return {
    keep(requestId, answer) {
      const item = stored.encode({ kind: "answer", requestId, answer });
      log.changeInbox({ add: { id: idOf(requestId), sessionId: log.rootId, ...item } });
    },
    drop(requestId) {
      log.changeInbox({ remove: idOf(requestId) });
    },
  };
}

export interface StoredInbox {
  entries: InboxEntry[];
  answers: KeptAnswer[];
  /** Why some of it could not be read. */
  problems: AppError[];
}

/** What a store holds for a session: what waits to enter it, and answers that were taken. */
export function readInbox(items: readonly InboxItem[]): StoredInbox {
  const { found, problems } = readAll(items, (item) => stored.decode(item, `inbox item ${item.id}`));
  return {
    entries: found.filter((each) => each.kind !== "answer"),
    answers: found.filter((each) => each.kind === "answer"),
    problems,
  };
}

export class Inbox {
  readonly #sessionId: string;
  readonly #log: Log;
  #queue: Prompt[] = [];
  #steering: Prompt[] = [];
  #notices: Notice[] = [];
  #isPaused = false;

  constructor({
    sessionId,
    log,
    stored: entries = [],
  }: { sessionId: string; log: Log; stored?: readonly InboxEntry[] }) {
    this.#sessionId = sessionId;
    this.#log = log;
    for (const entry of entries) this.#place(entry);
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
    this.#store(entry);
    this.#place(entry, at);
  }

  /** The same for what must be stored before it may run: entries that the store refuses never enter. */
  async receive(entries: readonly InboxEntry[], { at }: { at?: number } = {}): Promise<void> {
    for (const entry of entries) this.#store(entry);
    try {
      await this.#log.committed();
    } catch (error) {
      for (const { id } of entries) this.#log.changeInbox({ remove: id }); // The next commit would bring them in again.
      throw error;
    }
    for (const [index, entry] of entries.entries()) this.#place(entry, at === undefined ? undefined : at + index);
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
    this.#log.changeInbox({ remove: entry.id });
  }

  remove(id: string): boolean {
    const entry = [...this.#queue, ...this.#steering].find((each) => each.id === id);
    if (!entry) return false;
    this.#queue = this.#queue.filter((each) => each !== entry);
    this.#steering = this.#steering.filter((each) => each !== entry);
    this.#log.changeInbox({ remove: id });
    return true;
  }

  /** Drops prompts and steering; notices stay, because what they tell has happened. */
  clear(): void {
    for (const entry of [...this.#queue, ...this.#steering]) this.#log.changeInbox({ remove: entry.id });
    this.#queue = [];
    this.#steering = [];
  }

  removeNotices(matches: (notice: Notice) => boolean): void {
    for (const notice of this.#notices.filter(matches)) this.#log.changeInbox({ remove: notice.id });
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
      this.#log.changeInbox({ remove: entry.id });
      this.#store(entry);
    }
  }

  #store(entry: InboxEntry): void {
    this.#log.changeInbox({ add: { id: entry.id, sessionId: this.#sessionId, ...stored.encode(entry) } });
  }
}
