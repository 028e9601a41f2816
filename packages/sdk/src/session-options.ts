/**
 * The options of a session that go over the wire as they are, each with what it does and its default.
 *
 * The types come from the protocol's schemas. They are named again here because what is inferred from a schema carries no words
 * into an editor.
 */
import type * as wire from "@retinue/protocol";
import type { MCPServerConfig } from "./providers.ts";

/** What the schemas say. */
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

/** Which model, and how it is asked. */
interface ModelOptions {
  /** The model of the main agent, and of sub-agents that name none. Default: what the runtime is configured with, else the offline model. */
  model?: Plain["model"];
  /** How much a reasoning model thinks: `low`, `medium`, `high`, or what the model knows. Default: the model's own. */
  reasoningEffort?: Plain["reasoningEffort"];
  /** Whether a summary of the reasoning is asked for. Default: what the endpoint does by itself. */
  reasoningSummary?: Plain["reasoningSummary"];
  /** How long answers are. Has no effect in Retinue yet. */
  verbosity?: Plain["verbosity"];
  /** Which size of the context window. Has no effect in Retinue yet. */
  contextTier?: Plain["contextTier"];
  /** What the model can do, where the runtime does not know it: images, reasoning, limits of tokens. Default: the runtime's list. */
  modelCapabilities?: Plain["modelCapabilities"];
  /** Models that the named `providers` serve. Default: none. */
  models?: Plain["models"];
  /** A GitHub token for the models of GitHub. Default: none. */
  gitHubToken?: Plain["gitHubToken"];
}

/** Which tools and agents there are. */
interface ToolOptions {
  /** The only tools that agents of this session may have, by name or as `builtin:*`, `mcp:*`, `custom:*`. Default: all. */
  availableTools?: Plain["availableTools"];
  /** Tools that no agent of this session may have; they win over `availableTools`. Default: none. */
  excludedTools?: Plain["excludedTools"];
  /** Whether tools are searched for instead of listed. Has no effect in Retinue yet. */
  toolSearch?: Plain["toolSearch"];
  /** MCP servers that are not started, by name. Default: none. */
  disabledMcpServers?: Plain["disabledMcpServers"];
  /** Where sign-ins to MCP servers are kept: `persistent` in the home folder, `in-memory` with this session. Default: `in-memory`. */
  mcpOAuthTokenStorage?: Plain["mcpOAuthTokenStorage"];
  /** The agent that answers for the session from the start. Default: the main agent without a role. */
  agent?: Plain["agent"];
  /** `excludedTools` are hidden from the main agent only, so that it hands their work to sub-agents. Default: none. */
  defaultAgent?: Plain["defaultAgent"];
  /** Built-in agents that nothing can start, by name. Default: none. */
  excludedBuiltinAgents?: Plain["excludedBuiltinAgents"];
  /** Custom agents run here and nowhere else. In Retinue they always do. */
  customAgentsLocalOnly?: Plain["customAgentsLocalOnly"];
  /** Deltas of sub-agents are delivered too. Default: true. */
  includeSubAgentStreamingEvents?: Plain["includeSubAgentStreamingEvents"];
}

/** Who is asked, and what needs no asking. */
interface ConsentOptions {
  /** Rules, folders and addresses that are in effect before anything runs. Default: everything that acts is asked for. Retinue only. */
  permissions?: Plain["permissions"];
  /** What becomes of an ask while no client can answer it: `wait`, `wait:<seconds>`, `deny` or `rules`. Default: `RETINUE_UNATTENDED`, else `wait`. Retinue only. */
  unattended?: Plain["unattended"];
  /** Whether the model asks people by one question or by a form. Default: `legacy`, one question. */
  askUserVariant?: Plain["askUserVariant"];
}

