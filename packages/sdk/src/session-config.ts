/**
 * The options of a session, and what of them goes over the wire.
 *
 * Owns names: options are called as programs of this protocol know them, and a few have another name on the wire.
 * Functions never leave the process; the runtime only learns which of them exist.
 */
import type * as wire from "@retinue/protocol";
import { AppError, defined, type SessionEvent } from "@retinue/protocol";
import type { SubagentInstance } from "./children.ts";
import type { SessionHooks } from "./hooks.ts";
import type { PermissionHandler } from "./permissions.ts";
import {
  type GitHubTokenProvider,
  type MCPServerConfig,
  mcpServersForWire,
  type NamedProviderConfig,
  type ProviderConfig,
  providerForWire,
} from "./providers.ts";
import type {
  AutoModeSwitchHandler,
  CommandDefinition,
  ElicitationHandler,
  ExitPlanModeHandler,
  UserInputHandler,
} from "./questions.ts";
import { type SystemMessageConfig, systemMessageForWire } from "./system-message.ts";
import { type AnyTool, toolSpec } from "./tools.ts";

export interface CustomAgentConfig extends Omit<wire.CustomAgentConfig, "mcpServers" | "toolDefinitions"> {
  mcpServers?: Record<string, MCPServerConfig>;
}

/** Options that go over the wire as they are. */
type Plain = Omit<
  wire.SessionConfig,
  | "customAgents"
  | "mcpServers"
  | "provider"
  | "providers"
  | "systemMessage"
  | "tools"
  | "commands"
  | "hooks"
  | "hooksOnError"
  | "configDir"
  | "largeOutput"
  | "envValueMode"
  | "toolFilterPrecedence"
  | `request${string}`
>;

/** Options that only other runtimes of this protocol know; they are passed on as they are. */
type Foreign = Partial<
  Record<
    | "capi"
    | "coauthorEnabled"
    | "embeddingCacheStorage"
    | "enableCitations"
    | "enableManagedSettings"
    | "enableSessionTelemetry"
    | "featureFlags"
    | "githubMcpToolConfig"
    | "includedBuiltinSkills"
    | "manageScheduleEnabled"
    | "managedSettings"
    | "mcpOAuthTokenStorage"
    | "memory"
    | "remoteSession"
    | "skipEmbeddingRetrieval",
    unknown
  >
>;

export interface SessionConfigBase extends Plain, Foreign {
  tools?: AnyTool[];
  commands?: CommandDefinition[];
  customAgents?: CustomAgentConfig[];
  mcpServers?: Record<string, MCPServerConfig>;
  provider?: ProviderConfig;
  providers?: NamedProviderConfig[];
  systemMessage?: SystemMessageConfig;
  configDirectory?: string;
  largeOutput?: { enabled?: boolean; maxSizeBytes?: number; outputDirectory?: string };
  enableExperimentalMode?: boolean;
  gitHubTokenProvider?: GitHubTokenProvider;
  onPermissionRequest?: PermissionHandler;
  onUserInputRequest?: UserInputHandler;
  onElicitationRequest?: ElicitationHandler;
  onExitPlanModeRequest?: ExitPlanModeHandler;
  onAutoModeSwitchRequest?: AutoModeSwitchHandler;
  hooks?: SessionHooks;
  /** Called with every event from the first one on, including those that come before createSession returns. */
  onEvent?: (event: SessionEvent) => void;
  /** Called once when this client leaves the session, with the sub-agents that had not ended by then. */
  onCleanup?: (running: SubagentInstance[]) => void;
}

export interface SessionConfig extends SessionConfigBase {
  sessionId?: string;
}

export interface ResumeSessionConfig extends SessionConfigBase {
  /** No `session.resume` event. */
  suppressResumeEvent?: boolean;
  /** Continue where the session was; otherwise what was open is settled and the session waits. */
  continuePendingWork?: boolean;
}

/** Parameters of `session.create` and `session.resume`, without the id. */
export function configForWire(config: SessionConfig & ResumeSessionConfig): Record<string, unknown> {
  const {
    sessionId: _id,
    onEvent: _event,
    onCleanup: _cleanup,
    gitHubTokenProvider: _token,
    onPermissionRequest,
    onUserInputRequest,
    onElicitationRequest,
    onExitPlanModeRequest,
    onAutoModeSwitchRequest,
    hooks,
    tools,
    commands,
    customAgents,
    mcpServers,
    provider,
    providers,
    systemMessage,
    configDirectory,
    largeOutput,
    enableExperimentalMode,
    suppressResumeEvent,
    includeSubAgentStreamingEvents = true,
    ...plain
  } = config;
  const params = {
    ...plain,
    tools: tools?.map(toolSpec),
    commands: commands?.map(({ name, description }) => ({ name, description })),
    customAgents: distinct(customAgents)?.map((agent) => agentForWire(agent, tools ?? [])),
    mcpServers: mcpServersForWire(mcpServers),
    provider: provider && providerForWire(provider),
    providers: providers?.map(providerForWire),
    systemMessage: systemMessageForWire(systemMessage),
    configDir: configDirectory,
    largeOutput: largeOutput && largeOutputForWire(largeOutput),
    isExperimentalMode: enableExperimentalMode,
    disableResume: suppressResumeEvent,
    includeSubAgentStreamingEvents,
    toolFilterPrecedence: "excluded",
    envValueMode: "direct",
    requestPermission: onPermissionRequest !== undefined,
    requestUserInput: onUserInputRequest !== undefined,
    requestElicitation: onElicitationRequest !== undefined,
    requestExitPlanMode: onExitPlanModeRequest !== undefined,
    requestAutoModeSwitch: onAutoModeSwitchRequest !== undefined,
    hooks: hooks !== undefined && Object.values(hooks).some((hook) => typeof hook === "function"),
    hooksOnError: hooks?.onError,
  };
  return defined(params);
}

function largeOutputForWire({ outputDirectory, ...rest }: { outputDirectory?: string }): object {
  return outputDirectory === undefined ? rest : { ...rest, outputDir: outputDirectory };
}

/** Of two agents of one name only one could be called, and one without a name never. */
function distinct(agents: CustomAgentConfig[] | undefined): CustomAgentConfig[] | undefined {
  const names = new Set<string>();
  for (const [index, { name }] of (agents ?? []).entries()) {
    // Programs in plain JavaScript may leave it out.
    if (typeof name !== "string" || name.trim() === "")
      throw new AppError("session_invalid", `customAgents[${index}] has no name: give it one, or nothing can call it`);
    if (names.has(name))
      throw new AppError("session_invalid", `customAgents has two agents called ${name}: rename one`);
    names.add(name);
  }
  return agents;
}

/** An agent with a list of tools carries their definitions, because its child session knows no others. */
function agentForWire(agent: CustomAgentConfig, tools: AnyTool[]): object {
  const allowed = allowlistOf(agent);
  const mcpServers = mcpServersForWire(agent.mcpServers);
  return {
    ...agent,
    ...(mcpServers ? { mcpServers } : {}),
    ...(allowed ? { toolDefinitions: tools.filter(({ name }) => allowed.has(name)).map(definition) } : {}),
  };
}

function definition(tool: AnyTool): object {
  const { name, description, parameters } = toolSpec(tool);
  return { name, description, parameters };
}

/** The tools that an agent may use; null when it may use all: no list, or a list with `*`. */
export function allowlistOf({ tools }: CustomAgentConfig): ReadonlySet<string> | null {
  return !tools || tools.includes("*") ? null : new Set(tools);
}
