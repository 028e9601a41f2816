/** MCP servers that ask the model, as the protocol lets clients decide about it. */
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "./small-world.ts";

const ASKING = fileURLToPath(new URL("../../mcp/fixtures/asking-server.mjs", import.meta.url));
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const user = (content: unknown) => ({ role: "user", content });
const text = (words: string) => ({ type: "text", text: words });
const sampling = (params: object = {}) =>
  call("asking-ask", {
    method: "sampling/createMessage",
    params: { messages: [user(text("Which bird?"))], maxTokens: 50, ...params },
  });
const NEVER = [new Promise(() => undefined)];
const OWL = { role: "assistant" as const, model: "a model of the host", content: text("an owl") };

async function opened({ create, client }: SmallWorld, config: Parameters<SmallWorld["create"]>[0] = {}) {
  const asking = { command: process.execPath, args: [ASKING] };
  const sessionId = await create({ mcpServers: { asking }, ...config });
  await client.received("session.mcp_servers_loaded");
  const approved = [{ kind: "mcp", argument: "asking" }];
  await client.call("session.permissions.configure", { sessionId, rules: { approved, denied: [] } });
  return sessionId;
}

const interested = async (client: TestClient, sessionId: string) =>
  (await client.call("session.eventLog.registerInterest", { sessionId, eventType: "sampling.requested" })).handle;

const answers = ({ client }: SmallWorld) =>
  client.of("tool.execution_complete").map(({ result, error }) => result?.content ?? error?.message);

async function refusal(world: SmallWorld) {
  const sessionId = await opened(world, { requestElicitation: true });
  await world.send(sessionId, "go");
  expect(world.client.of("sampling.requested")).toEqual([]);
  return answers(world)[0];
}

describe("a client that has registered for sampling.requested", () => {
  test("gets the server's request, and what it answers is what the server gets", async () => {
    await inSmallWorld([[sampling()], [say("done")]], async (world) => {
      const { client, provider } = world;
      const sessionId = await opened(world, { requestElicitation: true });
      await interested(client, sessionId);
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId, ...asked } = await client.received("sampling.requested");
      expect(asked).toMatchObject({
        serverName: "asking",
        mcpRequestId: "ask-0",
        request: { messages: [user(text("Which bird?"))], maxTokens: 50 },
        toolCallId: expect.any(String),
      });
      const answer = { sessionId, requestId, response: OWL };
      expect(await client.call("session.ui.handlePendingSampling", answer)).toEqual({ success: true });
      expect(await client.call("session.ui.handlePendingSampling", answer)).toEqual({ success: false });
      await client.received("session.idle");
      expect(JSON.parse(String(answers(world)[0]))).toEqual(OWL);
      expect(client.of("sampling.completed")).toEqual([{ requestId }]);
      expect(client.of("elicitation.requested")).toEqual([]);
      expect(provider.requests).toHaveLength(2);
    });
  });

  test("refuses by an answer without a response, and an unreadable one leaves the request open", async () => {
    await inSmallWorld([[sampling()], [say("done")]], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      await interested(client, sessionId);
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId } = await client.received("sampling.requested");
      const answer = { sessionId, requestId };
      const odd = { role: "assistant" as const, content: [] };
      await expect(
        client.call("session.ui.handlePendingSampling", { ...answer, response: odd as never }),
      ).rejects.toThrow("model");
      expect(await client.call("session.ui.handlePendingSampling", answer)).toEqual({ success: true });
      await client.received("session.idle");
      expect(answers(world)[0]).toContain("Sampling was refused: the user did not agree.");
    });
  });

  test("may let the session's model answer, on the bill of the session", async () => {
    await inSmallWorld([[sampling({ systemPrompt: "Be brief." })], [say("a heron")], [say("done")]], async (world) => {
      const { client, provider } = world;
      const sessionId = await opened(world);
      await interested(client, sessionId);
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId, serverName, mcpRequestId, request = {} } = await client.received("sampling.requested");
      const wanted = { sessionId, requestId, serverName, mcpRequestId, request };
      const made = await client.call("session.mcp.executeSampling", wanted);
      expect(made).toMatchObject({
        action: "success",
        result: { role: "assistant", content: text("a heron"), stopReason: "endTurn" },
      });
      await client.call("session.ui.handlePendingSampling", { sessionId, requestId, response: made.result });
      await client.received("session.idle");
      expect(answers(world)[0]).toContain("a heron");
      expect(provider.requests[1]).toMatchObject({ system: "Be brief.", maxOutputTokens: 50, tools: [] });
      expect(client.of("session.usage_checkpoint")).toMatchObject([{ sampled: { model: "scripted" } }]);
    });
  });

  test("is told that the request needs no answer any more when its call is aborted, and its own run of it is stopped", async () => {
    await inSmallWorld([[sampling()], NEVER], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      await interested(client, sessionId);
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId, serverName, mcpRequestId, request = {} } = await client.received("sampling.requested");
      const running = client.call("session.mcp.executeSampling", {
        sessionId,
        requestId: "mine",
        serverName,
        mcpRequestId,
        request,
      });
      await client.call("session.abort", { sessionId });
      await client.received("session.idle");
      expect(client.of("sampling.completed")).toEqual([{ requestId }]);
      expect(await running).toEqual({ action: "cancelled" });
      const late = { sessionId, requestId, response: OWL };
      expect(await client.call("session.ui.handlePendingSampling", late)).toEqual({ success: false });
    });
  });

  test("that is gone leaves the request to a client which can only fill in forms", async () => {
    await inSmallWorld([[sampling()], [say("a heron")], [say("done")]], async (world) => {
      const { client, folder } = world;
      const sessionId = await opened(world, { requestElicitation: true });
      const other = world.anotherClient();
      await other.call("session.resume", { sessionId, workingDirectory: folder });
      await interested(other, sessionId);
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId, message } = await client.received("elicitation.requested");
      expect(message).toContain("user: Which bird?");
      expect(await other.received("sampling.requested")).toMatchObject({ requestId });
      expect(other.of("elicitation.requested")).toEqual([]);
      other.close();
      await other.ended;
      const result = { action: "accept" as const, content: { allow: "once" } };
      const answered = await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      expect(answered).toEqual({ success: true });
      await client.received("session.idle");
      expect(answers(world)[0]).toContain("a heron");
      expect(client.of("elicitation.completed")).toEqual([{ requestId }]);
    });
  });

  test("gets a request that was made before it had registered", async () => {
    await inSmallWorld([[sampling()], [say("done")]], async (world) => {
      const { client, folder } = world;
      const sessionId = await opened(world, { requestElicitation: true });
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId } = await client.received("elicitation.requested");
      const other = world.anotherClient();
      await other.call("session.resume", { sessionId, workingDirectory: folder });
      await interested(other, sessionId);
      expect(await other.received("sampling.requested")).toMatchObject({ requestId, isRepeat: true });
      await other.call("session.ui.handlePendingSampling", { sessionId, requestId, response: OWL });
      await client.received("session.idle");
      expect(JSON.parse(String(answers(world)[0]))).toEqual(OWL);
    });
  });

  test("and takes that back is not waited for", async () => {
    await inSmallWorld([[sampling()], [say("done")]], async (world) => {
      const { client, send } = world;
      const sessionId = await opened(world);
      const handle = await interested(client, sessionId);
      await client.call("session.eventLog.releaseInterest", { sessionId, handle });
      await send(sessionId, "go");
      expect(answers(world)[0]).toContain("Sampling was refused: the user did not agree.");
    });
  });
});

