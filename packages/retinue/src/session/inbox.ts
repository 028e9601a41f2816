/**
 * What waits to enter a session: prompts in a queue, steering for the running turn, notices from background work.
 *
 * Owns their order. Each item is in the store before it is acknowledged, and leaves the store in the same transaction
 * in which its event enters the log: it is neither lost nor delivered twice.
 */
import type { AppError } from "@retinue/protocol";
import { readAll } from "../store/document.ts";
import type { InboxItem } from "../store/store.ts";
import { type InboxEntry, type KeptAnswer, type KeptAsk, type Notice, type Prompt, stored } from "./inbox-entry.ts";
import type { Log } from "./log.ts";
import { QueueEdits, type Waiting } from "./queue-edits.ts";

export type { AgentMode, InboxEntry, Notice, Prompt } from "./inbox-entry.ts";

/** Stores asks and answers of a tree, until what they lead to is in the log. */
export function answerKeeper(log: Log): {
  keep(requestId: string, answer: unknown): void;
  keepAsk(ask: Omit<KeptAsk, "kind">): void;
  drop(requestId: string): void;
  dropAsk(requestId: string): void;
} {
  const idOf = (requestId: string) => `answer/${requestId}`;
  const askIdOf = (requestId: string) => `ask/${requestId}`;
  return {
    keep(requestId, answer) {
      const item = stored.encode({ kind: "answer", requestId, answer });
      log.changeInbox({ add: { id: idOf(requestId), sessionId: log.rootId, ...item } });
    },
    keepAsk(ask) {
      const item = stored.encode({ kind: "ask", ...ask });
      log.changeInbox({ add: { id: askIdOf(ask.requestId), sessionId: log.rootId, ...item } });
    },
    drop(requestId) {
      log.changeInbox({ remove: { id: idOf(requestId), sessionId: log.rootId } });
    },
    dropAsk(requestId) {
      log.changeInbox({ remove: { id: askIdOf(requestId), sessionId: log.rootId } });
    },
  };
}

/** Puts a notice into the stored inbox of a session that is not open. */
export function leaveNotice(log: Log, sessionId: string, notice: Notice): void {
  log.changeInbox({ add: { id: notice.id, sessionId, ...stored.encode(notice) } });
}

export interface StoredInbox {
  entries: InboxEntry[];
  answers: KeptAnswer[];
  asks: KeptAsk[];
  /** Why some entries could not be read. */
  problems: AppError[];
}

/** What a store holds for a session: waiting entries, open asks, and accepted answers. */
export function readInbox(items: readonly InboxItem[]): StoredInbox {
  const { found, problems } = readAll(items, (item) => stored.decode(item, `inbox item ${item.id}`));
  return {
    entries: found.filter((each) => each.kind === "prompt" || each.kind === "notice"),
    answers: found.filter((each) => each.kind === "answer"),
    asks: found.filter((each) => each.kind === "ask"),
    problems,
  };
}

export class Inbox {
  readonly #sessionId: string;
  readonly #log: Log;
  readonly #waiting: Waiting = { queue: [], steering: [], notices: [], isPaused: false };
  /** The edits that a person may make to waiting prompts. */
  readonly edits: QueueEdits;

  constructor({
    sessionId,
    log,
    stored: entries = [],
  }: { sessionId: string; log: Log; stored?: readonly InboxEntry[] }) {
    this.#sessionId = sessionId;
    this.#log = log;
    this.edits = new QueueEdits(this.#waiting, {
      onRemoved: (entry) => this.#unstore(entry),
      onReordered: () => this.#rewrite(),
    });
    for (const entry of entries) this.#place(entry);
  }

  get queue(): readonly Prompt[] {
    return this.#waiting.queue;
  }
  get steering(): readonly Prompt[] {
    return this.#waiting.steering;
  }
  get notices(): readonly Notice[] {
    return this.#waiting.notices;
  }
  get isEmpty(): boolean {
    return (
      this.#waiting.steering.length === 0 &&
      this.#waiting.notices.length === 0 &&
      (this.#waiting.isPaused || this.#waiting.queue.length === 0)
    );
  }

  add(entry: InboxEntry, { at }: { at?: number } = {}): void {
    this.#store(entry);
    this.#place(entry, at);
  }

  /** Adds entries after they are committed: entries that the store refuses never enter the queue. */
  async receive(entries: readonly InboxEntry[], { at }: { at?: number } = {}): Promise<void> {
    for (const entry of entries) this.#store(entry);
    try {
      await this.#log.committed();
    } catch (error) {
      for (const entry of entries) this.#unstore(entry); // Else the next commit would store them.
      throw error;
    }
    for (const [index, entry] of entries.entries()) this.#place(entry, at === undefined ? undefined : at + index);
  }

  /** Takes everything that may enter a running interaction: steering first, then notices. */
  takeForTurn(): InboxEntry[] {
    const taken = [...this.#waiting.steering, ...this.#waiting.notices];
    this.#waiting.steering = [];
    this.#waiting.notices = [];
    return taken;
  }

  /** Takes what the next run starts with: one prompt, or all notices at once. Steering outside a run is an ordinary prompt. */
  takeForRun(): InboxEntry[] {
    const steering = this.#waiting.steering.shift();
    if (steering) return [steering];
    const prompt = this.#waiting.isPaused ? undefined : this.#waiting.queue.shift();
    if (prompt) return [prompt];
    const notices = this.#waiting.notices;
    this.#waiting.notices = [];
    return notices;
  }

  /** Must be called in the same tick in which the event of the entry is appended. */
  delivered(entry: InboxEntry): void {
    this.#unstore(entry);
  }

  /** Drops prompts and steering; notices stay, because what they report has happened. */
  clear(): void {
    for (const entry of [...this.#waiting.queue, ...this.#waiting.steering]) this.#unstore(entry);
    this.#waiting.queue = [];
    this.#waiting.steering = [];
  }

  removeNotices(matches: (notice: Notice) => boolean): void {
    for (const notice of this.#waiting.notices.filter(matches)) this.#unstore(notice);
    this.#waiting.notices = this.#waiting.notices.filter((notice) => !matches(notice));
  }

  #place(entry: InboxEntry, at?: number): void {
    if (entry.kind === "notice") this.#waiting.notices.push(entry);
    else if (entry.isSteering) this.#waiting.steering.push(entry);
    else if (at === undefined) this.#waiting.queue.push(entry);
    else {
      this.#waiting.queue.splice(at, 0, entry);
      this.#rewrite();
    }
  }

  /** Stored order is insertion order, so changing it means storing the entries again. */
  #rewrite(): void {
    for (const entry of [...this.#waiting.steering, ...this.#waiting.queue]) {
      this.#unstore(entry);
      this.#store(entry);
    }
  }

  #store(entry: InboxEntry): void {
    this.#log.changeInbox({ add: { id: entry.id, sessionId: this.#sessionId, ...stored.encode(entry) } });
  }

  #unstore({ id }: InboxEntry): void {
    this.#log.changeInbox({ remove: { id, sessionId: this.#sessionId } });
  }
}
