/**
 * The configuration of one session, and what is loaded because of it: agents, skills, models, settings of the loop.
 *
 * Owns its changes. `current` and the lists of the catalogs are replaced and never altered, so code that depends on one of them can
 * compare identities to see a change.
 */
import { tmpdir } from "node:os";
import {
  defined,
  type InstructionSource,
  type SessionConfig,
  type SessionContext,
  type SubagentSettings,
} from "@retinue/protocol";
import type { AgentFolder } from "../agents/agent-files.ts";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import type { ModelSettings } from "../agents/model-policy.ts";
import type { RemoteAgents } from "../agents/remote-definitions.ts";
import type { AgentSettings } from "../loop/agent.ts";
import type { Catalog, SessionModels } from "../models/catalog.ts";
import type { ProjectGate } from "../project/gate.ts";
import { SkillCatalog, type SkillFolder, skillFolders } from "../skills/catalog.ts";
import { commandFolders } from "../skills/command-file.ts";
import { DEFAULT_MAX_BYTES } from "../tools/output.ts";

export interface ConfigurationOptions {
  config: SessionConfig;
  context: SessionContext;
  instructions?: ProjectInstructions;
  /** The home folder of the runtime. */
  home: string;
  /** Decides whether files of the project count. */
  gate: ProjectGate;
  /** Agents of the remote catalog: another object after each change. */
  remoteAgents?: () => RemoteAgents;
  /** The folders of plugins that count now: another object after each change. */
  plugins?: () => PluginFolders;
  tempFolder?: string;
  /** The maximum depth of sub-agents, whatever a client asks for. */
  maxDepth: number;
  catalog: Catalog;
  /** A token for a model provider, from a client. */
  askToken(providerName: string): Promise<string>;
}

/** Files that a project has for agents, without those that rules deny to read. */
export interface ProjectInstructions {
  /** Reads them again if a file or what the host wants of them has changed. Returns whether it has. */
  follow(config: SessionConfig): boolean;
  /** For the system prompt. */
  text(unreadable: readonly string[]): string | undefined;
  /** What counts for a file besides, as blocks for the model by the path that they name. */
  forFile(file: string, unreadable: readonly string[]): ReadonlyMap<string, string>;
  sources(): InstructionSource[];
  /** Files that were refused or cut. */
  readonly warnings: readonly string[];
  /** Those that came after the first reading, each once. */
  newWarnings(): readonly string[];
}

const NO_INSTRUCTIONS: ProjectInstructions = {
  follow: () => false,
  text: () => undefined,
  forFile: () => new Map(),
  sources: () => [],
  warnings: [],
  newWarnings: () => [],
};

/** Where plugins have agents and skills. */
export interface PluginFolders {
  agents: readonly AgentFolder[];
  skills: readonly SkillFolder[];
}

/** The limits of a session's sub-agents. */
export interface SubagentLimits {
  maxDepth: number;
  models: ModelSettings;
  /** The models that may be used; undefined means all. */
  allowedModels: readonly string[] | undefined;
}

export class Configuration {
  /** Where the session works now. */
  context: SessionContext;
  readonly instructions: ProjectInstructions;
  readonly #options: ConfigurationOptions;
  #current: SessionConfig;
  #agents: AgentCatalog;
  #skills: SkillCatalog;
  #models: SessionModels;
  #settings: AgentSettings;
  #limits: SubagentLimits;
  /** Of the gate, when the project was read last. */
  #gateVersion: number;
  #plugins: PluginFolders | undefined;
  #remote: RemoteAgents | undefined;
  #invokeRules: Pick<SubagentSettings, "agents" | "disabledSubagents"> = {};

  constructor(options: ConfigurationOptions) {
    this.#options = options;
    this.#current = options.config;
    this.context = options.context;
    this.instructions = options.instructions ?? NO_INSTRUCTIONS;
    this.#gateVersion = options.gate.version;
    this.#agents = this.#readAgents();
    this.#skills = this.#readSkills();
    this.#models = this.#readModels();
    this.#settings = settingsOf(options.config, options.tempFolder);
    const models = options.catalog.subagents?.() ?? {};
    this.#limits = { maxDepth: options.maxDepth, models, allowedModels: undefined };
  }

  get current(): SessionConfig {
    return this.#current;
  }
  get agents(): AgentCatalog {
    return this.#agents;
  }
  get skills(): SkillCatalog {
    return this.#skills;
  }
  get models(): SessionModels {
    return this.#models;
  }
  get settings(): AgentSettings {
    return this.#settings;
  }
  get limits(): SubagentLimits {
    return this.#limits;
  }

