/**
 * `retinue/testing`: test your agents as we test ours. The runtime and the client are the real ones, linked in memory; only the
 * model is written down, turn by turn.
 *
 * Owns what such a world needs and takes all of it away again: a temp folder for state and work, the store in memory, the links.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkedTransports } from "@retinue/protocol";
import { RetinueClient, type RetinueClientOptions, RuntimeConnection, type SessionConfig } from "@retinue/sdk";
import { type RuntimeConfig, runtimeConfig } from "./host/config.ts";
import { oneProvider } from "./models/one-provider.ts";
import type { Provider } from "./models/provider.ts";
import { serveConnection } from "./server/connection.ts";
import { Runtime } from "./server/runtime.ts";

export type { ModelRequest, Part, Provider } from "./models/provider.ts";
export { call, type ScriptedProvider, type Step, say, scripted, type Turn, think, when } from "./models/scripted.ts";

export interface InMemoryOptions {
  /** Answers every request, whatever model a session names: `scripted(…)`, or a provider of your own. */
  provider: Provider;
  /** In place of the runtime's defaults. */
  config?: Partial<Omit<RuntimeConfig, "home" | "tempFolder">>;
  client?: InMemoryClientOptions;
}

export type InMemoryClientOptions = Omit<RetinueClientOptions, "connection" | "reconnect">;

export interface InMemory extends AsyncDisposable {
  readonly client: RetinueClient;
  /** Where sessions work that name no other folder: empty, and gone in the end. */
  readonly workingDirectory: string;
  readonly runtime: Runtime;
  /** Another client of the same runtime. */
  connect(options?: InMemoryClientOptions): RetinueClient;
}

export async function startInMemory({ provider, config, client }: InMemoryOptions): Promise<InMemory> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "retinue-testing-")));
  const home = join(folder, "home");
  const tempFolder = join(folder, "temp");
  const workingDirectory = join(folder, "work");
  for (const each of [tempFolder, workingDirectory]) mkdirSync(each);
  const runtime = new Runtime({
    config: { ...runtimeConfig({}), ...config, home, tempFolder },
    catalog: oneProvider(provider),
    storePath: ":memory:",
  });
  const links: Link[] = [];
  const connect = (options: InMemoryClientOptions = {}) => {
    const link = open(runtime, { options, workingDirectory });
    links.push(link);
    return link.client;
  };
  return {
    client: connect(client),
    workingDirectory,
    runtime,
    connect,
    async [Symbol.asyncDispose]() {
      await Promise.all(links.map((link) => link.close()));
      await runtime.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Link {
  client: RetinueClient;
  close(): Promise<void>;
}

function open(
  runtime: Runtime,
  { options, workingDirectory }: { options: InMemoryClientOptions; workingDirectory: string },
): Link {
  const [near, far] = linkedTransports();
  const served = serveConnection(far, { version: runtime.config.version, load: async () => runtime });
  const connection = RuntimeConnection.forTransport(() => near);
  const client = new InMemoryClient({ ...options, connection, reconnect: false }, workingDirectory);
  return {
    client,
    async close() {
      await client.stop();
      near.close();
      await served;
    },
  };
}

/** An agent under test must not work in the folder of its test unless it is told to. */
class InMemoryClient extends RetinueClient {
  readonly #workingDirectory: string;

  constructor(options: RetinueClientOptions, workingDirectory: string) {
    super(options);
    this.#workingDirectory = workingDirectory;
  }

  override createSession(config: SessionConfig = {}) {
    return super.createSession({ workingDirectory: this.#workingDirectory, ...config });
  }
}
