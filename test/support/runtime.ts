/**
 * A runtime under test, driven by the official SDK, in a small world of its own: a fresh home folder, a fresh working
 * folder, and a model on loopback. Disposing it ends every process and removes every folder.
 *
 * `RETINUE_COMPAT_RUNTIME=/path` runs the same tests on another runtime that speaks the protocol.
 */
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { CopilotClient, type CopilotClientOptions, RuntimeConnection } from "@github/copilot-sdk";
import { type Endpoint, type ModelServer, startModelServer } from "./model-server.ts";

const other = process.env.RETINUE_COMPAT_RUNTIME;

/** False when the suite runs on another runtime; guards what only ours promises. */
export const ours = other === undefined;

export const runtimePath = other ?? fileURLToPath(new URL("../../bin/retinue.js", import.meta.url));

export interface Folders extends AsyncDisposable {
  readonly home: string;
  readonly folder: string;
  /** Where the runtime puts its own temporary files. */
  readonly temporary: string;
}

export async function freshFolders(): Promise<Folders> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), "retinue-test-")));
  const folders = { home: path.join(root, "home"), folder: path.join(root, "work"), temporary: path.join(root, "tmp") };
  await Promise.all(Object.values(folders).map((folder) => mkdir(folder)));
  return {
    ...folders,
    // A runtime that was just killed may still be writing its last lines.
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true, maxRetries: 10 }),
  };
}

/** The environment of the test without keys or settings that would make a runtime talk to somebody else. */
export function cleanEnv(extra: Record<string, string> = {}): Record<string, string> {
  const foreign = /^(COPILOT_|RETINUE_|GITHUB_|GH_|OPENAI_|ANTHROPIC_|AZURE_|NODE_OPTIONS|VITEST)/;
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return { ...Object.fromEntries(own.map(([name, value]) => [name, value ?? ""])), ...extra };
}

export interface StartOptions {
  runtime?: string;
  transport?: "stdio" | "tcp";
  connectionToken?: string;
  env?: Record<string, string>;
  /** Use the folders of another world, for a second process on the same home. */
  folders?: Folders;
  model?: ModelServer;
  client?: Partial<CopilotClientOptions>;
}

export interface World extends AsyncDisposable {
  readonly client: CopilotClient;
  readonly model: ModelServer;
  readonly home: string;
  readonly folder: string;
  readonly folders: Folders;
  /** Kills the runtime as a crash would. */
  kill(): Promise<void>;
}

export async function startClient(options: StartOptions = {}): Promise<World> {
  const folders = options.folders ?? (await freshFolders());
  const model = options.model ?? (await startModelServer());
  const client = new CopilotClient({
    connection: connectionOf(options),
    env: cleanEnv({ TMPDIR: folders.temporary, ...options.env }),
    baseDirectory: folders.home,
    workingDirectory: folders.folder,
    useLoggedInUser: false,
    logLevel: "error",
    ...options.client,
  });
  const dispose = async () => {
    await end(client);
    if (!options.model) await model[Symbol.asyncDispose]();
    if (!options.folders) await folders[Symbol.asyncDispose]();
  };
  try {
    await client.start();
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    client,
    model,
    home: folders.home,
    folder: folders.folder,
    folders,
    kill: () => client.forceStop(),
    [Symbol.asyncDispose]: dispose,
  };
}

function connectionOf({ runtime = runtimePath, transport = "stdio", connectionToken }: StartOptions) {
  if (transport === "stdio") return RuntimeConnection.forStdio({ path: runtime });
  return RuntimeConnection.forTcp({ path: runtime, ...(connectionToken ? { connectionToken } : {}) });
}

async function end(client: CopilotClient): Promise<void> {
  const errors = await client.stop();
  if (errors.length > 0) await client.forceStop();
}

/** Session options that point at this endpoint. */
export function byok(endpoint: Endpoint) {
  return { model: "scripted", provider: { type: "openai" as const, baseUrl: endpoint.url, apiKey: "test-key" } };
}
