/** Closes a session that has been idle for the configured time; its clients may resume it. */
import { type LongTimer, longTimer } from "@retinue/protocol";
import type { HostedSession } from "./hosted-session.ts";

export class IdleWatch {
  readonly #seconds: () => number;
  readonly #timers = new Map<HostedSession, LongTimer>();

  /** 0 means that no session closes by itself. */
  constructor(seconds: () => number) {
    this.#seconds = seconds;
  }

  /** Called with every event of the session: its idle time starts again. */
  touch(hosted: HostedSession): void {
    const seconds = this.#seconds();
    if (seconds <= 0 || hosted.isClosing) return;
    this.#timers.get(hosted)?.clear();
    const late = () => {
      this.#timers.delete(hosted);
      const { runner, tasks } = hosted;
      if (runner.isRunning || runner.owesIdle || tasks.registry.records.isBusy) this.touch(hosted);
      // Parked: agents that wait for messages still do after a resume. A close that fails tries again by itself.
      else hosted.close({ isLost: true }).catch(() => undefined);
    };
    this.#timers.set(hosted, longTimer(late, seconds * 1000, { isIdle: true }));
  }

  forget(hosted: HostedSession): void {
    this.#timers.get(hosted)?.clear();
    this.#timers.delete(hosted);
  }
}
