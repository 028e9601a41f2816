/** Which optional asks the clients of a session have registered for. */
import type { Session } from "../session/session.ts";

const byRoot = new WeakMap<Session, Map<string, string>>();

export function addInterest(root: Session, eventType: string): string {
  const handle = root.world.newId();
  const known = byRoot.get(root) ?? new Map<string, string>();
  byRoot.set(root, known.set(handle, eventType));
  return handle;
}

export function dropInterest(root: Session, handle: string): boolean {
  return byRoot.get(root)?.delete(handle) ?? false;
}

export function hasInterest(root: Session, eventType: string): boolean {
  return [...(byRoot.get(root)?.values() ?? [])].includes(eventType);
}
