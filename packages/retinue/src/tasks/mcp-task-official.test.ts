/** The task tool of the official everything server, which uses the tasks of the official library, over both of its transports. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import type { McpServerConfig } from "@retinue/protocol";
import { expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { allowAll, startedId, theTask } from "./test-mcp-tasks.ts";
import { lifeOf, main, send } from "./test-tasks.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));

interface Everything extends AsyncDisposable {
  config: McpServerConfig;
}

const overStdio = async (): Promise<Everything> => ({
  config: { command: process.execPath, args: [PROGRAM, "stdio"], tools: ["*"] },
  [Symbol.asyncDispose]: async () => undefined,
});

async function overHttp(): Promise<Everything> {
  const port = await unusedPort();
  const child = spawn(process.execPath, [PROGRAM, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  for (let said = ""; !said.includes("listening"); ) said += String((await once(child.stderr, "data"))[0]);
  child.stderr.resume();
  return {
    config: { type: "http", url: `http://127.0.0.1:${port}/mcp`, tools: ["*"] },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

test.each([
  ["stdio", overStdio],
  ["streamable HTTP", overHttp],
])("over %s its task runs to the end, with its question answered", async (_, open) => {
  await using everything = await open();
  const turns = [
    main(call("all-simulate-research-query", { topic: "python", ambiguous: true })),
    main(say("waiting")),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async (world) => {
    const { client, create } = world;
    const sessionId = await create({ mcpServers: { all: everything.config }, requestElicitation: true });
    await allowAll(client, sessionId);
    await send(world, sessionId);
    const id = await startedId(client);
    const { requestId, agentId } = await client.received("elicitation.requested");
    expect(agentId).toBe(id);
    await client.call("session.ui.handlePendingElicitation", {
      sessionId,
      requestId,
      result: { action: "accept", content: { interpretation: "technical" } },
    });
    await client.received("session.idle");
    expect(await theTask({ client, sessionId, id })).toMatchObject({
      status: "completed",
      result: expect.stringContaining("python"),
    });
    expect(lifeOf(client, id)).toEqual(["started", "completed"]);
  });
});
