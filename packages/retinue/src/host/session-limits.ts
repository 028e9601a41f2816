/**
 * What limits the agents of a session, stored as a document: the filters, agents, budget and host tools of its clients, and the latest
 * permission rules. `retinue why` reads it while no process has the session open. The budget holds on for clients that resume the
 * session and name none.
 */
import { CreateSession, CustomAgentConfig, PermissionMode, PermissionRule } from "@retinue/protocol";
import * as z from "zod";
import type { Session } from "../session/session.ts";
import { document } from "../store/document.ts";
import type { Store } from "../store/store.ts";
import type { TreeParts } from "../tree/parts.ts";

const FIELDS = [
  "availableTools",
  "excludedTools",
  "toolFilterPrecedence",
  "defaultAgent",
  "excludedBuiltinAgents",
  "pluginDirectories",
  "enableConfigDiscovery",
  "budget",
] as const;

/** By session. */
export const SESSION_LIMITS = document("session-limits", () => limits());
export type SessionLimits = z.output<ReturnType<typeof limits>>;

function limits() {
  return CreateSession()
    .pick({
      availableTools: true,
      excludedTools: true,
      toolFilterPrecedence: true,
      defaultAgent: true,
      excludedBuiltinAgents: true,
      pluginDirectories: true,
      enableConfigDiscovery: true,
      budget: true,
    } satisfies Record<(typeof FIELDS)[number], true>)
    .extend({
      /** Without their prompts. */
      customAgents: z.array(CustomAgentConfig()).optional(),
      hostTools: z.array(z.string()).optional(),
      policy: policy().optional(),
    });
}

function policy() {
  return z.object({
    mode: PermissionMode(),
    approveAll: z.boolean(),
    approveReads: z.boolean(),
    denied: z.array(PermissionRule()),
    approved: z.array(PermissionRule()),
    directories: z.array(z.string()),
    isPathUnrestricted: z.boolean(),
    allowedDomains: z.array(z.string()),
    isUrlUnrestricted: z.boolean(),
  });
}

export interface LimitedSession {
  tree: Pick<TreeParts, "configuration" | "rules" | "participants">;
  session: Session;
}

/** Written with the next commit of the session. */
export function keepLimits({ tree, session }: LimitedSession): void {
  const { rules, participants } = tree;
  const config = tree.configuration.current;
  const { denied, approved, directories, allowedDomains, ...policy } = rules.policy;
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
    policy: {
      ...policy,
      denied: [...denied],
      approved: [...approved],
      directories: [...directories],
      allowedDomains: [...allowedDomains],
    },
  };
  session.log.changeDocument(SESSION_LIMITS.put(session.id, limits));
}

export async function readLimits({ documents }: Store, sessionId: string): Promise<SessionLimits> {
  return (await SESSION_LIMITS.get(documents, sessionId)) ?? {};
}
