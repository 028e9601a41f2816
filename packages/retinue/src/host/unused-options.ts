/**
 * Session options that nothing here does anything with yet: the client that asks for one is told so, once.
 *
 * An option leaves the list in the change that builds it; test/options.test.ts compares the list with what the code reads.
 */
import type { SessionConfig } from "@retinue/protocol";
import type { Session } from "../session/session.ts";
import type { Client } from "../tree/client.ts";

/** By option: whether its value asks for something else than what happens anyway. */
const asksFor = (config: SessionConfig) => ({
  configDir: Boolean(config.configDir),
  contextTier: config.contextTier === "long_context",
  customAgentsLocalOnly: false, // There is no other place for them to run in.
  enableFileChangeTracking: config.enableFileChangeTracking === true,
  enableFileHooks: config.enableFileHooks === true,
  enableHostGitOperations: config.enableHostGitOperations === false, // Always on, as are the session store and skills.
  enableOnDemandInstructionDiscovery: config.enableOnDemandInstructionDiscovery === true,
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

/** The options of this configuration that ask for something and get nothing. */
export function unusedOptions(config: SessionConfig): string[] {
  return Object.entries(asksFor(config)).flatMap(([option, isAsked]) => (isAsked ? [option] : []));
}

export class UnusedOptions {
  readonly #session: Session;
  readonly #told = new WeakMap<Client, Set<string>>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Each option once for each client. */
  warn(client: Client, config: SessionConfig): void {
    const told = this.#told.get(client) ?? new Set();
    this.#told.set(client, told);
    const fresh = unusedOptions(config).filter((option) => !told.has(option));
    if (fresh.length === 0) return;
    for (const option of fresh) told.add(option);
    const message = `These session options have no effect yet: ${fresh.join(", ")}.`;
    // The beginning of a session is told first; it is appended in the same tick as the client joins.
    queueMicrotask(() =>
      this.#session.append("session.warning", { warningType: "unused_option", message }, { ephemeral: true }),
    );
  }
}
