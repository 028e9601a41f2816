/** The checks of the doctor, one function each. None throws: a failure is what it reports. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "@retinue/protocol";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import { foreignName, NUMBERS } from "../host/config.ts";
import { configWarnings, readModelsConfig } from "../models/config.ts";
import { type Source, sources } from "../models/sources.ts";
import { headersFor, urlFor } from "../models/wire/endpoint.ts";
import { guard } from "../models/wire/guard.ts";
import { readText, send } from "../models/wire/http.ts";
import { nearest } from "../nearest.ts";
import { howToRenewNode } from "../processes/own-program.ts";
import { childEnvironment } from "../secrets/environment.ts";
import { redact } from "../secrets/redact.ts";
import { runningServers } from "../server/running-servers.ts";
import { homeTrouble, makePrivateFolder } from "../store/private-files.ts";
import { openSqlite } from "../store/sqlite/store.ts";

export interface Check {
  name: string;
  status: "ok" | "warning" | "problem";
  text: string;
  /** What to do about it. */
  advice?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

const ok = (name: string, text: string): Check => ({ name, status: "ok", text });
const warning = (name: string, text: string, advice: string): Check => ({ name, status: "warning", text, advice });
const problem = (name: string, text: string, advice: string): Check => ({ name, status: "problem", text, advice });

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  const isSupported = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
  if (!isSupported) return problem("node", `${version} is not supported`, howToRenewNode());
  if (major === 20) return warning("node", `${version} works, but Node 20 is past its end of life`, howToRenewNode());
  return ok("node", version);
}

/** Tries to write: permissions alone do not show a full disk or a read-only mount. */
export function checkHome(home: string): Check {
  try {
    makePrivateFolder(home);
    rmSync(mkdtempSync(join(home, ".doctor-")), { recursive: true });
    return ok("home", `${home} can be written`);
  } catch (error) {
    return problem(
      "home",
      `${home} cannot be used: ${messageOf(error)}`,
      "Set RETINUE_HOME to a folder that can be written.",
    );
  }
}

/** Looked at before anything opens the home: a runtime that starts closes what it can. */
export function checkPrivacy(home: string): Check {
  const trouble = homeTrouble(home);
  return trouble
    ? warning("privacy", trouble.what, trouble.cure)
    : ok("privacy", "only you can read what is kept in the home folder");
}

export async function checkStore(home: string): Promise<Check> {
  const path = join(home, "retinue.db");
  if (!existsSync(path)) return ok("store", "none yet; the first session makes it");
  try {
    const store = openSqlite({ path });
    const { length: count } = await store.sessions.list();
    await store.close();
    const bytes = [path, `${path}-wal`].reduce(
      (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
    return ok("store", `${path}, ${sizeWords(bytes)}, ${count} ${count === 1 ? "session" : "sessions"}`);
  } catch (error) {
    return problem(
      "store",
      `${path} cannot be opened: ${messageOf(error)}`,
      "Move the file away to start afresh, or set RETINUE_HOME to another folder.",
    );
  }
}

export function checkConfig(home: string): Check {
  const file = join(home, "config.json");
  try {
    const { providers, model } = readModelsConfig(home);
    const [unread] = configWarnings(home);
    if (unread !== undefined) return warning("config", unread, "Remove it, unless another program reads it.");
    if (!existsSync(file)) return ok("config", `no ${file}; it is not needed`);
    const names = providers.map(({ name }) => name).join(", ") || "no providers";
    return ok("config", `${file}: ${names}${model ? `, model ${model}` : ""}`);
  } catch (error) {
    return problem("config", messageOf(error), "Correct the file, or move it away.");
  }
}

/** Agents of the user. Those of a project are looked at when a session opens there. */
export function checkAgents(home: string): Check[] {
  const { problems } = new AgentCatalog({ folders: agentFolders({ home, enableConfigDiscovery: true }) });
  return [
    ...problems.errors.map((text) => problem("agents", `an agent is left out: ${text}`, "Correct the file.")),
    ...problems.warnings.map((text) => warning("agents", text, "Correct the file.")),
  ];
}

export async function checkRipgrep(): Promise<Check> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    const { stdout } = await promisify(execFile)(rgPath, ["--version"], { timeout: 5000, env: childEnvironment() });
    return ok("ripgrep", stdout.split("\n")[0] ?? "runs");
  } catch (error) {
    return problem(
      "ripgrep",
      `does not run: ${messageOf(error)}`,
      "Install the packages again (npm ci): the program comes with @vscode/ripgrep.",
    );
  }
}

const CONFIGURE =
  "Run retinue init, or set OPENAI_API_KEY or ANTHROPIC_API_KEY, or RETINUE_PROVIDER_URL with RETINUE_MODEL.";
const PATIENCE_MS = 5000;

