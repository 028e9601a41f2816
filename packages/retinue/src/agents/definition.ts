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
  type HostToolSpec,
  lazy,
  McpServerConfig,
} from "@retinue/protocol";
import * as z from "zod";
import { type FrontMatter, parseFrontMatter } from "./front-matter.ts";
import { type UnknownKey, unknownKey } from "./unknown-keys.ts";

export type AgentSource = "builtin" | "user" | "project" | "plugin" | "sdk";

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
  /** Limits of one run. What the agent uses counts for its ancestors too. */
  budget: Budget;
  /** The agent changes nothing, so it may be run again after a crash. */
  readOnly: boolean;
  source: AgentSource;
  path?: string;
}

const limit = lazy(() => z.number().positive());
const list = lazy(() => z.union([z.array(z.string()), z.string().transform(commaSeparated)]));

/** Built when there is a file to read. The built-in agents were parsed when the executable was built (prepared.ts). */
const fileHead = lazy(() =>
  z.object({
    name: z.string().trim().min(1).optional(),
    "display-name": z.string().optional(),
    description: z.string(),
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
  }),
);

export interface AgentFile {
  source: AgentSource;
  /** Where the text comes from: it appears in messages, and gives the name when the front matter has none. */
  path: string;
  /** Told what of the head has no effect. */
  warn?(message: string): void;
}

export function agentFromFile(text: string, file: AgentFile): AgentDefinition {
  const { head, body, ...written } = parseFrontMatter(text, fileHead(), file.path);
  checkKeys(written, file);
  if (body === "") throw new AppError("invalid_params", `${file.path}:1: the agent has no prompt`);
  const name = head.name ?? path.basename(file.path).replace(/(\.agent)?\.md$/, "");
  return {
    name,
    displayName: head["display-name"] ?? name,
    description: head.description,
    prompt: body,
    tools: head.tools ?? null,
    toolDefinitions: [],
    models: head.model ?? [],
    modelPolicy: head["model-policy"],
    modelClass: head["model-class"],
    ...(head["reasoning-effort"] === undefined ? {} : { reasoningEffort: head["reasoning-effort"] }),
    mcpServers: head["mcp-servers"],
    skills: head.skills,
    infer: head.infer ?? !head["disable-model-invocation"],
    userInvocable: head["user-invocable"],
    ceiling: head.ceiling,
    nestedBackground: head["nested-background"],
    inherit: toInherit(head.inherit),
    budget: toBudget(head.budget),
    readOnly: head["read-only"],
    source: file.source,
    ...(file.source === "builtin" ? {} : { path: file.path }),
  };
}

/** Throws for an unknown key that looks like a limit of the agent. */
function checkKeys(
  { data, lineOf }: Pick<FrontMatter<unknown>, "data" | "lineOf">,
  { path: file, warn = () => undefined }: AgentFile,
): void {
  const { budget, ...fields } = fileHead().shape;
  const complain = (at: readonly string[], { words }: UnknownKey) => `${file}:${lineOf(at)}: ${words}`;
  for (const key of keysOf(data)) {
    if (key === "budget" || Object.hasOwn(fields, key)) continue;
    const found = unknownKey(key, [...Object.keys(fields), "budget"]);
    if (found.isLimit) throw new AppError("invalid_params", complain([key], found));
    warn(complain([key], found));
  }
  for (const server of keysOf(data, "mcp-servers")) {
    for (const key of keysOf(valueAt(data, "mcp-servers"), server)) {
      if (serverKeys().includes(key)) continue;
      const at = ["mcp-servers", server, key];
      const found = unknownKey(key, serverKeys());
      if (found.isLimit) throw new AppError("invalid_params", complain(at, found));
      warn(complain(at, found));
    }
  }
  const limits = Object.keys(budget.unwrap().shape);
  const wrong = keysOf(data, "budget").find((key) => !limits.includes(key));
  if (wrong !== undefined)
    throw new AppError("invalid_params", complain(["budget", wrong], unknownKey(wrong, limits, { isLimit: true })));
}

/** The keys of a map, or of the map under one of its keys. */
function keysOf(data: unknown, under?: string): string[] {
  if (typeof data !== "object" || data === null) return [];
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
    readOnly: false,
    source: "sdk",
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

function toBudget(budget: z.output<ReturnType<typeof fileHead>>["budget"]): Budget {
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

function commaSeparated(text: string): string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}