describe("a request of a server to the model", () => {
  test.each([{ allow: "no" }, { allow: "never" }, {}])("is refused by a form that says %j", async (content) => {
    await inSmallWorld([[sampling()], [say("done")]], async (world) => {
      const { client } = world;
      const sessionId = await opened(world, { requestElicitation: true });
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId } = await client.received("elicitation.requested");
      const result = { action: "accept" as const, content };
      await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      await client.received("session.idle");
      expect(answers(world)[0]).toContain("Sampling was refused: the user did not agree.");
    });
  });

  test.each([
    [
      "images for a model that cannot see",
      { messages: [user({ type: "image", data: PNG, mimeType: "image/png" })] },
      "cannot see",
    ],
    ["sound", { messages: [user({ type: "audio", data: PNG, mimeType: "audio/wav" })] }, "audio cannot be sent"],
    [
      "what only calls itself an image",
      { messages: [user({ type: "image", data: "bm8=", mimeType: "image/png" })] },
      "neither PNG",
    ],
    ["no messages", { messages: [] }, "it has no messages"],
    ["an answer without a length", { maxTokens: 0 }, "maxTokens is 0"],
  ])("with %s is refused in words, and nobody is asked", async (_, params, words) => {
    await inSmallWorld([[sampling(params)], [say("done")]], async (world) => {
      expect(await refusal(world)).toContain(words);
      expect(world.provider.requests).toHaveLength(2);
    });
  });

  test("that a client makes for it is refused by a rule that denies the server, and by what cannot be read", async () => {
    await inSmallWorld([], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const wanted = { sessionId, requestId: "r", serverName: "asking", mcpRequestId: 1 };
      const odd = { ...wanted, request: { messages: "none" } };
      expect(await client.call("session.mcp.executeSampling", odd)).toMatchObject({ action: "failure" });
      const denied = [{ kind: "mcp", argument: "asking" }];
      await client.call("session.permissions.configure", { sessionId, rules: { approved: [], denied } });
      const request = { messages: [user(text("hi"))], maxTokens: 5 };
      expect(await client.call("session.mcp.executeSampling", { ...wanted, request })).toEqual({
        action: "failure",
        error: "Sampling was refused: a rule of the session denies this server.",
      });
    });
  });

  test("that a client makes can be cancelled once, and has an id of its own", async () => {
    await inSmallWorld([NEVER], async (world) => {
      const { client } = world;
      const sessionId = await opened(world);
      const request = { messages: [user(text("hi"))], maxTokens: 5 };
      const wanted = { sessionId, requestId: "r", serverName: "asking", mcpRequestId: 1, request };
      const cancel = () => client.call("session.mcp.cancelSamplingExecution", { sessionId, requestId: "r" });
      expect(await cancel()).toEqual({ cancelled: false });
      const running = client.call("session.mcp.executeSampling", wanted);
      await expect(client.call("session.mcp.executeSampling", wanted)).rejects.toThrow("is running already");
      expect(await cancel()).toEqual({ cancelled: true });
      expect(await running).toEqual({ action: "cancelled" });
      expect(await cancel()).toEqual({ cancelled: false });
    });
  });
});
