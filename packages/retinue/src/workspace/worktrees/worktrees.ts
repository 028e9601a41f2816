/**
 * A worktree for each agent that is to write apart from the others: made when it starts, merged in a queue when it has ended, removed when nothing
 * lives in it any more.
 *
 * Owns the order of the steps. Each is written down before the next begins, and each can be done again, so a runtime that is killed at any point leaves
 * nothing that the next one cannot finish: work goes to a ref first, then into the working tree, and only then is the folder removed.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { messageOf, type WorktreeResult } from "@retinue/protocol";
import { realPath } from "../../real-path.ts";
import type { Confinement } from "../../session/session.ts";
import { isProcessAlive, thisProcess } from "../../store/holder.ts";
import { makePrivateFolder } from "../../store/private-files.ts";
import type { Documents } from "../../store/store.ts";
import { git } from "../git-process.ts";
import { mergeInto } from "./merge.ts";
import { occupantsOf } from "./occupants.ts";
import { refused, repositoryAround } from "./repository.ts";
import { inTurn } from "./repository-queue.ts";
import { type Bench, sweepIndexes, Unmerged } from "./snapshot.ts";
import { collectWork, isThere, makeWorktree, removeWorktree } from "./worktree.ts";
import { refOf, WORKTREE, type WorktreeEntry } from "./worktree-ledger.ts";

export interface Wanted {
  /** `<root session>/<task>`. */
  key: string;
  /** For people who look at the folder or the ref. */
  label: string;
  /** Where whoever starts the agent works. */
  folder: string;
}

export interface Place {
  workingDirectory: string;
  confinement: Confinement;
}

interface SettleOptions {
  /** Its work is to be merged. */
  isWanted: boolean;
  /** Why nothing may be merged now. */
  obstacle?(): string | undefined;
}

/** Nobody waits longer for one step, however large the repository is. */
const LIMIT_MS = 10 * 60_000;

export class Worktrees {
  readonly #home: string;
  readonly #folder: string;
  readonly #documents: Documents;

  constructor({ home, documents }: { home: string; documents: Documents }) {
    this.#home = home;
    this.#folder = join(home, "worktrees");
    this.#documents = documents;
  }