  /** Applies the options of a client that creates, resumes or changes the session. Options it does not name stay. */
  change(config: SessionConfig): void {
    this.#current = { ...this.#current, ...defined(config) };
    if (config.customAgents || config.excludedBuiltinAgents || config.pluginDirectories)
      this.#agents = this.#readAgents(this.#agents.prompts);
    if (config.skillDirectories || config.disabledSkills || config.pluginDirectories) this.#skills = this.#readSkills();
    if (config.provider || config.providers || config.models || config.modelCapabilities || config.gitHubToken)
      this.#models = this.#readModels();
    this.#settings = settingsOf(this.#current, this.#options.tempFolder);
  }

  /** Which sub-agents may run, on which models, how deep. */
  setSubagents({ agents, disabledSubagents, maxDepth }: SubagentSettings): void {
    const most = this.#options.maxDepth;
    this.#limits = {
      ...this.#limits,
      maxDepth: Math.min(maxDepth ?? most, most),
      models: { ...this.#limits.models, agents },
    };
    this.#invokeRules = { agents, disabledSubagents };
    this.#agents.setRules(this.#invokeRules);
  }

  allowModels(allowedModels: readonly string[] | undefined): void {
    this.#limits = { ...this.#limits, allowedModels };
  }

  /** Reads agents and skills again if trust in the project was decided anew, or plugins or files have changed. Returns why it did. */
  follow(): "trust" | "files" | undefined {
    this.instructions.follow(this.#current);
    const { gate, plugins, remoteAgents } = this.#options;
    const isDecided = this.#current.enableConfigDiscovery === true && gate.version !== this.#gateVersion;
    if (isDecided || plugins?.() !== this.#plugins || remoteAgents?.() !== this.#remote) {
      this.#gateVersion = gate.version;
      this.#agents = this.#readAgents(this.#agents.prompts);
      this.#skills = this.#readSkills();
      return isDecided ? "trust" : "files";
    }
    const changed = [this.#agents.reload({ onlyIfChanged: true }), this.#skills.follow()];
    return changed.includes(true) ? "files" : undefined;
  }

  /** The project whose files count, if they do. */
  get #project(): { folder: string; root: string } | undefined {
    const { gate } = this.#options;
    return this.#current.enableConfigDiscovery && gate.isTrusted ? gate : undefined;
  }

  #readAgents(prompts?: ReadonlyMap<string, string>): AgentCatalog {
    this.#plugins = this.#options.plugins?.();
    this.#remote = this.#options.remoteAgents?.();
    const { customAgents, excludedBuiltinAgents, enableConfigDiscovery } = this.#current;
    const folders = agentFolders({
      home: this.#options.home,
      enableConfigDiscovery,
      project: this.#project,
      plugins: this.#plugins?.agents,
    });
    const catalog = new AgentCatalog({ folders, remote: this.#remote, customAgents, excludedBuiltinAgents, prompts });
    catalog.setRules(this.#invokeRules);
    return catalog;
  }

  #readSkills(): SkillCatalog {
    const { skillDirectories, disabledSkills, enableConfigDiscovery = false } = this.#current;
    const { home, gate } = this.#options;
    const folders = skillFolders({
      skillDirectories,
      home,
      workingDirectory: gate.folder,
      enableConfigDiscovery,
      project: this.#project,
      plugins: this.#plugins?.skills,
    });
    const commands = commandFolders({ home, enableConfigDiscovery, project: this.#project });
    return new SkillCatalog({ folders, disabledSkills, commands });
  }

  #readModels(): SessionModels {
    const { catalog, askToken } = this.#options;
    return catalog.forSession(this.#current, { askToken });
  }
}

/** The largest output of a call that is not cut. */
export function maxOutputOf({ largeOutput }: SessionConfig): number | undefined {
  return largeOutput?.enabled === false ? Number.MAX_SAFE_INTEGER : largeOutput?.maxSizeBytes;
}

function settingsOf(config: SessionConfig, tempFolder = tmpdir()): AgentSettings {
  const { infiniteSessions, largeOutput } = config;
  return {
    streaming: config.streaming === true,
    includeDeltas: true,
    maxOutputBytes: maxOutputOf(config) ?? DEFAULT_MAX_BYTES,
    outputFolder: largeOutput?.outputDir ?? tempFolder,
    compaction: {
      enabled: infiniteSessions?.enabled !== false,
      startAt: infiniteSessions?.backgroundCompactionThreshold ?? 0.8,
      dropAt: infiniteSessions?.bufferExhaustionThreshold ?? 0.95,
    },
    reasoningSummary: config.reasoningSummary,
    maxTurns: 1000,
  };
}
