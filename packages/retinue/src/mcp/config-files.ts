/**
 * Files that configure MCP servers: `mcp-config.json` in the home folder, `.mcp.json` and `.vscode/mcp.json` of a project.
 *
 * Each server is read for itself, so one that is wrong hides no other, and a line names the file, the server and what is wrong with it.
 * Variables stay as they are written: consent is to what the file says. variables.ts puts in their values.
 */
import { join } from "node:path";
import { lazy, McpServerConfig, messageOf, visible } from "@retinue/protocol";
import * as z from "zod";
import { didYouMean } from "../nearest.ts";
import { readWholeTextFile } from "../project/text-file.ts";
import { type ConfiguredServer, PROJECT_FILES, USER_FILE } from "./configured-servers.ts";
import { parseJsonc } from "./jsonc.ts";

export interface ServersOfFiles {
  servers: ConfiguredServer[];
  /** Names that the user has switched off, wherever the servers come from. */
  disabled: string[];
  problems: string[];
}

export interface ProjectPlace {
  /** Where the session works. */
  folder: string;
  /** The project, which its files must not leave. */
  root: string;
}

const MAX_FILE_BYTES = 256 * 1024;
const MAX_SERVERS = 50;

export function readUserServers(home: string): ServersOfFiles {
  return readServers({ path: join(home, USER_FILE), source: "user", from: USER_FILE });
}

export function readProjectServers({ folder, root }: ProjectPlace): ServersOfFiles {
  const read = PROJECT_FILES.map((name) =>
    readServers({ path: join(folder, name), source: "workspace", from: name, within: root }),
  );
  return {
    servers: read.flatMap(({ servers }) => servers),
    disabled: [], // A project switches off its own servers only.
    problems: read.flatMap(({ problems }) => problems),
  };
}

interface ServerFile extends Pick<ConfiguredServer, "source" | "from"> {
  path: string;
  within?: string;
}

function readServers(file: ServerFile): ServersOfFiles {
  try {
    const text = readWholeTextFile(file.path, { maxBytes: MAX_FILE_BYTES, within: file.within });
    if (text === undefined) return { servers: [], disabled: [], problems: [] };
    return serversIn(contentOf(text), file);
  } catch (error) {
    return { servers: [], disabled: [], problems: [visible(`${file.from}: ${messageOf(error)}`)] };
  }
}

/** Editors say `servers`, other programs `mcpServers`. What else the file has is for them. */
const ServerFileContent = lazy(() =>
  z.looseObject({
    mcpServers: z.record(z.string(), z.unknown()).optional(),
    servers: z.record(z.string(), z.unknown()).optional(),
    disabledMcpServers: z.array(z.string()).optional(),
  }),
);
export type ServerFileContent = z.output<ReturnType<typeof ServerFileContent>>;

/** Throws with words for a person. */
export function contentOf(text: string): ServerFileContent {
  const result = ServerFileContent().safeParse(parseJsonc(text));
  if (!result.success) throw new Error(`it must be an object with mcpServers (${issueOf(result.error)})`);
  return result.data;
}

function serversIn(content: ServerFileContent, file: ServerFile): ServersOfFiles {
  const found: ServersOfFiles = { servers: [], disabled: content.disabledMcpServers ?? [], problems: [] };
  const all = Object.entries({ ...content.servers, ...content.mcpServers });
  if (all.length > MAX_SERVERS)
    found.problems.push(`${file.from}: only the first ${MAX_SERVERS} of ${all.length} MCP servers are read`);
  for (const [name, value] of all.slice(0, MAX_SERVERS)) {
    const about = (problem: string) => found.problems.push(visible(`${file.from}: the MCP server ${name}: ${problem}`));
    try {
      const { config, isOff, warnings } = serverOf(name, value, { isDoubted: file.source !== "user" });
      for (const warning of warnings) about(warning);
      found.servers.push({ name, config, source: file.source, from: file.from, isOff });
    } catch (error) {
      about(`${messageOf(error)}, so it is left out`);
    }
  }
  return found;
}

interface ReadServer {
  config: McpServerConfig;
  /** The file switches it off itself. */
  isOff: boolean;
  warnings: string[];
}

/** Throws with words for a person. `isDoubted`: somebody else may have written it. */
export function serverOf(name: string, value: unknown, { isDoubted = false } = {}): ReadServer {
  if (!/^[\w.@/ :-]{1,100}$/u.test(name)) throw new Error("its name may have letters, digits and _.@/:- only");
  const raw = z.record(z.string(), z.unknown()).safeParse(value);
  if (!raw.success) throw new Error("it must be an object");
  const { disabled, ...fields } = raw.data;
  const { schema, given } = kindOf(fields);
  const result = schema.safeParse(given);
  if (!result.success) throw new Error(issueOf(result.error));
  const warnings = unknownFields(given, Object.keys(schema.shape));
  const { trustReadOnlyHint, ...config } = result.data;
  if (!isDoubted) return { config: result.data, isOff: disabled === true, warnings };
  if (trustReadOnlyHint) warnings.push("trustReadOnlyHint does not count here, so its tools are asked for");
  return { config, isOff: disabled === true, warnings };
}

function kindOf(fields: Readonly<Record<string, unknown>>) {
  if ("envFile" in fields) throw new Error(`envFile is not read; write the variables into env, as \${env:NAME}`);
  if ("command" in fields && "url" in fields) throw new Error("it has both a command and a url");
  const [Local, Remote] = McpServerConfig().options;
  if ("command" in fields) return { schema: Local, given: fields };
  if (!("url" in fields)) throw new Error("it has neither a command nor a url");
  const { type, url } = fields;
  // Variables may stand anywhere in it; what they make of it is seen when the server starts.
  if (typeof url === "string" && !url.startsWith("${") && !/^https?:\/\/./i.test(url))
    throw new Error("url: it must begin with http:// or https://");
  const isStreamable = typeof type === "string" && /^streamable[-_]?http$/i.test(type);
  return { schema: Remote, given: isStreamable ? { ...fields, type: "http" } : fields };
}

/** Fields of other programs that change nothing about what is started. */
const HARMLESS = new Set([
  "description",
  "gallery",
  "version",
  "dev",
  "alwaysAllow",
  "autoApprove",
  "metadata",
  "icon",
]);

function unknownFields(given: Readonly<Record<string, unknown>>, known: readonly string[]): string[] {
  return Object.keys(given)
    .filter((field) => !known.includes(field) && !HARMLESS.has(field))
    .map((field) => `${field} is not known and has no effect${didYouMean(field, known)}`);
}

function issueOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.join(".");
  return `${path ? `${path}: ` : ""}${issue?.message ?? "it cannot be read"}`;
}
