/**
 * Which shells this process has started, in the store: what a killed process leaves running is ended by the next one.
 *
 * A shell is known by its pid, which is also its process group, and the kernel's start tick, so that a later process with the same pid
 * is never touched. A shell that ended is kept while something of its group still runs.
 */
import { isProcessAlive, startTick, thisProcess } from "../../store/sqlite.ts";
import type { Store } from "../../store/store.ts";
import type { Shell, ShellService } from "../../tools/tool.ts";

const KIND = "shell";

interface Entry {
  pid: number;
  tick: number;
  owner: { pid: number; startedAt: number };
}

export class ShellLedger {
  readonly #store: Store;
  readonly #owner = thisProcess();

  constructor(store: Store) {
    this.#store = store;
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
      },
    };
  }

  /** Ends what dead processes have left; returns how many groups that were. */
  reap(): number {
    let ended = 0;
    for (const { key, json } of this.#store.list(KIND, "")) {
      const { pid, tick, owner } = JSON.parse(json) as Entry;
      if (isProcessAlive(owner)) continue;
      // A shell that is gone may have left its group; a pid that somebody else has now is not ours.
      const isForeign = startTick(pid) !== 0 && startTick(pid) !== tick;
      if (!isForeign && signalGroup(pid, "SIGKILL")) ended++;
      this.#store.remove(KIND, key);
    }
    return ended;
  }

  #started({ pid, detached }: Shell): void {
    if (pid === undefined || detached) return;
    const entry: Entry = { pid, tick: startTick(pid), owner: this.#owner };
    this.#store.put(KIND, this.#key(pid), JSON.stringify(entry));
  }

  #ended({ pid, detached }: Shell): void {
    if (pid !== undefined && !detached && !signalGroup(pid, 0)) this.#store.remove(KIND, this.#key(pid));
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
