/**
 * A store whose reads are tried again for a moment: a read changes nothing, and a file that is busy or out of reach often is back at once.
 *
 * Writes are not: what a refused write means is decided by whoever writes.
 */
import { AppError } from "@retinue/protocol";
import type { Store } from "./store.ts";

/** Less than two seconds in all, because somebody may be waiting for an abort. */
const PAUSES_MS = [50, 150, 400];

export function patientStore(store: Store): Store {
  const { events, sessions, documents, leases, transcripts, boards } = store;
  return {
    ...store,
    inbox: patiently(store.inbox),
    events: { read: patiently(events.read), count: patiently(events.count), size: patiently(events.size) },
    sessions: {
      ...sessions,
      get: patiently(sessions.get),
      list: patiently(sessions.list),
      children: patiently(sessions.children),
    },
    documents: { ...documents, get: patiently(documents.get), list: patiently(documents.list) },
    leases: { ...leases, holder: patiently(leases.holder) },
    transcripts,
    boards: {
      ...boards,
      read: patiently(boards.read),
      branches: patiently(boards.branches),
      claim: patiently(boards.claim),
    },
  };
}

export function patiently<Args extends unknown[], T>(
  read: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return async (...args) => {
    for (const pause of PAUSES_MS) {
      try {
        return await read(...args);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "store_unavailable") throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    return await read(...args);
  };
}
