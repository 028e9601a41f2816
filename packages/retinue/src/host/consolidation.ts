/**
 * Consolidating a session: its learnings go to the context board, by one rem-agent at a time for each board.
 *
 * Owns who may consolidate now. The claim on a board names the task or the process that holds it; whether that still works is looked up when
 * somebody else wants it, so a claim needs no release and a killed process leaves none behind.
 */
import { randomUUID } from "node:crypto";
import type { SessionConfig } from "@retinue/protocol";
import * as z from "zod";
import type { Session } from "../session/session.ts";
import type { BoardPlace } from "../store/boards.ts";
import { codec, document } from "../store/document.ts";
import { isProcessAlive } from "../store/holder.ts";
import type { Holder, Store } from "../store/store.ts";
import { recordKey, TASK } from "../tasks/record.ts";
import type { SessionBoards } from "./board.ts";

export const CONSOLIDATING_AGENT = "rem-agent";
/** The task of `/subconscious run`. */
export const CONSOLIDATING_TASK = "rem-consolidate";

const CLAIM = codec(() =>
  z.discriminatedUnion("by", [
    z.object({ by: z.literal("task"), rootId: z.string(), taskId: z.string(), at: z.number() }),
    z.object({ by: z.literal("process"), pid: z.number(), startedAt: z.number(), until: z.number() }),
  ]),
);
type Claim = ReturnType<typeof CLAIM.decode>;

/** By session: how many prompts it had when it was consolidated last. By a task only when that task comes to its end; until then it is as `before`. */
export const CONSOLIDATED = document("consolidated", () =>
  z.object({ prompts: z.number(), task: z.object({ id: z.string(), before: z.number() }).optional() }),
);

/** A task is claimed for before its record is stored. */
const RECORD_MS = 30_000;

export interface ConsolidationOptions {
  store: Store;
  boards: SessionBoards;
  now(): number;
}

export class Consolidations {
  readonly #options: ConsolidationOptions;

  constructor(options: ConsolidationOptions) {
    this.#options = options;
  }

  /** Why this session cannot be consolidated now; undefined when it can. */
  async refusal(root: Session, config: SessionConfig): Promise<string | undefined> {
    const { boards } = this.#options;
    if (!boards.isOn(config)) return "Memory is off in this session, so there is nothing to consolidate into.";
    const board = await boards.of(root);
    if (await board.isOff())
      return "The context board of this repository is switched off (retinue board on switches it on again).";
    if (saidBefore(root) === 0) return "Nothing has happened in this session yet, so there is nothing to consolidate.";
    return await this.#held(board.place);
  }

  /** The same for a task that is about to start, which gets the board when nothing is against it. */
  async admit(
    root: Session,
    { config, taskId }: { config: SessionConfig; taskId: string },
  ): Promise<string | undefined> {
    const refusal = await this.refusal(root, config);
    if (refusal !== undefined) return refusal;
    const { boards, store, now } = this.#options;
    const { place } = await boards.of(root);
    const held = await this.#claim(place, { by: "task", rootId: root.id, taskId, at: now() });
    if (held !== undefined) return held;
    const task = { id: taskId, before: await consolidatedUntil(store, root.id) };
    await store.documents.write([CONSOLIDATED.put(root.id, { prompts: saidBefore(root), task })]);
    return undefined;
  }

  /** For a process of its own. */
  claimFor(place: BoardPlace, { holder, until }: { holder: Holder; until: number }): Promise<string | undefined> {
    return this.#claim(place, { by: "process", ...holder, until });
  }

  /** Somebody works on it, in words. */
  async #held(place: BoardPlace): Promise<string | undefined> {
    const stored = await this.#options.store.boards.claim(place);
    return stored && (await this.#isLive(read(stored.json))) ? HELD : undefined;
  }

  async #claim(place: BoardPlace, claim: Claim): Promise<string | undefined> {
    const { boards } = this.#options.store;
    const stored = await boards.claim(place);
    if (stored && (await this.#isLive(read(stored.json)))) return HELD;
    const next = { id: randomUUID(), json: CLAIM.encode(claim).json };
    return (await boards.exchangeClaim(place, { expected: stored?.id, next })) ? undefined : HELD; // Somebody was faster.
  }

  async #isLive(claim: Claim | undefined): Promise<boolean> {
    if (!claim) return false;
    const { store, now } = this.#options;
    if (claim.by === "process") return now() < claim.until && isProcessAlive(claim);
    if ((await store.leases.holder(claim.rootId)) === undefined) return false; // No living process works on that session.
    const task = await TASK.get(store.documents, recordKey({ rootId: claim.rootId, id: claim.taskId }));
    return task ? task.status === "running" : now() - claim.at < RECORD_MS;
  }
}

const HELD = "This context board is being consolidated already. Wait until that has ended, and try again.";

/** Undefined for a claim of another version: nobody knows what it means, so it holds nothing. */
function read(json: string): Claim | undefined {
  try {
    return CLAIM.decode({ version: 1, json }, "the claim on a context board");
  } catch {
    return undefined;
  }
}

/** How many prompts of a session are behind its last consolidation. */
export async function consolidatedUntil({ documents }: Pick<Store, "documents">, rootId: string): Promise<number> {
  const last = await CONSOLIDATED.get(documents, rootId);
  if (!last?.task) return last?.prompts ?? 0;
  const record = await TASK.get(documents, recordKey({ rootId, id: last.task.id }));
  const hasAnswered = record?.status === "idle" || record?.status === "completed";
  return hasAnswered ? last.prompts : last.task.before;
}

/** How many prompts the user has given, without those that only ask to consolidate. */
export function saidBefore({ state }: Session): number {
  const asked = state.messages.filter(
    (message) =>
      message.role === "user" && JSON.stringify(message.content).includes(JSON.stringify(ASKED).slice(1, -1)),
  );
  return Math.max(0, state.userPrompts - asked.length);
}

/** Stands in the prompt of `/subconscious run`, and in no notice about the task. */
const ASKED = `\`name\` "${CONSOLIDATING_TASK}"`;
