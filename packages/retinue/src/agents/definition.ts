/**
 * What an agent is: one shape, whether it comes with the runtime, from a file, from a plugin or from the host program.
 *
 * Owns the two parsers for it: `agentFromFile` for `*.agent.md`, `agentFromConfig` for session.create and resume.
 * Which definition counts when several have the same name is decided in catalog.ts.
 */
import path from "node:path";
import {
  AppError,
  type Budget,
  type CustomAgentConfig,
  defined,
  GATE_WORDS,
  Gate,
  type HostToolSpec,
  lazy,
  MaxGateFailures,
  McpServerConfig,
} from "@retinue/protocol";
import * as z from "zod";
import { ownNames, unknownNames } from "./foreign-tools.ts";
import { type Check, type FrontMatter, hasFrontMatter, parseFrontMatter } from "./front-matter.ts";
import { type UnknownKey, unknownKey } from "./unknown-keys.ts";

/** `remote`: from the catalog that the user's configuration names. */
export type AgentSource = "builtin" | "user" | "project" | "plugin" | "remote" | "sdk";

/** What the child session inherits from its parent. */
export type Inherit = "none" | "brief" | "fork" | { tail: number };

export interface AgentDefinition {
  name: string;
  displayName: string;
  description: string;
  prompt: string;
  /** null: every tool; []: none; else patterns (tool-patterns.ts). */
  tools: readonly string[] | null;
  /** Host tools in `tools` as the host describes them, for hosts that declare them only here. */
  toolDefinitions: readonly HostToolSpec[];
  /** Preferred models, best first; empty: see `modelClass`. */
  models: readonly string[];
  modelPolicy: "preferred" | "required";
  /** What kind of model suits the agent when none is named. */
  modelClass: "session" | "fast" | "other-family";
  reasoningEffort?: string;
  /** Started with the agent, beside those of the session. */
  mcpServers: Readonly<Record<string, McpServerConfig>>;
  /** Loaded into the first prompt. Opt-in, never inherited. */
  skills: readonly string[];
  /** false: the model is not offered the agent, which can still be called by name. */
  infer: boolean;
  userInvocable: boolean;
  /** What bounds the agents below this one: the session's limits, or also the agent's own `tools`. */
  ceiling: "session" | "own";
  /** true: `mode: "background"` really runs in the background inside this agent. */
  nestedBackground: boolean;
  inherit: Inherit;
  /** It works in a git worktree of its own. */
  isolation?: "worktree";
  /** Limits of one run. What the agent uses counts for its ancestors too. */
  budget: Budget;
  /** What must hold before the agent counts as done. */
  gates: readonly Gate[];
  /** How many times a gate that failed goes back to it. */
  maxGateFailures?: number;
  /** The JSON Schema that its answers must fit, unless a call names another one. */
  schema?: Readonly<Record<string, unknown>>;
  /** The agent changes nothing, so it may be run again after a crash. */
  readOnly: boolean;
  source: AgentSource;
  path?: string;
  /** The plugin that it came with. */
  plugin?: string;
  /** Those of its name that cannot be called because of this one, the next in rank first. */
  hides?: readonly AgentDefinition[];
  /** What GitHub reads of the file. It is kept and shown. */
  github?: Readonly<Record<string, unknown>>;
}

const limit = lazy(() => z.number().positive());
const list = lazy(() =>
  z.union([z.array(z.string()), z.string().transform(commaSeparated)], {
    error: "expected names, as a list or with commas between them",
  }),
);

/** Built when there is a file to read. The built-in agents were parsed when the executable was built (prepared.ts). */
const fileHead = lazy(() =>
  z.object({
    name: z.string().trim().min(1).optional(),
    "display-name": z.string().optional(),
    description: z.string().optional(),
    tools: list().nullish(),
    model: list().optional(),
    "model-policy": z.enum(["preferred", "required"]).default("preferred"),
    "model-class": z.enum(["session", "fast", "other-family"]).default("session"),
    "reasoning-effort": z.string().optional(),
    "mcp-servers": z
      .record(
        z.string(),
        z.lazy(() => McpServerConfig()),
      )
      .default({}),
    skills: list().default([]),
    infer: z.boolean().optional(),
    "user-invocable": z.boolean().default(true),
    "disable-model-invocation": z.boolean().default(false),
    ceiling: z.enum(["session", "own"]).default("session"),
    "nested-background": z.boolean().default(false),
    "read-only": z.boolean().default(false),
    isolation: z.literal("worktree").optional(),
    gates: z
      .array(
        z.union([z.string().trim().min(1).transform(asGate), z.lazy(() => Gate())], {
          error: `${GATE_WORDS}, or a text, which is a command`,
        }),
      )
      .default([]),
    "max-gate-failures": z.lazy(() => MaxGateFailures()).optional(),
    inherit: z
      .string()
      .regex(/^(none|brief|fork|tail\(\d+\))$/, "expected none, brief, fork or tail(n)")
      .optional(),
    budget: z
      .object({
        turns: limit().optional(),
        "subtree-turns": limit().optional(),
        tokens: limit().optional(),
        "tool-calls": limit().optional(),
        seconds: limit().optional(),
        cost: limit().optional(),
        spawns: limit().optional(),
      })
      .default({}),
    schema: z.record(z.string(), z.unknown()).optional(),
    github: z.record(z.string(), z.unknown()).optional(),
    /** The word of Claude Code for `turns` of the budget. */
    maxTurns: limit().optional(),
  }),
);

