/**
 * What one hook is going to store in one session: changes are collected here and written in one call.
 *
 * Nothing is locked meanwhile. The write names what was read before it. When somebody else has written since, it is refused, and the
 * work starts over (`untilSaved`). Later steps find here what earlier ones have drafted.
 */
import { AppError } from "@retinue/protocol";
import {
  keptText,
  type NewTurn,
  type SessionName,
  type TranscriptChange,
  type TranscriptSession,
} from "../../store/transcript-records.ts";
import type { TranscriptStore } from "../../store/transcripts.ts";
import { parseReading, type Reading } from "./reading-state.ts";

/** A change without the session and the time, which the draft knows. */
type Change<C = TranscriptChange> = C extends TranscriptChange ? Omit<C, "session" | "at"> : never;

export class Draft {
  /** As it is or will be stored. */
  readonly name: SessionName;
  readonly #store: TranscriptStore;
  readonly #now: number;
  #session: TranscriptSession | undefined;
  #reading: Reading;
  #changes: TranscriptChange[] = [];
  #turns: NewTurn[] = [];

  private constructor(
    store: TranscriptStore,
    { name, session, now }: { name: SessionName; session?: TranscriptSession; now: number },
  ) {
    this.name = name;
    this.#store = store;
    this.#now = now;
    this.#session = session;
    this.#reading = parseReading(session?.reading);
  }

  /** For a session that was read a moment ago. */
  static of(store: TranscriptStore, { session, now }: { session: TranscriptSession; now: number }): Draft {
    const { agentId, sessionKey, harness } = session;
    return new Draft(store, { name: { agentId, sessionKey, harness }, session, now });
  }

  static async open(store: TranscriptStore, { name, now }: { name: SessionName; now: number }): Promise<Draft> {
    return new Draft(store, { ...(await store.sessions.resolve(name)), now });
  }

  /** As it was read; undefined when it is not there yet. */
  get session(): TranscriptSession | undefined {
    return this.#session;
  }

  /** How far its transcript has been read, with what is drafted. */
  get reading(): Reading {
    return this.#reading;
  }

  add(change: Change): void {
    this.#changes.push({ ...change, session: this.name, at: this.#now });
  }

  /** Appends turns, together with how far the reader has come. Without turns, `at` keeps the session from looking used. */
  append(turns: readonly NewTurn[], { reading, at = this.#now }: { reading?: Reading; at?: number } = {}): void {
    if (turns.length === 0 && !reading) return;
    this.#turns = this.#turns.concat(turns.map((turn) => ({ ...turn, text: keptText(turn) })));
    if (reading) this.#reading = reading;
    const state = reading && JSON.stringify(reading);
    const last = this.#changes.at(-1);
    if (last?.type === "turns")
      this.#changes[this.#changes.length - 1] = {
        ...last,
        at: Math.max(last.at, at),
        turns: [...last.turns, ...turns],
        reading: state ?? last.reading,
      };
    else this.#changes.push({ type: "turns", session: this.name, at, turns, reading: state });
  }

  /** The last turns, newest first. */
  async newest(limit: number): Promise<NewTurn[]> {
    const drafted = this.#turns.slice(-limit).reverse();
    const left = limit - drafted.length;
    if (!this.#session || left === 0) return drafted;
    return [...drafted, ...(await this.#store.turns.read(this.#session.id, { backward: true, limit: left }))];
  }

  /** Every turn, in order. */
  async everything(): Promise<NewTurn[]> {
    const stored = this.#session ? await this.#store.turns.read(this.#session.id) : [];
    return [...stored, ...this.#turns];
  }

  /** The ids of everything that turns were read from. */
  async sources(): Promise<ReadonlySet<string>> {
    const stored = this.#session ? await this.#store.turns.sources(this.#session.id) : [];
    return new Set([...stored, ...this.#turns.flatMap(({ sourceId }) => sourceId ?? [])]);
  }

  /** Writes the collected changes; the draft cannot be used again. True when the index is due. */
  async save(): Promise<boolean> {
    if (this.#changes.length === 0) return false;
    const expects = [{ session: this.name, was: this.#session }];
    const { isStored, isIndexDue } = await this.#store.record({ changes: this.#changes, expects });
    if (!isStored) throw new Moved();
    return isIndexDue;
  }

  /** Writes the collected changes and continues with an empty draft, so that a long transcript is never held in memory as a whole. */
  async saveSoFar(): Promise<void> {
    await this.save();
    const { session } = await this.#store.sessions.resolve(this.name);
    if (session?.reading !== JSON.stringify(this.#reading)) throw new Moved();
    this.#session = session;
    this.#changes = [];
    this.#turns = [];
  }
}

/** Somebody else wrote to the session while a draft was made. */
export class Moved extends Error {}

const MAX_ATTEMPTS = 100;

/** Repeats the work (read, draft, save) until nobody else wrote in between. */
export async function untilSaved<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
    }
  }
  throw new AppError("store_unavailable", "The session is written to without a pause; nothing of this was stored");
}
