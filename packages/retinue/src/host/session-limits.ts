/**
 * What bounds the agents of a session, kept beside its log, so that `retinue why` can be answered when nobody has the
 * session open: the filters, agents and host tools of its clients, and the permission rules as they were last.
 */
import type { CustomAgentConfig, SessionConfig } from "@retinue/protocol";
import type { Policy } from "../permissions/policy.ts";
import type { Session } from "../session/session.ts";
import type { Store } from "../store/store.ts";
import type { TreeParts } from "../tree/parts.ts";

export const SESSION_LIMITS = "session-limits";

const FIELDS = [
  "availableTools",
  "excludedTools",
  "toolFilterPrecedence",
  "defaultAgent",
  "excludedBuiltinAgents",
  "pluginDirectories",
  "enableConfigDiscovery",
] as const;

export interface SessionLimits extends Pick<SessionConfig, (typeof FIELDS)[number]> {
  /** Without their prompts. */
  customAgents?: CustomAgentConfig[];
  hostTools?: string[];
  policy?: Omit<Policy, "approvals">;
}

/** What is bounded: an open session. */
export interface LimitedSession {
  tree: Pick<TreeParts, "configuration" | "rules" | "participants">;
  session: Session;
  store: Store;
}

export function keepLimits({ tree, session, store }: LimitedSession): void {
  const { rules, participants } = tree;
  const config = tree.configuration.current;
  const limits: SessionLimits = {
    ...Object.fromEntries(FIELDS.map((field) => [field, config[field]])),
    customAgents: config.customAgents?.map(({ name, displayName, description, tools, ceiling, infer }) => ({
      name,
      displayName,
      description,
      tools,
      ceiling,
      infer,
      prompt: "",
    })),
    hostTools: participants.tools.map(({ name }) => name),
    policy: rules.configured,
  };
  store.put(SESSION_LIMITS, session.id, JSON.stringify(limits));
}

export function readLimits(store: Store, sessionId: string): SessionLimits {
  return JSON.parse(store.get(SESSION_LIMITS, sessionId) ?? "{}") as SessionLimits;
}