/** Where the session works, and what it reads there. */
interface PlaceOptions {
  /** The folder in which the session works; it must exist. Default: the folder of the runtime, or that of the stored session. */
  workingDirectory?: Plain["workingDirectory"];
  /** More folders that may be read and written like the working folder. Default: none. */
  additionalDirectories?: Plain["additionalDirectories"];
  /** Reads instructions, agents, skills and MCP servers of the project and of the user; those of a project only after it is trusted. Default: false. */
  enableConfigDiscovery?: Plain["enableConfigDiscovery"];
  /** Whether skills are offered. In Retinue they always are. */
  enableSkills?: Plain["enableSkills"];
  /** Folders with skills; relative ones are below the working folder. Default: none. */
  skillDirectories?: Plain["skillDirectories"];
  /** Skills that are not offered, by name. Default: none. */
  disabledSkills?: Plain["disabledSkills"];
  /** Folders whose instruction file (`AGENTS.md` and its like) is always read. Default: none. */
  instructionDirectories?: Plain["instructionDirectories"];
  /** Folders of plugins. Their agents, skills, commands, MCP servers and hooks count. Default: none. */
  pluginDirectories?: Plain["pluginDirectories"];
  /** Instructions of an organization, after those of the project. Default: none. */
  organizationCustomInstructions?: Plain["organizationCustomInstructions"];
  /** Whether the instruction files of a subfolder come with the first of its files that an agent opens. Default: true, with `enableConfigDiscovery`. */
  enableOnDemandInstructionDiscovery?: Plain["enableOnDemandInstructionDiscovery"];
  /** No instruction file is read, and no instructions of an organization are. Default: false. */
  skipCustomInstructions?: Plain["skipCustomInstructions"];
  /** Runs the hooks that files name. Default: as `enableConfigDiscovery`; those of `pluginDirectories` run unless it is `false`. */
  enableFileHooks?: Plain["enableFileHooks"];
  /** Whether git may be asked about the working folder. In Retinue it always is. */
  enableHostGitOperations?: Plain["enableHostGitOperations"];
  /** Whether the session is stored. In Retinue it always is. */
  enableSessionStore?: Plain["enableSessionStore"];
  /** Whether agents read and keep notes for later sessions of the same repository. Default: as `enableConfigDiscovery`. */
  memory?: Plain["memory"];
}

/** All of them; the compiler compares each with its schema, which comes last because editors show the first words that they find. */
export interface PlainOptions extends ModelOptions, ToolOptions, ConsentOptions, PlaceOptions, Plain {
  /** The name of your program, shown in lists of sessions. Default: none. */
  clientName?: Plain["clientName"];
  /** Answers come in pieces (`assistant.message_delta`) besides the whole messages. Default: false. */
  streaming?: Plain["streaming"];
  /** Compaction of long conversations: whether, and from which share of the context on. Default: on, at 0.8, at once at 0.95. */
  infiniteSessions?: Plain["infiniteSessions"];
  /** Limits in AI credits. Has no effect in Retinue yet: see `budget`. */
  sessionLimits?: Plain["sessionLimits"];
  /** Keeps track of files that change. Has no effect in Retinue yet. */
  enableFileChangeTracking?: Plain["enableFileChangeTracking"];
  /** What the main agent may use in one run: turns, tokens, calls, seconds, cost, sub-agents. Default: no limit. Retinue only. */
  budget?: Plain["budget"];
  /** How many reminders autopilot sends for one prompt. Default: 5, or what environment and config.json say. Retinue only. */
  maxAutopilotContinues?: Plain["maxAutopilotContinues"];
  /** What must hold before the main agent counts as done: `command`, `file`, `schema`, `hook`. Default: nothing. Retinue only. */
  gates?: Plain["gates"];
  /** How many times a gate that failed goes back to the model. Default: 3. Retinue only. */
  maxGateFailures?: Plain["maxGateFailures"];
  /** Trace context (W3C). Has no effect in Retinue yet; `onGetTraceContext` of the client fills it in. */
  traceparent?: Plain["traceparent"];
  /** Its second part. Has no effect in Retinue yet. */
  tracestate?: Plain["tracestate"];
}

