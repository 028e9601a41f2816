/** OpenClaw: the plugin that `retinue connect` writes, in a gateway of its own. It needs Node 24, which npm has as a package. */
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CHILD_TASK, type ModelServer, PARENT_WORDS, startModelServer } from "./model-server.ts";
import { install, type Ran, type Sandbox } from "./sandbox.ts";

export const VERSION = "2026.9.6";
const NODE = "24.21.0";

export async function run(sandbox: Sandbox, packages: string): Promise<{ model: ModelServer; ran: Ran }> {
  const node = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const place = await install(
    packages,
    "openclaw",
    ["--ignore-scripts", `openclaw@${VERSION}`, `${node}@${NODE}`],
    "openclaw",
  );
  const model = await startModelServer({
    parent: [{ tool: /^sessions_spawn$/, args: { task: CHILD_TASK, label: "look" } }],
    child: [{ tool: /^session_search$/, args: { query: "secret plan pelican" } }],
  });
  const port = await freePort();
  const folder = join(sandbox.user, ".openclaw");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "openclaw.json"),
    JSON.stringify({
      ...settings({ url: model.url, port, workspace: sandbox.project }),
      logging: { file: join(sandbox.folder, "openclaw.log") },
    }),
  );
  await sandbox.retinue("connect", "openclaw", "--yes");
  await sandbox.retinue("daemon", "start");

  const modules = join(place, "node_modules");
  const env = { PATH: `${join(modules, node, "bin")}:${process.env.PATH}`, OPENCLAW_NO_RESPAWN: "1" };
  const openclaw = (args: string[], more: object = {}) =>
    sandbox.run(join(modules, node, "bin/node"), [join(modules, "openclaw/openclaw.mjs"), ...args], { env, ...more });
  const isDone = () => model.asked.filter(({ who }) => who === "child").length >= 2;
  const state = { isOver: false };
  const gateway = openclaw(["gateway", "run"], { timeoutMs: 240_000, until: () => state.isOver });
  await listening(port, 90_000);
  const asked = openclaw(["agent", "--agent", "main", "--message", PARENT_WORDS], { timeoutMs: 180_000 });
  const limit = Date.now() + 180_000;
  while (!isDone() && Date.now() < limit) await delay(200);
  await delay(500); // The end of the child comes after its last request.
  state.isOver = true;
  const [served, answered] = await Promise.all([gateway, asked]);
  return { model, ran: { code: answered.code, output: `${answered.output}\n${served.output}` } };
}

async function listening(port: number, withinMs: number): Promise<void> {
  for (const limit = Date.now() + withinMs; Date.now() < limit; await delay(250)) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect({ port, host: "127.0.0.1" }, () => resolve(true)).on("error", () => resolve(false));
      socket.unref().on("connect", () => socket.destroy());
    });
    if (isOpen) return;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const settings = ({ url, port, workspace }: { url: string; port: number; workspace: string }) => ({
  gateway: { mode: "local", port, bind: "loopback", auth: { mode: "token", token: "test-only" } },
  agents: { defaults: { workspace, skipBootstrap: true, model: { primary: "fake/fake-model" } } },
  models: {
    mode: "replace",
    providers: {
      fake: {
        baseUrl: `${url}/v1`,
        apiKey: "unused",
        api: "openai-completions",
        models: [
          {
            id: "fake-model",
            name: "Fake",
            reasoning: false,
            input: ["text"],
            contextWindow: 128_000,
            maxTokens: 4_096,
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
          },
        ],
      },
    },
  },
  tools: { profile: "full", toolSearch: false },
});
