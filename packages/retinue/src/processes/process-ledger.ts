/**
 * The processes that this runtime has started, in the store, so that the next one can end what a killed one left running.
 *
 * A process group is identified by its leader's pid and the kernel's start tick, so that a later process with the same pid is never
 * touched; it stays listed while anything in it still runs. A family is identified by its mark, and stays listed until all of it is gone.
 */
import * as z from "zod";
import { document } from "../store/document.ts";
import { isProcessAlive, startTick, thisProcess } from "../store/holder.ts";
import type { DocumentChange, Documents, Holder } from "../store/store.ts";
import { type FamilyRecorder, ProcessFamily } from "./family.ts";
import { endStrays } from "./strays.ts";

const owner = () => z.object({ pid: z.number(), startedAt: z.number() });
/** The name is from the time when only shells were listed. */
const GROUP = document("shell", () => z.object({ pid: z.number(), tick: z.number(), owner: owner() }));
const FAMILY = document("process-family", () =>
  z.object({ mark: z.string().min(1), controlGroup: z.string().optional(), owner: owner() }),
);

/** What ended, and which entries cannot be read. */
export interface Reaped {
  ended: number;
  problems: readonly string[];
}

export class ProcessLedger {
  readonly #documents: Documents;
  readonly #owner = thisProcess();
  /** Writes of one kind run one after the other: the end of a process must not overtake its start. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor({ documents }: { documents: Documents }) {
    this.#documents = documents;
  }

  /** A new family, which is written down with its first process. */
  family(): ProcessFamily {
    const recorder: FamilyRecorder = {
      familyStarted: (family) => this.#write(FAMILY.put(family.mark, { ...family, owner: this.#owner })),
      familyEnded: async (mark) => {
        await this.#writing.get(GROUP.kind);
        await this.#write(FAMILY.remove(mark));
      },
      groupStarted: (pid) => this.#write(GROUP.put(this.#key(pid), { pid, tick: startTick(pid), owner: this.#owner })),
      // An entry that is left by mistake is found dead by the next process.
      groupEnded: (pid) => void this.#write(GROUP.remove(this.#key(pid))).catch(() => undefined),
    };
    return new ProcessFamily(recorder);
  }

  /** Ends what dead processes have left. */
  async reap(): Promise<Reaped> {
    const groups = await this.#reapGroups();
    const families = await this.#reapFamilies();
    return { ended: groups.ended + families.ended, problems: [...groups.problems, ...families.problems] };
  }

  async #reapGroups(): Promise<Reaped> {
    let ended = 0;
    const { found, problems } = await GROUP.list(this.#documents, "");
    for (const { key, value } of found) {
      const { pid, tick, owner } = value;
      if (isProcessAlive(owner)) continue;
      // A leader that has ended may have left its group running; a pid that another process has now is not ours.
      const isForeign = startTick(pid) !== 0 && startTick(pid) !== tick;
      if (!isForeign && killGroup(pid)) ended++;
      await this.#documents.write([GROUP.remove(key)]);
    }
    return { ended, problems: problems.map(({ message }) => message) };
  }

  async #reapFamilies(): Promise<Reaped> {
    const { found, problems } = await FAMILY.list(this.#documents, "");
    const orphaned = found.filter(({ value }) => !isProcessAlive(value.owner));
    const reaped = { ended: 0, problems: problems.map(({ message }) => message) };
    if (orphaned.length === 0) return reaped;
    const { ended, isClean } = await endStrays(wantedOf(orphaned.map(({ value }) => value)), 0);
    if (isClean) await this.#documents.write(orphaned.map(({ key }) => FAMILY.remove(key)));
    return { ...reaped, ended };
  }

  #write(change: DocumentChange): Promise<void> {
    const { kind } = "put" in change ? change.put : change.remove;
    const write = () => this.#documents.write([change]);
    const written = this.#writing.get(kind)?.then(write) ?? write();
    const settled = written.catch(() => undefined); // The caller gets the error.
    this.#writing.set(kind, settled);
    void settled.then(() => {
      if (this.#writing.get(kind) === settled) this.#writing.delete(kind);
    });
    return written;
  }

  #key(pid: number): string {
    return `${this.#owner.pid}.${this.#owner.startedAt}/${pid}`;
  }
}

function wantedOf(families: readonly { mark: string; controlGroup?: string; owner: Holder }[]) {
  return {
    marks: new Set(families.map(({ mark }) => mark)),
    since: Math.min(...families.map(({ owner }) => owner.startedAt)),
    groups: families.flatMap(({ controlGroup }) => controlGroup ?? []),
  };
}

/** False when the group is empty. */
function killGroup(pid: number): boolean {
  try {
    return process.kill(-pid, "SIGKILL");
  } catch {
    return false;
  }
}