/** Options that only other runtimes of this protocol know; they are passed on as they are, and Retinue ignores them. */
export interface ForeignOptions {
  /** Options of the Copilot API. Only for other runtimes. */
  capi?: unknown;
  /** Adds a co-author to commits. Only for other runtimes. */
  coauthorEnabled?: unknown;
  /** Where embeddings are kept. Only for other runtimes. */
  embeddingCacheStorage?: unknown;
  /** Citations in answers. Only for other runtimes. */
  enableCitations?: unknown;
  /** Settings of an organization. Only for other runtimes. */
  enableManagedSettings?: unknown;
  /** Telemetry of the session. Only for other runtimes; Retinue sends none. */
  enableSessionTelemetry?: unknown;
  /** Switches of unfinished features. Only for other runtimes. */
  featureFlags?: unknown;
  /** Tools of GitHub's MCP server. Only for other runtimes. */
  githubMcpToolConfig?: unknown;
  /** Built-in skills that are offered. Only for other runtimes. */
  includedBuiltinSkills?: unknown;
  /** Schedules. Only for other runtimes. */
  manageScheduleEnabled?: unknown;
  /** Settings of an organization. Only for other runtimes. */
  managedSettings?: unknown;
  /** A session that runs elsewhere. Only for other runtimes. */
  remoteSession?: unknown;
  /** No search by embeddings. Only for other runtimes. */
  skipEmbeddingRetrieval?: unknown;
}

type PlainAgent = Omit<wire.CustomAgentConfig, "mcpServers" | "toolDefinitions">;

export interface CustomAgentConfig extends PlainAgent {
  /** How it is called: by the `task` tool, by `tasks.start`, by `agent`. It must not be empty, and no other agent may have it. */
  name: PlainAgent["name"];
  /** How it is shown. Default: its name. */
  displayName?: PlainAgent["displayName"];
  /** What the model reads when it chooses an agent. Default: none. */
  description?: PlainAgent["description"];
  /** Its role: the system prompt of this agent. */
  prompt: PlainAgent["prompt"];
  /** The tools that it may use, host tools included; `[]` is none. Default: all of the session. */
  tools?: PlainAgent["tools"];
  /** MCP servers that only this agent has. Default: none. */
  mcpServers?: Record<string, MCPServerConfig>;
  /** False keeps it out of the list that the model is offered; it can still be named. Default: true. */
  infer?: PlainAgent["infer"];
  /** Skills that it has read from the start, by name. Default: none. */
  skills?: PlainAgent["skills"];
  /** Its model. Default: that of the agent that starts it. */
  model?: PlainAgent["model"];
  /** How much its model thinks. Default: as for the session. */
  reasoningEffort?: PlainAgent["reasoningEffort"];
  /** What bounds the agents below it: its `own` tools or those of the `session`. Default: `session`. Retinue only. */
  ceiling?: PlainAgent["ceiling"];
  /** Background sub-agents of this agent really run in the background. Default: false. Retinue only. */
  nestedBackground?: PlainAgent["nestedBackground"];
  /** What it inherits of the conversation above: `none`, `brief`, `tail(n)` or `fork`. Default: `brief`. Retinue only. */
  inherit?: PlainAgent["inherit"];
  /** What it may use in one run. Default: no limit. Retinue only. */
  budget?: PlainAgent["budget"];
  /** `worktree`: it works in a git worktree of its own, and its changes are merged when it has completed. Default: where its starter works. Retinue only. */
  isolation?: PlainAgent["isolation"];
  /** What must hold before it counts as done. Default: nothing. Retinue only. */
  gates?: PlainAgent["gates"];
  /** How many times a gate that failed goes back to it. Default: 3. Retinue only. */
  maxGateFailures?: PlainAgent["maxGateFailures"];
}