export interface AgentFile {
  source: AgentSource;
  /** Where the text comes from: it appears in messages, and gives the name when the front matter has none. */
  path: string;
  plugin?: string;
  /** Told what of the head has no effect. */
  warn?(message: string): void;
  /** What there is, for whoever checks a file. A session checks when the agent starts, when it knows its tools. */
  known?: KnownNames;
}

export interface KnownNames {
  tools: readonly string[];
  skills: readonly string[];
}

export function agentFromFile(text: string, file: AgentFile): AgentDefinition {
  const { warn = () => undefined } = file;
  const check: Check = (written) => wrongKeys(written, { path: file.path, warn });
  const { head, body, lineOf } = parseFrontMatter(text, fileHead(), { file: file.path, check });
  if (!hasFrontMatter(text)) checkHasNone(body, file.path);
  if (body === "") throw new AppError("invalid_params", `${file.path}:1: the agent has no prompt`);
  const name = head.name ?? path.basename(file.path).replace(/(\.agent)?\.md$/, "");
  const tools = ownTools(head.tools, (index, words) =>
    warn(`${file.path}:${lineOf(["tools", String(index)])}: ${words}`),
  );
  if (file.known)
    for (const { field, name: unknown, words } of unknownNames({ tools, skills: head.skills }, file.known))
      warn(`${file.path}:${lineOf([field, placeOf(unknown, head[field])])}: ${words}`);
  const isFile = file.source !== "builtin" && file.source !== "remote";
  return {
    name,
    displayName: head["display-name"] ?? name,
    description: head.description?.trim() || firstSentence(body),
    prompt: body,
    tools,
    toolDefinitions: [],
    ...modelsOf(head),
    modelPolicy: head["model-policy"],
    ...(head["reasoning-effort"] === undefined ? {} : { reasoningEffort: head["reasoning-effort"] }),
    mcpServers: head["mcp-servers"],
    skills: head.skills,
    infer: head.infer ?? !head["disable-model-invocation"],
    userInvocable: head["user-invocable"],
    ceiling: head.ceiling,
    nestedBackground: head["nested-background"],
    inherit: toInherit(head.inherit),
    budget: toBudget({ turns: head.maxTurns, ...head.budget }),
    gates: head.gates,
    readOnly: head["read-only"],
    source: file.source,
    ...defined({ isolation: head.isolation }),
    ...defined({ maxGateFailures: head["max-gate-failures"] }),
    ...defined({ path: isFile ? file.path : undefined, plugin: file.plugin, github: head.github, schema: head.schema }),
  };
}

/** An agent whose head is taken for a part of its prompt would have every tool. */
function checkHasNone(body: string, file: string): void {
  const [first = ""] = body.split("\n", 1);
  const [key = ""] = /^[\w-]+(?=\s*:)/.exec(first) ?? [];
  const isHead = /^(?:--|[\u2013\u2014]|\+\+\+)/.test(first) || Object.hasOwn(fileHead().shape, key.toLowerCase());
  if (isHead) throw new AppError("invalid_params", `${file}:1: the front matter must stand between two lines with ---`);
}

type Head = z.output<ReturnType<typeof fileHead>>;

/** The names of tools as they are here. A list that has nothing of ours is an empty list, and never every tool. */
function ownTools(tools: Head["tools"], warn: (index: number, words: string) => void): AgentDefinition["tools"] {
  if (!tools) return null;
  const names = tools.flatMap((name, index) => ownNames(name, (words) => warn(index, words)));
  return [...new Set(names)];
}

/** Where a name stands in a list, as a key of its YAML; names of other programs are looked for as well. */
function placeOf(name: string, list: readonly string[] | null | undefined): string {
  return String((list ?? []).findIndex((each) => each === name || ownNames(each, () => undefined).includes(name)));
}

/** Claude Code names sizes and not models: its small one is our fast class, any other is the session's model. */
function modelsOf({ model = [], "model-class": modelClass }: Head): Pick<AgentDefinition, "models" | "modelClass"> {
  const [only = ""] = model;
  if (model.length !== 1 || !/^(inherit|sonnet|opus|haiku)$/.test(only)) return { models: model, modelClass };
  return { models: [], modelClass: only === "haiku" ? "fast" : modelClass };
}

const MAX_DESCRIPTION = 300;

