/**
 * How a session is set up: the parameters of `session.create` and `session.resume`, part by part.
 *
 * Everything is optional on the wire, unknown fields are dropped, and a top-level `null` means "not given". Fields that
 * are ours and unknown to other runtimes say so.
 */
import * as z from "zod";
import { Billing } from "./billing.ts";
import { Gates, MaxGateFailures } from "./gates.ts";
import { PermissionSettings } from "./permission.ts";
import { ModelCapabilities, NamedProviderConfig, ProviderConfig } from "./provider-config.ts";
import {
  ContextTier,
  count,
  flag,
  jsonObject,
  later,
  lazy,
  type Of,
  open,
  ReasoningSummary,
  stringRecord,
  strings,
  text,
  UnattendedPolicy,
  Verbosity,
} from "./schema.ts";

/** A section of the system message that the host changes; `transform` asks the host with `systemMessage.transform`. */
export const SectionOverride = lazy(() =>
  z.object({
    action: z.enum(["replace", "remove", "append", "prepend", "preserve", "transform"]),
    content: text(),
  }),
);
export type SectionOverride = Of<typeof SectionOverride>;

export const SystemMessageConfig = lazy(() =>
  z.union([
    z.object({ mode: z.literal("replace"), content: z.string() }),
    z.object({
      mode: z.literal("customize"),
      sections: z.record(z.string(), SectionOverride()).optional(),
      content: text(),
    }),
    z.object({ mode: z.literal("append").default("append"), content: text() }),
  ]),
);
export type SystemMessageConfig = Of<typeof SystemMessageConfig>;

/** A model that a named provider serves. */
export const ModelConfig = lazy(() =>
  z.object({
    id: z.string(),
    provider: z.string(),
    name: text(),
    wireModel: text(),
    modelId: text(),
    maxPromptTokens: count(),
    maxContextWindowTokens: count(),
    maxOutputTokens: count(),
    capabilities: ModelCapabilities().optional(),
    systemMessage: SystemMessageConfig().optional(),
    /** Ours. */
    billing: Billing().optional(),
  }),
);
export type ModelConfig = Of<typeof ModelConfig>;

/** A tool that runs in the host program. */
export const HostToolSpec = lazy(() =>
  z.object({
    name: z.string(),
    title: text(),
    description: text(),
    /** JSON Schema of the arguments. */
    parameters: jsonObject().optional(),
    overridesBuiltInTool: flag(),
    skipPermission: flag(),
    defer: z.enum(["auto", "never"]).optional(),
    /** A successful call ends the turn. */
    isTerminal: flag(),
    metadata: jsonObject().optional(),
  }),
);
export type HostToolSpec = Of<typeof HostToolSpec>;

const mcpCommon = () => ({
  displayName: text(),
  /** Names without the server's prefix, or `["*"]`. */
  tools: strings().optional(),
  excludeTools: strings().optional(),
  /** Milliseconds for a call; it starts over with each progress report. */
  timeout: count(),
  /** Milliseconds that the server may take to start. Ours. */
  startTimeout: count(),
  /** True: tools that the server marks as read-only run without asking. Ours. */
  trustReadOnlyHint: flag(),
});

export const LocalMcpServerConfig = lazy(() =>
  z.object({
    ...mcpCommon(),
    type: z.enum(["local", "stdio"]).optional(),
    command: z.string(),
    args: strings().optional(),
    env: stringRecord().optional(),
    cwd: text(),
  }),
);

export const RemoteMcpServerConfig = lazy(() =>
  z.object({
    ...mcpCommon(),
    type: z.enum(["http", "sse"]).default("http"),
    url: z.string(),
    headers: stringRecord().optional(),
    /** False: nobody is signed in to this server. The port is that of the address to which the browser is sent back. */
    auth: z.union([z.boolean(), z.object({ redirectPort: count() })]).optional(),
    /** A client that was registered beforehand. */
    oauthClientId: text(),
    oauthPublicClient: flag(),
    oauthGrantType: z.enum(["authorization_code", "client_credentials"]).optional(),
  }),
);

export const McpServerConfig = lazy(() =>
  z.union([LocalMcpServerConfig(), RemoteMcpServerConfig()], { error: neitherWords }),
);

