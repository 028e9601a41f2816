/** Taking the lease of a session for this process, or an error that names the process which holds it. */
import { setTimeout } from "node:timers/promises";
import { AppError } from "@retinue/protocol";
import { isOutage, tryAgain } from "../session/outage.ts";
import { thisProcess } from "../store/holder.ts";
import type { Holder, Lease, Store } from "../store/store.ts";

/** Releases the lease when the work fails; otherwise the work has to release it. */
export async function withLease<T>(store: Store, sessionId: string, work: (lease: Lease) => Promise<T>): Promise<T> {
  const lease = await acquireLease(store, sessionId);
  try {
    return await work(lease);
  } catch (error) {
    await releaseLease(store, lease);
    throw error;
  }
}

/** A lease that the store does not take back now is given back later: nobody else could open the session while this process lives. */
export async function releaseLease({ leases }: Store, lease: Lease): Promise<void> {
  try {
    await leases.release(lease);
  } catch (error) {
    if (!isOutage(error)) throw error;
    tryAgain(() => leases.release(lease));
  }
}

/** A process that was just killed, or is closing the session, is gone after a moment. */
const PAUSES_MS = [10, 20, 40, 80, 150, 200];

async function acquireLease({ leases }: Store, sessionId: string): Promise<Lease> {
  for (let tries = 0; ; tries++) {
    const answer = await leases.acquire(sessionId, thisProcess());
    if ("lease" in answer) return answer.lease;
    const pause = PAUSES_MS[tries];
    if (pause === undefined) throw openElsewhere(sessionId, answer.heldBy);
    await setTimeout(pause);
  }
}

function openElsewhere(sessionId: string, { pid }: Holder): AppError {
  return new AppError(
    "session_locked",
    `Session ${sessionId} is open in another process (pid ${pid}). Close it there first, or use another session.`,
  );
}
