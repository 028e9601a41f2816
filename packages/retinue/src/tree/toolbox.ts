/**
 * Which tools exist in a session tree before any filter, and for which agent.
 *
 * Owns what that depends on: `key` has every value that can change a list, so nothing has to report changes. Which of the tools an agent
 * may call is decided in agents/effective-tools.ts.
 */
import type { AgentDefinition } from "../agents/definition.ts";
import type { Agent } from "../loop/agent.ts";
import { callHost } from "../loop/host-call.ts";
import type { McpUse } from "../mcp/host.ts";
import type { Rules } from "../permissions/rules.ts";
import { modeNow } from "../session/mode-now.ts";
import { skillTool } from "../skills/skill-tool.ts";
import { listAgentsTool, readAgentTool, taskTool, writeAgentTool } from "../tools/builtin/task.ts";
import { taskCompleteTool } from "../tools/builtin/task-complete.ts";
import { builtinTools, orderTools } from "../tools/catalog.ts";
import { hostTool } from "../tools/host-tool.ts";
import type { Tool } from "../tools/tool.ts";
import { type Configuration, maxOutputOf } from "./configuration.ts";
import { Derived } from "./derived.ts";
import type { Participants } from "./participants.ts";
import type { TreeServers } from "./servers.ts";

/** An agent and its own servers. */
export interface ToolOwner {
  agent: Agent;
  definition: AgentDefinition | undefined;
  mcp: McpUse | undefined;
}

export interface ToolboxOptions {
  configuration: Configuration;
  participants: Participants;
  servers: TreeServers;
  rules: Rules;
  /** Tools that other parts of the runtime add. */
  extraTools(agent: Agent): readonly Tool[];
}

export class Toolbox {
  readonly #options: ToolboxOptions;
  readonly #skillTool = new Derived<Tool>();
  readonly #taskTool = new Derived<Tool>();

  constructor(options: ToolboxOptions) {
    this.#options = options;
  }

  /** Everything that a list of tools, and the system prompt that goes with it, depends on. */
  key({ agent, mcp }: ToolOwner): readonly unknown[] {
    const { configuration, participants, servers, rules } = this.#options;
    const { state } = agent.session.root;
    return [
      configuration.current,
      configuration.context,
      configuration.agents.list(),
      configuration.agents.offered(),
      configuration.skills.offered(),
      rules.policy.denied,
      modeNow(agent.session),
      agent.session.state.prompt.terms,
      state.selectedAgent, // The main agent's: it bounds what the agents below may call.
      this.#askUser(),
      servers.tools(),
      mcp?.tools(),
      ...participants.tools,
    ];
  }

  /** The tools of an agent before any filter. Servers must be ready. */
  all({ agent, definition, mcp }: ToolOwner): readonly Tool[] {
    const { participants, servers } = this.#options;
    const shared = participants.tools;
    const own = (definition?.toolDefinitions ?? []).filter((spec) => !shared.some(({ name }) => name === spec.name));
    return orderTools({
      builtin: [
        ...this.#common(),
        ...this.#skillToolOf(agent, definition),
        this.#task(),
        readAgentTool,
        writeAgentTool,
        listAgentsTool,
        ...this.#options.extraTools(agent),
        ...this.#forMode(agent),
      ],
      mcp: [...servers.tools(), ...(mcp?.tools() ?? [])],
      host: [...shared, ...own].map((spec) =>
        hostTool(spec, (args, context) => callHost(agent, { name: spec.name, args }, context)),
      ),
    });
  }

  /** The built-in tools of the main agent, with the settings of this session. */
  builtin(): readonly Tool[] {
    return [...this.#common(), this.#allSkills(), this.#task()];
  }

  #common(): readonly Tool[] {
    const { current } = this.#options.configuration;
    return builtins({
      askUser: this.#askUser(),
      maxBytes: maxOutputOf(current),
      folder: current.largeOutput?.outputDir,
    });
  }

  #task(): Tool {
    const offered = this.#options.configuration.agents.offered();
    return this.#taskTool.get([offered], () =>
      taskTool(
        offered.map(({ name, description, source, readOnly }) => ({
          name,
          description,
          isCustom: source !== "builtin",
          isReadOnly: readOnly,
        })),
      ),
    );
  }

  #allSkills(): Tool {
    const { skills } = this.#options.configuration;
    return this.#skillTool.get([skills, skills.offered()], () => skillTool(skills));
  }

  /** Skills are never inherited: a sub-agent has those that its definition names, and without any it is not told of the others. */
  #skillToolOf({ session }: Agent, definition: AgentDefinition | undefined): readonly Tool[] {
    if (session.parent === undefined) return [this.#allSkills()];
    const only = definition?.skills ?? [];
    return only.length > 0 ? [skillTool(this.#options.configuration.skills, { only })] : [];
  }

  #forMode({ session }: Agent): readonly Tool[] {
    return session.parent === undefined && session.state.modeNow === "autopilot" ? [taskCompleteTool()] : [];
  }

  #askUser(): AskUser {
    const { configuration, participants } = this.#options;
    const wantsForm = configuration.current.askUserVariant === "elicitation";
    if (wantsForm && participants.can("requestElicitation")) return "elicitation";
    return participants.can("requestUserInput") ? "legacy" : undefined;
  }
}

type AskUser = "legacy" | "elicitation" | undefined;

const builtinSets = new Map<string, readonly Tool[]>();

/** Sessions with the same settings share their tools, so that their description for the model is made once. */
function builtins(settings: { askUser: AskUser; maxBytes?: number; folder?: string }): readonly Tool[] {
  const { askUser, maxBytes, folder } = settings;
  const key = JSON.stringify([askUser, maxBytes, folder]);
  const known = builtinSets.get(key);
  if (known) return known;
  const tools = builtinTools({ askUser, output: { maxBytes, folder } });
  builtinSets.set(key, tools);
  return tools;
}
