/**
 * Session options that have no effect yet: a client that sets one is warned once.
 *
 * Implementing an option removes it from the list; test/options.test.ts compares the list with what the code reads.
 */
import type { SessionConfig } from "@retinue/protocol";
import type { Session } from "../session/session.ts";
import type { Client } from "../tree/client.ts";

/** By option: whether its value asks for anything other than what happens without it. */
const asksFor = (config: SessionConfig) => ({
  configDir: Boolean(config.configDir),
  contextTier: config.contextTier === "long_context",
  customAgentsLocalOnly: false, // They always run locally.
  enableFileChangeTracking: config.enableFileChangeTracking === true,
  enableHostGitOperations: config.enableHostGitOperations === false, // Always on, as are the session store and skills.
  enableSessionStore: config.enableSessionStore === false,
  enableSkills: config.enableSkills === false,
  envValueMode: config.envValueMode === "indirect",
  requestAutoModeSwitch: config.requestAutoModeSwitch === true,
  sessionLimits: config.sessionLimits?.maxAiCredits !== undefined,
  toolSearch: config.toolSearch?.enabled === true || config.toolSearch?.deferThreshold !== undefined,
  traceparent: Boolean(config.traceparent),
  tracestate: Boolean(config.tracestate),
  verbosity: config.verbosity !== undefined,
});

export const UNUSED_OPTIONS: readonly string[] = Object.keys(asksFor({}));

/** The options of this configuration that are set and have no effect. */
export function unusedOptions(config: SessionConfig): string[] {
  return Object.entries(asksFor(config)).flatMap(([option, isAsked]) => (isAsked ? [option] : []));
}

export class UnusedOptions {
  readonly #session: Session;
  readonly #warned = new WeakMap<Client, Set<string>>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Warns each client once of each option. */
  warn(client: Client, config: SessionConfig): void {
    const warned = this.#warned.get(client) ?? new Set();
    this.#warned.set(client, warned);
    const fresh = unusedOptions(config).filter((option) => !warned.has(option));
    if (fresh.length === 0) return;
    for (const option of fresh) warned.add(option);
    const message = `These session options have no effect yet: ${fresh.join(", ")}.`;
    // `session.start` must come first; it is appended in the same tick in which the client joins.
    queueMicrotask(() =>
      this.#session.append("session.warning", { warningType: "unused_option", message }, { ephemeral: true }),
    );
  }
}
