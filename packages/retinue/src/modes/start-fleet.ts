/** Starting a fleet: the words for the agent that leads it, and the one place that hands them in. */
import type { Session } from "../session/session.ts";
import fleetWords from "./words/fleet.md";

export function fleetPrompt(request: string): string {
  return request === "" ? fleetWords.trim() : `${fleetWords.trim()}\n\nThe work:\n\n${request}`;
}

export const fleetTitle = (request: string): string =>
  request === "" ? "Fleet deployed" : `Fleet deployed: ${request}`;

/** The fleet begins when the agent has ended its current interaction. */
export function startFleet({ inbox, world }: Session, { request, title }: { request: string; title: string }): void {
  inbox.add({
    kind: "prompt",
    id: world.newId(),
    messageId: world.newId(),
    prompt: fleetPrompt(request),
    displayPrompt: fleetTitle(title),
  });
}
