/**
 * Which shells this process has started, in the store: what a killed process leaves running is ended by the next one.
 *
 * A shell is known by its pid, which is also its process group, and the kernel's start tick, so that a later process with the same pid
 * is never touched. A shell that ended is kept while something of its group still runs.
 */
import * as z from "zod";
import { document } from "../../store/document.ts";
import { isProcessAlive, startTick, thisProcess } from "../../store/holder.ts";
import type { DocumentChange, Documents } from "../../store/store.ts";
import type { Shell, ShellService } from "../../tools/tool.ts";

const SHELL = document("shell", () =>
  z.object({
    pid: z.number(),
    tick: z.number(),
    owner: z.object({ pid: z.number(), startedAt: z.number() }),
  }),
);

export class ShellLedger {
  readonly #documents: Documents;
  readonly #owner = thisProcess();
  /** One write after the other: the end of a shell must not overtake its start. */
  #writing: Promise<void> | undefined;

  constructor({ documents }: { documents: Documents }) {
    this.#documents = documents;
  }

  /** The same shells, with every start and end written down. Detached shells are meant to stay, and are left out. */
  watch<Service extends ShellService>(shells: Service): Service {
    shells.onEnded((shell) => this.#ended(shell));
    return {
      ...shells,
      start: (options) => {
        const shell = shells.start(options);
        this.#started(shell);
        return shell;
      },
      closeAll: async () => {
        const all = shells.list();
        await shells.closeAll();
        for (const shell of all) this.#ended(shell);
        await this.#writing;
      },
    };
  }

  /** Ends what dead processes have left; says how many groups that were, and which entries cannot be read. */
  async reap(): Promise<{ ended: number; problems: readonly string[] }> {
    let ended = 0;
    const { found, problems } = await SHELL.list(this.#documents, "");
    for (const { key, value } of found) {
      const { pid, tick, owner } = value;
      if (isProcessAlive(owner)) continue;
      // A shell that is gone may have left its group; a pid that somebody else has now is not ours.
      const isForeign = startTick(pid) !== 0 && startTick(pid) !== tick;
      if (!isForeign && signalGroup(pid, "SIGKILL")) ended++;
      await this.#documents.write([SHELL.remove(key)]);
    }
    return { ended, problems: problems.map(({ message }) => message) };
  }

  /** A shell is known by its pid, so it is written down right after its start; one that cannot be is ended. */
  #started(shell: Shell): void {
    const { pid, detached } = shell;
    if (pid === undefined || detached) return;
    const entry = SHELL.put(this.#key(pid), { pid, tick: startTick(pid), owner: this.#owner });
    this.#write(entry).catch(() => shell.kill());
  }

  #ended({ pid, detached }: Shell): void {
    if (pid === undefined || detached || signalGroup(pid, 0)) return;
    const entry = SHELL.remove(this.#key(pid));
    // What stays in the ledger by mistake is found dead by the next process.
    this.#write(entry).catch(() => undefined);
  }

  #write(change: DocumentChange): Promise<void> {
    const write = () => this.#documents.write([change]);
    const written = this.#writing ? this.#writing.then(write) : write();
    const settled = written.catch(() => undefined); // Told to whoever asked for it.
    this.#writing = settled;
    void settled.then(() => {
      if (this.#writing === settled) this.#writing = undefined;
    });
    return written;
  }

  #key(pid: number): string {
    return `${this.#owner.pid}.${this.#owner.startedAt}/${pid}`;
  }
}

/** False when the group has nobody left. */
function signalGroup(pid: number, signal: "SIGKILL" | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
