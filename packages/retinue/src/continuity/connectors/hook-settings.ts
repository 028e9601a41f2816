/** The `hooks` part of settings that Claude Code and Codex share: event → groups → commands. Ours are recognised by their command. */
import type { ConnectorContext } from "./connector.ts";
import { shellCommand } from "./connector.ts";

export interface HookEvent {
  event: string;
  /** Which tools; all events of the kind when absent. */
  matcher?: string;
}

type Fields = Record<string, unknown>;
const objects = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null) : [];

export function hookCommand({ program, home }: ConnectorContext, harness: string): string {
  return shellCommand([...program, "hook", harness, "--home", home]);
}

/** Seconds. The command ends by itself long before; this is for a machine that hangs. */
const TIMEOUT = 10;

export function withHooks(
  hooks: unknown,
  { events, harness, command }: { events: readonly HookEvent[]; harness: string; command: string },
): Fields {
  const rest = withoutHooks(hooks, harness) ?? {};
  for (const { event, matcher } of events) {
    const group = { ...(matcher && { matcher }), hooks: [{ type: "command", command, timeout: TIMEOUT }] };
    rest[event] = [...objects(rest[event]), group];
  }
  return rest;
}

/** What is left without ours; undefined when nothing is. */
export function withoutHooks(hooks: unknown, harness: string): Fields | undefined {
  const left: Fields = {};
  for (const [event, groups] of Object.entries(typeof hooks === "object" && hooks !== null ? hooks : {})) {
    const others = objects(groups)
      .map((group) => ({ ...group, hooks: objects(group.hooks).filter((hook) => !isOurs(hook.command, harness)) }))
      .filter((group) => group.hooks.length > 0);
    if (others.length > 0) left[event] = others;
  }
  return Object.keys(left).length > 0 ? left : undefined;
}

export function installedEvents(hooks: unknown, harness: string): string[] {
  return Object.entries(typeof hooks === "object" && hooks !== null ? hooks : {})
    .filter(([, groups]) =>
      objects(groups).some((group) => objects(group.hooks).some((hook) => isOurs(hook.command, harness))),
    )
    .map(([event]) => event);
}

const isOurs = (command: unknown, harness: string) =>
  typeof command === "string" && / hook (\S+) --home /.exec(command)?.[1] === harness;
