/**
 * The shells that this process has started, in the store, so that the next process can end what a killed one left running.
 *
 * A shell is identified by its pid, which is also its process group, and the kernel's start tick, so that a later process with the same
 * pid is never touched. An ended shell stays listed while anything in its group still runs.
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
  /** Writes run one after the other: the end of a shell must not overtake its start. */
  #writing: Promise<void> | undefined;

  constructor({ documents }: { documents: Documents }) {
    this.#documents = documents;
  }

  /** The same shells, with every start and end written to the ledger. Detached shells are meant to stay, and are left out. */
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

  /** Ends what dead processes have left. Returns how many groups it ended, and which entries cannot be read. */
  async reap(): Promise<{ ended: number; problems: readonly string[] }> {
    let ended = 0;
    const { found, problems } = await SHELL.list(this.#documents, "");
    for (const { key, value } of found) {
      const { pid, tick, owner } = value;
      if (isProcessAlive(owner)) continue;
      // A shell that has ended may have left its group running; a pid that another process has now is not ours.
      const isForeign = startTick(pid) !== 0 && startTick(pid) !== tick;
      if (!isForeign && signalGroup(pid, "SIGKILL")) ended++;
      await this.#documents.write([SHELL.remove(key)]);
    }
    return { ended, problems: problems.map(({ message }) => message) };
  }

  /** The pid is known only after the start, so the entry is written then; when that fails the shell is ended. */
  #started(shell: Shell): void {
    const { pid, detached } = shell;
    if (pid === undefined || detached) return;
    const entry = SHELL.put(this.#key(pid), { pid, tick: startTick(pid), owner: this.#owner });
    this.#write(entry).catch(() => shell.kill());
  }

  #ended({ pid, detached }: Shell): void {
    if (pid === undefined || detached || signalGroup(pid, 0)) return;
    const entry = SHELL.remove(this.#key(pid));
    // An entry that is left by mistake is found dead by the next process.
    this.#write(entry).catch(() => undefined);
  }

  #write(change: DocumentChange): Promise<void> {
    const write = () => this.#documents.write([change]);
    const written = this.#writing ? this.#writing.then(write) : write();
    const settled = written.catch(() => undefined); // The caller gets the error.
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

/** False when the group is empty. */
function signalGroup(pid: number, signal: "SIGKILL" | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
