/** Which optional asks a client has registered for, session by session. They end with its connection, so nobody waits for a client that is gone. */
import type { Client } from "./client.ts";

export interface Interest {
  sessionId: string;
  eventType: string;
}

const byClient = new WeakMap<Client, Map<string, Interest>>();

export function addInterest(client: Client, { handle, ...interest }: Interest & { handle: string }): void {
  const known = byClient.get(client) ?? new Map<string, Interest>();
  byClient.set(client, known.set(handle, interest));
}

export function dropInterest(client: Client, handle: string): void {
  byClient.get(client)?.delete(handle);
}

export function hasInterest(client: Client, { sessionId, eventType }: Interest): boolean {
  const known = [...(byClient.get(client)?.values() ?? [])];
  return known.some((each) => each.sessionId === sessionId && each.eventType === eventType);
}