/** Undefined where a server has one of them: then it says which of its fields is wrong. */
function neitherWords({ input }: { input?: unknown }): string | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return "expected an object with a command or a url";
  return "command" in input || "url" in input ? undefined : "it has neither a command nor a url";
}

export type McpServerConfig = Of<typeof McpServerConfig>;
export const McpServers = lazy(() => z.record(z.string(), McpServerConfig()));

/** What an agent may use before it must stop. Strict: a misspelt key would be a limit that nobody applies. Ours. */
export const Budget = lazy(() =>
  z.strictObject({
    /** Model requests of the agent itself. */
    maxTurns: count(),
    /** Model requests of the agent and of all agents below it. */
    maxSubtreeTurns: count(),
    maxTokens: count(),
    maxToolCalls: count(),
    maxSeconds: count(),
    /** AI credits. */
    maxCost: count(),
    /** Sub-agents that it and those below it start. */
    maxSpawns: count(),
  }),
);
export type Budget = Of<typeof Budget>;

/** Where an agent writes apart from the others: in a git worktree of its own. Ours. */
export const Isolation = lazy(() => z.literal("worktree"));

export const CustomAgentConfig = lazy(() =>
  open({
    name: z.string(),
    displayName: text(),
    description: text(),
    prompt: z.string(),
    /** Null or absent: all tools. Empty: none. */
    tools: strings().nullish(),
    mcpServers: McpServers().optional(),
    /** False keeps the agent out of the list that the model is offered; it can still be named. */
    infer: flag(),
    skills: strings().optional(),
    model: text(),
    reasoningEffort: text(),
    /** Host tools that only this agent has. Ours. */
    toolDefinitions: z.array(HostToolSpec()).optional(),
    /** What bounds the agents below this one: its own tool list, or the session's (default). Ours. */
    ceiling: z.enum(["own", "session"]).optional(),
    /** True: background sub-agents of this agent really run in the background. Ours. */
    nestedBackground: flag(),
    /** What the agent inherits from its parent's session: `none`, `brief` (default), `tail(n)` or `fork`. Ours. */
    inherit: z
      .string()
      .regex(/^(none|brief|fork|tail\(\d+\))$/)
      .optional(),
    /** Ours. */
    budget: Budget().optional(),
    isolation: Isolation().optional(),
    /** What must hold before the agent counts as done. Ours. */
    gates: Gates().optional(),
    /** How many times a gate that failed goes back to the agent. Ours. */
    maxGateFailures: MaxGateFailures().optional(),
    /** A JSON Schema that its answers must fit, unless a call names another one. Ours. */
    schema: jsonObject().optional(),
  }),
);
export type CustomAgentConfig = Of<typeof CustomAgentConfig>;

/** More is a mistake. */
const MAX_CONTINUES = 1000;

export const InfiniteSessions = lazy(() =>
  z.object({ enabled: flag(), backgroundCompactionThreshold: count(), bufferExhaustionThreshold: count() }),
);
export type InfiniteSessions = Of<typeof InfiniteSessions>;

export const LargeOutput = lazy(() => z.object({ enabled: flag(), maxSizeBytes: count(), outputDir: text() }));
export type LargeOutput = Of<typeof LargeOutput>;

export const HostCommand = lazy(() => z.object({ name: z.string(), description: text() }));
export type HostCommand = Of<typeof HostCommand>;

export const SessionLimits = lazy(() => z.object({ maxAiCredits: count() }));

/** Which model, and how it is asked. */
const modelFields = () => ({
  model: text(),
  reasoningEffort: text(),
  reasoningSummary: later(ReasoningSummary),
  verbosity: later(Verbosity),
  contextTier: later(ContextTier),
  modelCapabilities: later(ModelCapabilities),
  provider: later(ProviderConfig),
  providers: later(() => z.array(NamedProviderConfig())),
  models: later(() => z.array(ModelConfig())),
  gitHubToken: text(),
});