export async function checkProvider({
  env,
  home,
  provider,
}: {
  env: Env;
  home?: string;
  provider?: string;
}): Promise<Check> {
  try {
    const config = home === undefined ? { providers: [] } : readModelsConfig(home);
    const all = sources({ env, config, provider });
    const [first] = all;
    if (!first) return warning("provider", "none is configured; the offline model answers by fixed rules", CONFIGURE);
    return await ask(first);
  } catch (error) {
    return problem("provider", messageOf(error), CONFIGURE);
  }
}

async function ask(source: Source): Promise<Check> {
  const { defaultModel, models } = source;
  const { endpoint, clean } = guard(source.endpoint);
  const where = `${endpoint.id} at ${redact(endpoint.baseUrl)}`;
  const model = defaultModel ?? models[0]?.id;
  const which = model ? `, default model ${model}` : "";
  if (endpoint.type === "azure")
    return ok("provider", `${where}${which}; not asked, since Azure does not list deployments`);
  const from = performance.now();
  try {
    const answer = await send({
      method: "GET",
      url: urlFor(endpoint, "/models", ""),
      headers: await headersFor(endpoint),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (answer.headers["content-type"]?.includes("html"))
      return problem("provider", `${where} answers with a web page`, "Check the address: many end in /v1.");
    const count = countModels(await readText(answer));
    const ms = Math.round(performance.now() - from);
    const listed =
      count === undefined ? "a list of models that cannot be read" : `${count} ${count === 1 ? "model" : "models"}`;
    if (!model)
      return warning(
        "provider",
        `${where} answers in ${ms} ms with ${listed}, and no model is chosen`,
        "Set RETINUE_MODEL, or give --model.",
      );
    return ok("provider", `${where} answers in ${ms} ms with ${listed}${which}`);
  } catch (error) {
    const why =
      error instanceof DOMException && error.name === "TimeoutError"
        ? `no answer within ${PATIENCE_MS / 1000} s`
        : messageOf(clean(error));
    return problem("provider", `${where}: ${why}`, "Check the address and the key, and that the service runs.");
  }
}

function countModels(text: string): number | undefined {
  try {
    const { data }: { data?: unknown } = JSON.parse(text);
    return Array.isArray(data) ? data.length : undefined;
  } catch {
    return undefined; // Some gateways have no list; it is enough that they answer.
  }
}

/** What the environment sets, and whether it makes sense. */
export function checkLimits(env: Env): Check[] {
  return Object.entries(NUMBERS).map(([own, { least, most, otherwise }]) => {
    const name = [own, foreignName(own)].find((each) => env[each]?.trim()) ?? own;
    const value = env[name]?.trim();
    if (!value) return ok("limit", `${name} is not set: ${otherwise}`);
    const number = Number(value);
    const isMeant = Number.isInteger(number) && number >= least && number <= most;
    if (isMeant) return ok("limit", `${name} is ${number}`);
    const advice = `Set a whole number from ${least} to ${most}.`;
    if (name === own) return problem("limit", `${name} is "${value}", so nothing starts`, advice);
    return warning("limit", `${name} is "${value}"`, advice);
  });
}

/** A misspelt name of a variable would have no effect, and nobody would know. */
export function checkVariables(env: Env): Check[] {
  const unknown = Object.keys(env).filter((name) => name.startsWith("RETINUE_") && !VARIABLES.includes(name));
  return unknown.map((name) => {
    const meant = nearest(name, VARIABLES);
    const advice = meant === undefined ? "docs/cli.md lists the variables that are read." : `Did you mean ${meant}?`;
    return warning("variable", `${name} is read by nobody`, advice);
  });
}

const VARIABLES: readonly string[] = (
  "RETINUE_HOME RETINUE_PROVIDER_URL RETINUE_API_KEY RETINUE_MODEL RETINUE_HOOKS_ON_ERROR RETINUE_UNATTENDED RETINUE_SESSION_ID " +
  "RETINUE_SESSION_KEY RETINUE_STARTED_BY RETINUE_CGROUPS RETINUE_LOG_LEVEL RETINUE_DAEMON RETINUE_PATH RETINUE_CODEX " +
  "RETINUE_RETRY_WAIT_MS RETINUE_SUBCONSCIOUS RETINUE_CONSOLIDATION RETINUE_PARENT_SESSION"
)
  .split(" ")
  .concat(Object.keys(NUMBERS));

/** Servers of other homes, and runtimes on stdio, are not seen. */
export function checkServers(home: string): Check[] {
  const servers = runningServers(home);
  if (servers.length === 0) return [ok("server", "none listens on a TCP port")];
  return servers.map(({ pid, host, port, needsToken }) => {
    const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    if (needsToken) return ok("server", `${where} asks for a token (process ${pid})`);
    return warning(
      "server",
      `${where} asks for no token: every program of this machine can use it (process ${pid})`,
      "Start it without --no-token; a program that starts it with --headless sets COPILOT_CONNECTION_TOKEN.",
    );
  });
}

function sizeWords(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
