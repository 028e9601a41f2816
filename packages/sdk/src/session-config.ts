/**
 * The options of a session, and what of them goes over the wire.
 *
 * Owns names: options are called as programs of this protocol know them, and a few have another name on the wire.
 * Functions never leave the process; the runtime only learns which of them exist.
 */
import { AppError, defined, type SessionEvent } from "@retinue/protocol";
import type { SubagentInstance } from "./children.ts";
import type { SessionHooks } from "./hooks.ts";
import type { McpAuthHandler } from "./mcp-auth.ts";
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
import type { CustomAgentConfig, ForeignOptions, PlainOptions } from "./session-options.ts";
import { type SystemMessageConfig, systemMessageForWire } from "./system-message.ts";
import { type AnyTool, toolSpec } from "./tools.ts";

export interface SessionConfigBase extends PlainOptions, ForeignOptions {
  /** Tools that run in your program. Default: none. */
  tools?: AnyTool[];
  /** Slash commands that run in your program. Default: none. */
  commands?: CommandDefinition[];
  /** Sub-agents of this session, besides the built-in ones. Default: none. */
  customAgents?: CustomAgentConfig[];
  /** MCP servers by name, started when the session needs them. Default: none. */
  mcpServers?: Record<string, MCPServerConfig>;
  /** The endpoint of the model. Default: what the runtime is configured with. */
  provider?: ProviderConfig;
  /** Several endpoints by name, for `models`. Default: none. */
  providers?: NamedProviderConfig[];
  /** Text after the system prompt, in its place, or changes to its sections. Default: the runtime's own. */
  systemMessage?: SystemMessageConfig;
  /** The folder of the configuration. Has no effect in Retinue yet: set `baseDirectory` of the client. */
  configDirectory?: string;
  /** Output of a call beyond `maxSizeBytes` goes to a file. Default: on, 50 KiB, the temp folder. */
  largeOutput?: { enabled?: boolean; maxSizeBytes?: number; outputDirectory?: string };
  /** Features of other runtimes that are not finished. Default: false. */
  enableExperimentalMode?: boolean;
  /** Makes GitHub tokens when the runtime asks for one. Default: none. */
  gitHubTokenProvider?: GitHubTokenProvider;
  /** Decides whether a call may run. Default: a call that would ask is refused. */
  onPermissionRequest?: PermissionHandler;
  /** Answers a question of the model. Default: the model has no tool to ask with. */
  onUserInputRequest?: UserInputHandler;
  /** Fills in a form that the model, a tool or an MCP server shows. Default: no forms. */
  onElicitationRequest?: ElicitationHandler;
  /** Gives a token for an MCP server that wants a sign-in. Default: the server stays `needs-auth` until somebody signs in. */
  onMcpAuthRequest?: McpAuthHandler;
  /** Decides whether a plan may be carried out. Default: nobody is asked. */
  onExitPlanModeRequest?: ExitPlanModeHandler;
  /** Decides about another model when one is not available. Has no effect in Retinue yet. */
  onAutoModeSwitchRequest?: AutoModeSwitchHandler;
  /** Functions that are called before and after prompts, calls and sub-agents. Default: none. */
  hooks?: SessionHooks;
  /** Called with every event from the first one on, including those that come before createSession returns. Default: none. */
  onEvent?: (event: SessionEvent) => void;
  /** Called once when this client leaves the session, with the sub-agents that had not ended by then. Default: none. */
  onCleanup?: (running: SubagentInstance[]) => void;
}

export interface SessionConfig extends SessionConfigBase {
  /** The id of the new session: at most 200 letters, digits and `.`, `_`, `:`, `@`, `-`. Default: a new UUID. */
  sessionId?: string;
}

export interface ResumeSessionConfig extends SessionConfigBase {
  /** No `session.resume` event. Default: false. */
  suppressResumeEvent?: boolean;
  /** True goes on where the session was; otherwise what was open is settled and the session waits. Default: false. */
  continuePendingWork?: boolean;
}

/** Parameters of `session.create` and `session.resume`, without the id. */
export function configForWire(config: SessionConfig & ResumeSessionConfig): Record<string, unknown> {
  const {
    sessionId: _id,
    onEvent: _event,
    onCleanup: _cleanup,
    gitHubTokenProvider: _token,
    onMcpAuthRequest: _auth,
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
