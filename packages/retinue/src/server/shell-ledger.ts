/**
 * Which shells this process has started, in the store: what a killed process leaves running is ended by the next one.
 *
 * A shell is known by its pid and the kernel's start tick, so that a later process with the same pid is never touched.
 */
import { isProcessAlive, startTick, thisProcess } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import type { Shell, ShellService } from "../tools/tool.ts";

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
  watch(shells: ShellService): ShellService {
    shells.onEnded((shell) => this.#ended(shell));
    return {
      ...shells,
      start: (options) => {
        const shell = shells.start(options);
        this.#started(shell);
        return shell;
      },
    };
  }

  /** Ends what dead processes have left; returns how many groups that were. */
  reap(): number {
    let ended = 0;
    for (const { key, json } of this.#store.list(KIND, "")) {
      const { pid, tick, owner } = JSON.parse(json) as Entry;
      if (isProcessAlive(owner)) continue;
      if (isProcessAlive({ pid, startedAt: tick }) && killGroup(pid)) ended++;
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
    if (pid !== undefined && !detached) this.#store.remove(KIND, this.#key(pid));
  }

  #key(pid: number): string {
    return `${this.#owner.pid}.${this.#owner.startedAt}/${pid}`;
  }
}

function killGroup(pid: number): boolean {
  try {
    process.kill(-pid, "SIGKILL");
    return true;
  } catch {
    return false; // It ended between the look and the signal.
  }
}
