/** A runtime on a TCP port with any number of official clients, each in its own world but on the same home and model. */
import { CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { startModelServer } from "./model-server.ts";
import type { World } from "./runtime.ts";
import { spawnTcp } from "./wire.ts";

export interface Server extends AsyncDisposable {
  readonly port: number;
  /** Connects one more client. */
  join(): Promise<World>;
}

export async function startServer({ env }: { env?: Record<string, string> } = {}): Promise<Server> {
  const [runtime, model] = await Promise.all([spawnTcp({ env }), startModelServer()]);
  const { folders, port } = runtime;
  const worlds: World[] = [];
  return {
    port,
    async join() {
      const client = new CopilotClient({ connection: RuntimeConnection.forUri(`127.0.0.1:${port}`) });
      await client.start();
      const stop = async () => void (await client.stop());
      const kill = async () => void runtime.process.kill("SIGKILL");
      const { home, folder } = folders;
      const world: World = { client, model, home, folder, folders, kill, [Symbol.asyncDispose]: stop };
      worlds.push(world);
      return world;
    },
    async [Symbol.asyncDispose]() {
      for (const world of worlds) await world[Symbol.asyncDispose]();
      await runtime[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}