/** What stands for the description of an agent that has none. */
function firstSentence(body: string): string {
  const lines = body.split("\n").map((line) => line.trim());
  const start = lines.findIndex((line) => line !== "" && !line.startsWith("#"));
  const end = lines.findIndex((line, index) => index > start && (line === "" || line.startsWith("#")));
  const paragraph = lines.slice(Math.max(start, 0), end < 0 ? undefined : end).join(" ");
  const sentence = /^.*?[.!?](?=\s|$)/.exec(paragraph.slice(0, MAX_DESCRIPTION))?.[0] ?? paragraph;
  return sentence.length <= MAX_DESCRIPTION ? sentence : `${sentence.slice(0, MAX_DESCRIPTION - 1)}…`;
}

/** Other programs show these; they say nothing to an agent. */
const FOR_OTHER_SCREENS: ReadonlySet<string> = new Set(["color", "target", "argument-hint", "version", "author"]);

/** Returns the unknown keys that look like a limit of the agent, and warns of the others. */
function wrongKeys(
  { data, lineOf }: Pick<FrontMatter<unknown>, "data" | "lineOf">,
  { path: file, warn }: { path: string; warn(message: string): void },
): string[] {
  const { budget, ...fields } = fileHead().shape;
  const wrong: string[] = [];
  const complain = (at: readonly string[], { words, isLimit }: UnknownKey) => {
    const line = `${file}:${lineOf(at)}: ${words}`;
    if (isLimit) wrong.push(line);
    else warn(line);
  };
  for (const key of keysOf(data)) {
    if (key === "budget" || Object.hasOwn(fields, key) || FOR_OTHER_SCREENS.has(key)) continue;
    complain([key], unknownKey(key, [...Object.keys(fields), "budget"]));
  }
  for (const server of keysOf(data, "mcp-servers")) {
    for (const key of keysOf(valueAt(data, "mcp-servers"), server))
      if (!serverKeys().includes(key)) complain(["mcp-servers", server, key], unknownKey(key, serverKeys()));
  }
  const limits = Object.keys(budget.unwrap().shape);
  for (const key of keysOf(data, "budget"))
    if (!limits.includes(key)) complain(["budget", key], unknownKey(key, limits, { isLimit: true }));
  return wrong;
}

/** The keys of a map, or of the map under one of its keys. */
function keysOf(data: unknown, under?: string): string[] {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return [];
  return under === undefined ? Object.keys(data) : keysOf(valueAt(data, under));
}

function valueAt(data: unknown, key: string): unknown {
  return typeof data === "object" && data !== null
    ? Object.entries(data).find(([each]) => each === key)?.[1]
    : undefined;
}

const serverKeys = (): string[] => [
  ...new Set(McpServerConfig().options.flatMap((option) => Object.keys(option.shape))),
];

export function agentFromConfig(config: CustomAgentConfig): AgentDefinition {
  return {
    name: config.name,
    displayName: config.displayName ?? config.name,
    description: config.description ?? "",
    prompt: config.prompt,
    tools: config.tools ?? null,
    toolDefinitions: config.toolDefinitions ?? [],
    models: config.model === undefined ? [] : [config.model],
    modelPolicy: "preferred",
    modelClass: "session",
    ...(config.reasoningEffort === undefined ? {} : { reasoningEffort: config.reasoningEffort }),
    mcpServers: config.mcpServers ?? {},
    skills: config.skills ?? [],
    infer: config.infer ?? true,
    userInvocable: true,
    ceiling: config.ceiling ?? "session",
    nestedBackground: config.nestedBackground ?? false,
    inherit: toInherit(config.inherit),
    budget: config.budget ?? {},
    gates: config.gates ?? [],
    ...defined({ maxGateFailures: config.maxGateFailures }),
    readOnly: false,
    source: "sdk",
    ...defined({ isolation: config.isolation, schema: config.schema }),
  };
}

/** Names are compared without regard to case, spaces, underscores and dashes. */
export function normaliseName(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, "-");
}

export function toInherit(value: string | undefined): Inherit {
  const tail = /^tail\((\d+)\)$/.exec(value ?? "")?.[1];
  if (tail !== undefined) return { tail: Number(tail) };
  return value === "none" || value === "fork" ? value : "brief";
}

function toBudget(budget: Head["budget"]): Budget {
  return defined({
    maxTurns: budget.turns,
    maxSubtreeTurns: budget["subtree-turns"],
    maxTokens: budget.tokens,
    maxToolCalls: budget["tool-calls"],
    maxSeconds: budget.seconds,
    maxCost: budget.cost,
    maxSpawns: budget.spawns,
  });
}

/** A text alone is a command. */
const asGate = (command: string): Gate => ({ command });

/** A comma in brackets, as in `Bash(git add:*, git commit:*)`, belongs to the entry. */
function commaSeparated(text: string): string[] {
  const entries = text.match(/(?:[^,\n()]|\([^()]*\)|[()])+/g) ?? [];
  return entries.map((each) => each.trim()).filter((each) => each !== "");
}