  /** Makes one; refuses in words where there can be none. What it has begun is removed when it fails or is stopped. */
  async prepare({ key, label, folder }: Wanted, signal: AbortSignal): Promise<Place> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
    const { top, common } = await repositoryAround(folder, limited);
    makePrivateFolder(this.#folder);
    const name = `${slug(label)}-${randomUUID().slice(0, 8)}`;
    const entry: WorktreeEntry = { name, path: join(realPath(this.#folder), name), top, common, owner: thisProcess() };
    await this.#save(key, entry);
    try {
      entry.base = await makeWorktree(entry, { folder: this.#folder, signal: limited });
      await this.#save(key, entry);
      const workingDirectory = join(entry.path, relative(top, realPath(folder)));
      mkdirSync(workingDirectory, { recursive: true }); // It may have nothing in it that git keeps.
      return { workingDirectory, confinement: { root: entry.path, mirrors: [top], closed: [common, this.#home] } };
    } catch (error) {
      removeWorktree(entry);
      await this.#documents.write([WORKTREE.remove(key)]);
      throw error instanceof Unmerged ? refused(error.message) : error;
    }
  }

  /** The agent has ended. Asked again, it gives the same answer. Undefined: there was no worktree. */
  async settle(key: string, { isWanted, obstacle }: SettleOptions): Promise<WorktreeResult | undefined> {
    const known = await WORKTREE.get(this.#documents, key);
    if (!known) return undefined;
    const bench = this.#bench();
    return await inTurn(known.common, bench.signal, async () => {
      const entry = (await WORKTREE.get(this.#documents, key)) ?? known;
      entry.result ??= await this.#resultOf(key, entry, { isWanted, obstacle, bench });
      await this.#save(key, entry);
      await this.#remove(key, entry, bench);
      return entry.result;
    });
  }

  /** What dead processes have left, unless its task goes on. Returns what could not be done. */
  async recover(goesOn: (key: string) => Promise<boolean>): Promise<string[]> {
    sweepIndexes(this.#folder);
    const { found, problems } = await WORKTREE.list(this.#documents, "");
    const failed = problems.map(({ message }) => message);
    for (const { key, value } of found) {
      const isOurs = isProcessAlive(value.owner) && value.result === undefined;
      if (isOurs || (await goesOn(key))) continue;
      try {
        await this.settle(key, { isWanted: false });
        const now = await WORKTREE.get(this.#documents, key);
        if (now?.isRemoved) await this.#documents.write([WORKTREE.remove(key)]);
      } catch (error) {
        failed.push(`The worktree ${value.path} could not be cleaned up: ${messageOf(error)}`);
      }
    }
    return failed;
  }

  #bench(): Bench {
    return { folder: this.#folder, signal: AbortSignal.timeout(LIMIT_MS) };
  }

  async #save(key: string, entry: WorktreeEntry): Promise<void> {
    await this.#documents.write([WORKTREE.put(key, entry)]);
  }

  async #resultOf(
    key: string,
    entry: WorktreeEntry,
    { isWanted, obstacle, bench }: SettleOptions & { bench: Bench },
  ): Promise<WorktreeResult> {
    const { base, top } = entry;
    if (base === undefined) return { type: "unchanged" }; // It was never finished, so no agent has worked in it.
    const ref = refOf(entry);
    const kept = () => (entry.work === undefined ? undefined : ref);
    if (!existsSync(entry.path))
      return { type: "failed", error: `somebody has removed its folder, ${entry.path}`, ref: kept() };
    try {
      const collected = await collectWork({ ...entry, base }, bench);
      if (!collected) return { type: "unchanged" };
      entry.work = collected.work;
      await this.#save(key, entry);
      if (!isWanted) return { type: "kept", files: collected.files, ref };
      const why = obstacle?.(); // As late as this: others may have been merged first.
      if (why !== undefined) return { type: "conflicts", files: collected.files, why, ref };
      const merge = await mergeInto({ top }, { base, work: collected.work }, bench);
      if (merge.type === "conflicts") return { ...merge, files: [...merge.files], ref };
      return { type: "merged", files: [...merge.files] };
    } catch (error) {
      return { type: "failed", error: messageOf(error), ref: kept() };
    }
  }

  /** Not while something lives in it, and not while it has work that is nowhere else. */
  async #remove(key: string, entry: WorktreeEntry, bench: Bench): Promise<void> {
    if (entry.isRemoved) return;
    if (occupantsOf(entry.path).length > 0) {
      entry.wasOccupied = true;
      return await this.#save(key, entry);
    }
    if (!(await this.#isSafe(entry, bench))) return;
    removeWorktree(entry);
    if (entry.result?.type === "merged" && !entry.wasOccupied)
      await git(entry.top, ["update-ref", "-d", refOf(entry)], bench);
    entry.isRemoved = true;
    await this.#save(key, entry);
  }

  /** Whether its work is kept. Whoever lived there may have gone on, so that goes to the ref as well. */
  async #isSafe(entry: WorktreeEntry, bench: Bench): Promise<boolean> {
    const { base, result, wasOccupied = false } = entry;
    const isUnsaved = result?.type === "failed" && result.ref === undefined;
    if (base === undefined || !isThere(entry) || !(wasOccupied || isUnsaved)) return true;
    try {
      const collected = await collectWork({ ...entry, base }, bench);
      if (isUnsaved && collected) result.ref = refOf(entry);
      return true;
    } catch {
      return false; // The next runtime tries again; the result has said that git failed.
    }
  }
}

function slug(label: string): string {
  const plain = label.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return plain.replaceAll(/^-|-$/g, "").slice(0, 40) || "agent";
}
