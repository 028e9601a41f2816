/**
 * A plugin: a folder with agents, skills, hooks, slash commands and MCP servers, and a `plugin.json` that says where they are.
 *
 * Nothing of it is used by being read. Every path of a manifest must lead to a place inside the folder.
 */
import { existsSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { lazy, type McpServerConfig, messageOf, visible } from "@retinue/protocol";
import * as z from "zod";
import type { PluginHooks } from "../hooks/hook-places.ts";
import { contentOf, serverOf } from "../mcp/config-files.ts";
import { isInside } from "../project/root.ts";
import { readWholeTextFile } from "../project/text-file.ts";
import { realPath } from "../real-path.ts";

export interface Plugin {
  name: string;
  version?: string;
  description?: string;
  /** Its real path. */
  root: string;
  hasManifest: boolean;
  agents: readonly string[];
  skills: readonly string[];
  /** Folders and files. */
  commands: readonly string[];
  hooks: PluginHooks;
  servers: Readonly<Record<string, McpServerConfig>>;
  problems: readonly string[];
}

const MANIFESTS = ["plugin.json", ".claude-plugin/plugin.json", ".github/plugin/plugin.json"];
/** Also the name of a folder. */
export const PLUGIN_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i;
const MAX_BYTES = 256 * 1024;
const ROOT_VARIABLE = /\$\{(?:RETINUE|CLAUDE|COPILOT)_PLUGIN_ROOT\}/g;

const paths = () => z.union([z.string(), z.array(z.string())]).optional();
const Manifest = lazy(() =>
  z.looseObject({
    name: z.string().regex(PLUGIN_NAME, "it may have letters, digits and ._- only"),
    version: z.string().max(100).optional(),
    description: z.string().max(2000).optional(),
    agents: paths(),
    skills: paths(),
    commands: paths(),
    hooks: z.union([z.string(), z.array(z.string()), z.looseObject({})]).optional(),
    mcpServers: z.union([z.string(), z.array(z.string()), z.record(z.string(), z.unknown())]).optional(),
  }),
);
type Manifest = z.output<ReturnType<typeof Manifest>>;

/** A folder without a manifest is a plugin under its own name, for whoever names folders himself. Throws for a manifest that is wrong. */
export function readPlugin(folder: string): Plugin {
  const root = realPath(resolve(folder));
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`${folder} is no folder, so there is no plugin in it`);
  const found = manifestIn(root);
  const manifest = found ?? { name: basename(root) };
  const problems: string[] = [];
  const placed = { root, problems };
  return {
    name: manifest.name,
    version: manifest.version,
    description: manifest.description,
    root,
    hasManifest: found !== undefined,
    agents: placesOf(["agents"], manifest.agents, placed),
    skills: placesOf(["skills"], manifest.skills, placed),
    commands: placesOf(["commands"], manifest.commands, placed),
    hooks: hooksOf(manifest, placed),
    servers: serversOf(manifest, placed),
    problems: problems.map((problem) => visible(`plugin ${manifest.name}: ${problem}`)),
  };
}

function manifestIn(root: string): Manifest | undefined {
  for (const name of MANIFESTS) {
    const file = join(root, name);
    const text = readWholeTextFile(file, { maxBytes: MAX_BYTES, within: root });
    if (text === undefined) continue;
    const parsed = Manifest().safeParse(jsonOf(text, file));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new Error(visible(`${file}: ${issue?.path.join(".")}: ${issue?.message}`));
  }
  return undefined;
}

function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(visible(`${file}: it is not JSON (${messageOf(error)})`), { cause: error });
  }
}

interface Placed {
  root: string;
  problems: string[];
}

/** What is always looked for, and what the manifest names besides. */
function placesOf(usual: readonly string[], named: string | readonly string[] = [], placed: Placed): string[] {
  const own = [named].flat().flatMap((path) => inside(path, placed));
  const all = [...usual.map((name) => join(placed.root, name)), ...own];
  return [...new Set(all)].filter((path) => existsSync(path));
}

function inside(path: string, { root, problems }: Placed): string[] {
  const place = resolve(root, path);
  const isOwn = (each: string) => each === root || isInside(each, root);
  if (!isOwn(place) || !isOwn(realPath(place))) {
    problems.push(`${path} leads out of it, so it is left out`);
    return [];
  }
  if (!existsSync(place)) problems.push(`there is no ${path}`);
  return [place];
}

function hooksOf(manifest: Pick<Manifest, "name" | "hooks">, placed: Placed): PluginHooks {
  const { hooks } = manifest;
  const isNamed = typeof hooks === "string" || Array.isArray(hooks);
  const files = placesOf(["hooks.json", "hooks/hooks.json"], isNamed ? hooks : [], placed);
  const inline = hooks === undefined || isNamed ? undefined : JSON.stringify("hooks" in hooks ? hooks : { hooks });
  return { name: manifest.name, root: placed.root, files: files.filter(isFile), inline };
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

function serversOf({ mcpServers }: Pick<Manifest, "mcpServers">, placed: Placed): Record<string, McpServerConfig> {
  const isNamed = typeof mcpServers === "string" || Array.isArray(mcpServers);
  const files = placesOf([".mcp.json", "mcp.json"], isNamed ? mcpServers : [], placed);
  const raw = [...files.map((file) => serversIn(file, placed)), isNamed ? {} : (mcpServers ?? {})];
  const servers: [string, McpServerConfig][] = [];
  for (const [name, value] of raw.flatMap((each) => Object.entries(each))) {
    try {
      const { config, warnings, isOff } = serverOf(name, withRoot(value, placed.root), { isDoubted: true });
      placed.problems.push(...warnings.map((warning) => `the MCP server ${name}: ${warning}`));
      if (!isOff) servers.push([name, config]);
    } catch (error) {
      placed.problems.push(`the MCP server ${name}: ${messageOf(error)}, so it is left out`);
    }
  }
  return Object.fromEntries(servers);
}

/** With `mcpServers` around them, or without. */
function serversIn(file: string, { root, problems }: Placed): Record<string, unknown> {
  try {
    const text = readWholeTextFile(file, { maxBytes: MAX_BYTES, within: root });
    if (text === undefined) return {};
    const { mcpServers, servers, ...rest } = contentOf(text);
    return mcpServers ?? servers ?? rest;
  } catch (error) {
    problems.push(messageOf(error));
    return {};
  }
}

function withRoot(value: unknown, root: string): unknown {
  if (typeof value === "string") return value.replaceAll(ROOT_VARIABLE, () => root);
  if (Array.isArray(value)) return value.map((each) => withRoot(each, root));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withRoot(each, root)]));
}
