/**
 * Notes that clients keep about a session. They are loaded once; after that each change is one synchronous step, so two changes at
 * the same time cannot overwrite each other.
 */
import * as z from "zod";
import { document } from "../store/document.ts";
import type { HostedSession } from "./hosted-session.ts";

export type Notes = Readonly<Record<string, string>>;

/** By session. */
export const CLIENT_METADATA = document("client-metadata", () => z.record(z.string(), z.string()));

const loaded = new WeakMap<HostedSession, Promise<{ notes: Notes }>>();

export async function clientMetadata(target: HostedSession): Promise<Notes> {
  return (await held(target)).notes;
}

export async function changeClientMetadata(
  target: HostedSession,
  { clear = false, remove = [], set = {} }: { clear?: boolean; remove?: readonly string[]; set?: Notes },
): Promise<Notes> {
  const known = await held(target);
  const kept = Object.entries(clear ? {} : known.notes).filter(([key]) => !remove.includes(key));
  known.notes = { ...Object.fromEntries(kept), ...set };
  target.session.log.changeDocument(CLIENT_METADATA.put(target.session.id, known.notes));
  return known.notes;
}

async function held(target: HostedSession): Promise<{ notes: Notes }> {
  const loading = loaded.get(target) ?? load(target);
  loaded.set(target, loading);
  try {
    return await loading;
  } catch (error) {
    loaded.delete(target); // The next call tries again.
    throw error;
  }
}

async function load({ session, store }: HostedSession): Promise<{ notes: Notes }> {
  return { notes: (await CLIENT_METADATA.get(store.documents, session.id)) ?? {} };
}
