/** Taking the lease of a session for this process, or an error that names the process which holds it. */
import { AppError } from "@retinue/protocol";
import { isOutage, tryAgain } from "../session/outage.ts";
import { thisProcess } from "../store/holder.ts";
import type { Lease, Store } from "../store/store.ts";

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

async function acquireLease({ leases }: Store, sessionId: string): Promise<Lease> {
  const answer = await leases.acquire(sessionId, thisProcess());
  if ("lease" in answer) return answer.lease;
  throw new AppError(
    "session_locked",
    `Session ${sessionId} is open in another process (pid ${answer.heldBy.pid}). Close it there first, or use another session.`,
  );
}