/** Which tools there are, and who may see them. */
const toolFields = () => ({
  tools: later(() => z.array(HostToolSpec())),
  availableTools: strings().optional(),
  excludedTools: strings().optional(),
  toolFilterPrecedence: later(() => z.enum(["available", "excluded"])),
  toolSearch: later(() => z.object({ enabled: flag(), deferThreshold: count() })),
  mcpServers: later(McpServers),
  disabledMcpServers: strings().optional(),
  /** `persistent`: tokens of MCP servers are kept in the home folder and shared with other sessions. Default: with this session. */
  mcpOAuthTokenStorage: z.enum(["persistent", "in-memory"]).optional(),
  envValueMode: later(() => z.enum(["direct", "indirect"])),
  commands: later(() => z.array(HostCommand())),
  largeOutput: later(LargeOutput),
});

/** Which agents there are, and which one is active. */
const agentFields = () => ({
  customAgents: later(() => z.array(CustomAgentConfig())),
  customAgentsLocalOnly: flag(),
  agent: text(),
  defaultAgent: later(() => z.object({ excludedTools: strings().optional() })),
  excludedBuiltinAgents: strings().optional(),
  includeSubAgentStreamingEvents: flag(),
});

/** What this client can be asked. */
const askFields = () => ({
  requestPermission: flag(),
  requestUserInput: flag(),
  requestElicitation: flag(),
  requestExitPlanMode: flag(),
  requestAutoModeSwitch: flag(),
  hooks: flag(),
  /** What a hook that fails means for the call that it was asked about: nothing (default), or that the call is denied. Ours. */
  hooksOnError: later(() => z.enum(["ignore", "deny"])),
  askUserVariant: later(() => z.enum(["legacy", "elicitation"])),
  /** What `session.permissions.configure` sets, in effect before anything runs: a resume may continue calls at once. Ours. */
  permissions: later(PermissionSettings),
  /** What an ask does while no attached client can answer it; `RETINUE_UNATTENDED` when not given. Ours. */
  unattended: later(UnattendedPolicy),
});

/** What is found outside the request: folders, skills, instructions. */
const discoveryFields = () => ({
  workingDirectory: text(),
  additionalDirectories: strings().optional(),
  configDir: text(),
  enableConfigDiscovery: flag(),
  enableSkills: flag(),
  skillDirectories: strings().optional(),
  disabledSkills: strings().optional(),
  instructionDirectories: strings().optional(),
  pluginDirectories: strings().optional(),
  organizationCustomInstructions: text(),
  enableOnDemandInstructionDiscovery: flag(),
  skipCustomInstructions: flag(),
  enableFileHooks: flag(),
  enableHostGitOperations: flag(),
  enableSessionStore: flag(),
  /** Whether the session has the context board of its folder. Default: as `enableConfigDiscovery`. */
  memory: later(() => z.object({ enabled: z.boolean() })),
});

const sessionFields = () => ({
  sessionId: text(),
  clientName: text(),
  streaming: flag(),
  systemMessage: later(SystemMessageConfig),
  infiniteSessions: later(InfiniteSessions),
  sessionLimits: later(SessionLimits),
  enableFileChangeTracking: flag(),
  traceparent: text(),
  tracestate: text(),
  /** What the main agent may use in one run. Ours. */
  budget: later(Budget),
  /** What must hold before the main agent counts as done. Ours. */
  gates: later(Gates),
  /** How many times a gate that failed goes back to the main agent. Ours. */
  maxGateFailures: later(MaxGateFailures),
  /** How many reminders autopilot sends for one prompt. Ours. */
  maxAutopilotContinues: later(() => z.number().int().min(0).max(MAX_CONTINUES)),
  ...modelFields(),
  ...toolFields(),
  ...agentFields(),
  ...askFields(),
  ...discoveryFields(),
});

export const CreateSession = lazy(() => z.object(sessionFields()));
export type CreateSession = Of<typeof CreateSession>;

export const ResumeSession = lazy(() =>
  z.object({
    ...sessionFields(),
    sessionId: z.string(),
    /** True: no `session.resume` event. */
    disableResume: flag(),
    /** True: continue where the session was; false: settle what was open and wait. */
    continuePendingWork: flag(),
  }),
);
export type ResumeSession = Of<typeof ResumeSession>;
export type SessionConfig = Omit<ResumeSession, "sessionId" | "disableResume" | "continuePendingWork">;
