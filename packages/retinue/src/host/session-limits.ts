/**
 * What limits the agents of a session, stored as a document: the filters, agents, budget and host tools of its clients, and the latest
 * permission rules. `retinue why` reads it while no process has the session open. A part of it holds on when a client resumes the session
 * and does not name it again.
 */
import {
  Budget,
  CreateSession,
  CustomAgentConfig,
  Gates,
  later,
  PermissionMode,
  PermissionRule,
  type SessionConfig,
} from "@retinue/protocol";
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
  "maxAutopilotContinues",
  "gates",
  "maxGateFailures",
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
      maxAutopilotContinues: true,
      gates: true,
      maxGateFailures: true,
    } satisfies Record<(typeof FIELDS)[number], true>)
    .extend({
      /** Without their prompts. */
      customAgents: later(() => z.array(CustomAgentConfig())),
      hostTools: z.array(z.string()).optional(),
      /** Their names; sessions of earlier versions do not say. */
      mcpServers: z.array(z.string()).optional(),
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
    customAgents: config.customAgents?.map(
      ({ name, displayName, description, tools, ceiling, infer, budget, ...more }) => ({
        name,
        displayName,
        description,
        tools,
        ceiling,
        infer,
        budget,
        gates: more.gates,
        maxGateFailures: more.maxGateFailures,
        prompt: "",
      }),
    ),
    hostTools: participants.tools.map(({ name }) => name),
    mcpServers: Object.keys(config.mcpServers ?? {}),
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

/** The part that a resume reads. */
const KEPT = document(SESSION_LIMITS.kind, () =>
  z.object({
    budget: later(Budget),
    maxAutopilotContinues: z.number().optional(),
    gates: later(Gates),
    maxGateFailures: z.number().optional(),
    customAgents: later(() => z.array(CustomAgentConfig())),
    policy: z.object({ denied: z.array(PermissionRule()) }).optional(),
  }),
);
export type KeptLimits = NonNullable<Awaited<ReturnType<typeof KEPT.get>>>;

export async function readKeptLimits({ documents }: Store, sessionId: string): Promise<KeptLimits> {
  return (await KEPT.get(documents, sessionId)) ?? {};
}

/** What a client that resumes a session does not name stays: its budget, and the limits of the agent that the main agent has taken on. */
export function withKept(config: SessionConfig, kept: KeptLimits, selectedAgent: string | undefined): SessionConfig {
  const selected = kept.customAgents?.filter(({ name }) => name === selectedAgent);
  return {
    ...config,
    budget: config.budget ?? kept.budget,
    maxAutopilotContinues: config.maxAutopilotContinues ?? kept.maxAutopilotContinues,
    gates: config.gates ?? kept.gates,
    maxGateFailures: config.maxGateFailures ?? kept.maxGateFailures,
    customAgents: config.customAgents ?? (selected?.length ? selected : undefined),
  };
}

export async function readLimits({ documents }: Store, sessionId: string): Promise<SessionLimits> {
  return (await SESSION_LIMITS.get(documents, sessionId)) ?? {};
}
