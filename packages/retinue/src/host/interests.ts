/** Which optional asks the clients of a session have registered for. */
import type { HostedSession } from "./hosted-session.ts";

const bySession = new WeakMap<HostedSession, Map<string, string>>();

export function addInterest(target: HostedSession, eventType: string): string {
  const handle = target.session.world.newId();
  const known = bySession.get(target) ?? new Map<string, string>();
  bySession.set(target, known.set(handle, eventType));
  return handle;
}

export function dropInterest(target: HostedSession, handle: string): boolean {
  return bySession.get(target)?.delete(handle) ?? false;
}

export function hasInterest(target: HostedSession, eventType: string): boolean {
  return [...(bySession.get(target)?.values() ?? [])].includes(eventType);
}
