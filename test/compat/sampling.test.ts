/** A host program of the official SDK that decides about what MCP servers ask the model. */
import { fileURLToPath } from "node:url";
import type { CopilotSession } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

const ASKING = fileURLToPath(new URL("../../packages/retinue/src/mcp/fixtures/asking-server.mjs", import.meta.url));
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PICTURE = [
  { type: "text", text: "What is this?" },
  { type: "image", data: PNG, mimeType: "image/png" },
];
const question = (content: unknown) =>
  call("asking-ask", {
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content }], maxTokens: 20 },
  });
const config = {
  mcpServers: { asking: { command: process.execPath, args: [ASKING], tools: ["*"] } },
  modelCapabilities: { supports: { vision: true } },
};

let world: World;
beforeAll(async () => {
  world = await startClient({ env: { RETINUE_MCP_WAIT_MS: "3600000" } });
});
afterAll(() => world[Symbol.asyncDispose]());

/** Answers every sampling with the session's own model. */
async function letModelAnswer(session: CopilotSession): Promise<void> {
  await session.rpc.eventLog.registerInterest({ eventType: "sampling.requested" });
  session.on("sampling.requested", async ({ data }) => {
    const { requestId, serverName, mcpRequestId } = data;
    const request = "request" in data && typeof data.request === "object" ? { ...data.request } : {};
    const { result } = await session.rpc.mcp.executeSampling({ requestId, serverName, mcpRequestId, request });
    await session.rpc.ui.handlePendingSampling({ requestId, response: result });
  });
}

test("a program of the official SDK lets the session's model answer a server, which gets the pictures too", async () => {
  await using talk = await openTalk(world, config);
  await letModelAnswer(talk.session);
  talk.model.script(question(PICTURE), say("a dot"), say("done"));
  expect(await talk.ask("Ask it.")).toBe("done");
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("a dot");
  expect(JSON.stringify(talk.model.requests[1]?.messages)).toContain("data:image/png;base64,");
  const { requestId } = talk.record.one("sampling.requested").data;
  expect(talk.record.one("sampling.completed").data).toEqual({ requestId });
  expect(talk.record.one("sampling.requested")).toMatchObject({ ephemeral: true });
});

test("a program of the official SDK that only takes forms decides by one", async () => {
  const asked: string[] = [];
  await using talk = await openTalk(world, {
    ...config,
    onElicitationRequest: ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { allow: "session" } };
    },
  });
  talk.model.script(question(PICTURE), say("a dot"), question(PICTURE), say("a spot"), say("done"));
  expect(await talk.ask("Ask it twice.")).toBe("done");
  expect(talk.model.lastRequest.texts("tool").map((text) => JSON.parse(text).content.text)).toEqual([
    "a dot",
    "a spot",
  ]);
  expect(asked).toEqual([expect.stringContaining("user: What is this?⏎[image: image/png, 70 bytes]")]);
});
