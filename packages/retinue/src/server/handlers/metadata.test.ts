import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("calls on a session that is not open fail with the message that clients expect", async () => {
  await inSmallWorld([], async ({ client }) => {
    for (const method of [
      "session.metadata.snapshot",
      "session.mode.get",
      "session.queue.pendingItems",
      "session.mcp.list",
      "session.usage.getMetrics",
    ] as const) {
      await expect(client.call(method, { sessionId: "nope" })).rejects.toThrow("Session not found for sessionId: nope");
    }
  });
});

test("the snapshot has the folder and the state of the session", async () => {
  await inSmallWorld([], async ({ client, create, folder }) => {
    const sessionId = await create({ model: "small", clientName: "probe" });
    const snapshot = await client.call("session.metadata.snapshot", { sessionId });
    expect(snapshot).toMatchObject({
      sessionId,
      isRemote: false,
      workingDirectory: folder,
      currentMode: "interactive",
      selectedModel: "small",
      clientName: "probe",
      sessionLimits: null,
      workspace: { id: sessionId },
    });
  });
});

test("notes of clients survive closing the session and are deleted with it", async () => {
  await inSmallWorld([], async ({ client, create, runtime }) => {
    const sessionId = await create();
    await client.call("session.metadata.updateClientMetadata", { sessionId, set: { a: "1", b: "2" } });
    expect(
      await client.call("session.metadata.updateClientMetadata", { sessionId, remove: ["a"], set: { c: "3" } }),
    ).toEqual({ b: "2", c: "3" });
    await client.call("session.detach", { sessionId });
    await client.call("session.resume", { sessionId });
    expect(await client.call("session.metadata.getClientMetadata", { sessionId })).toEqual({ b: "2", c: "3" });
    expect(await client.call("session.metadata.updateClientMetadata", { sessionId, clear: true })).toEqual({});
    await client.call("session.delete", { sessionId });
    expect(await runtime.sessions.store.documents.get("client-metadata", sessionId)).toBeUndefined();
  });
});

test("a session that moves to another folder works there from then on, and after a resume", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send, folder, provider }) => {
    const sessionId = await create();
    const other = join(folder, "other");
    mkdirSync(other);
    expect(await client.call("session.metadata.setWorkingDirectory", { sessionId, workingDirectory: "other" })).toEqual(
      { workingDirectory: other },
    );
    expect(client.of("session.context_changed")).toMatchObject([{ cwd: other }]);
    await send(sessionId, "first");
    expect(provider.requests[0]?.system).toContain(other);
    expect((await client.call("session.permissions.paths.list", { sessionId })).primary).toBe(other);
    const { session } = await client.call("session.getMetadata", { sessionId });
    expect(session?.context?.cwd).toBe(other);
    await expect(
      client.call("session.metadata.setWorkingDirectory", { sessionId, workingDirectory: "nowhere" }),
    ).rejects.toThrow("Directory not found");
  });
});

test("the context is empty before the first prompt, and then adds up", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send }) => {
    const sessionId = await create();
    expect(await client.call("session.metadata.contextInfo", { sessionId })).toEqual({ contextInfo: null });
    expect(await client.call("session.metadata.getContextAttribution", { sessionId })).toEqual({
      contextAttribution: null,
    });
    await send(sessionId, "a prompt of some length");
    const { contextInfo } = await client.call("session.metadata.contextInfo", {
      sessionId,
      promptTokenLimit: 128_000,
      outputTokenLimit: 4000,
    });
    expect(contextInfo).toMatchObject({
      promptTokenLimit: 128_000,
      compactionThreshold: 102_400,
      limit: 132_000,
      bufferTokens: 10_400,
    });
    const { systemTokens = 0, conversationTokens = 0, toolDefinitionsTokens = 0 } = contextInfo ?? {};
    expect(contextInfo?.totalTokens).toBe(systemTokens + conversationTokens + toolDefinitionsTokens);
    const { contextAttribution } = await client.call("session.metadata.getContextAttribution", { sessionId });
    const { freeSpace = 0, buffer = 0, ...filled } = contextAttribution?.categories ?? {};
    expect(Object.values(filled).reduce((sum, tokens) => sum + tokens, 0)).toBe(contextAttribution?.totalTokens);
    expect((contextAttribution?.totalTokens ?? 0) + freeSpace + buffer).toBe(contextAttribution?.limit);
    const heavy = await client.call("session.metadata.getContextHeaviestMessages", { sessionId, limit: 1 });
    expect(heavy.messages).toMatchObject([{ role: "user" }]);
    expect(heavy.totalTokens).toBe(conversationTokens);
    const recomputed = await client.call("session.metadata.recomputeContextTokens", { sessionId, modelId: "any" });
    expect(recomputed).toEqual({
      totalTokens: contextInfo?.totalTokens,
      messagesTokenCount: conversationTokens,
      systemTokenCount: systemTokens,
    });
  });
});
