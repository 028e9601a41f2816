import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("the tool list is unknown until it is built, and then has every tool with its schema", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ tools: [{ name: "shout", description: "Shouts" }] });
    expect(await client.call("session.tools.getCurrentMetadata", { sessionId })).toEqual({ tools: null });
    await client.call("session.tools.initializeAndValidate", { sessionId });
    const { tools } = await client.call("session.tools.getCurrentMetadata", { sessionId });
    expect(tools?.find(({ name }) => name === "shout")).toMatchObject({ description: "Shouts" });
    expect(tools?.find(({ name }) => name === "view")?.input_schema).toMatchObject({ type: "object" });
    const { tools: descriptors } = await client.call("session.tools.getBuiltinDescriptors", { sessionId });
    expect(descriptors.map(({ name }) => name)).toContain("task");
  });
});

test("new host tools replace the old ones of the same client and are offered at the next prompt", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send, provider }) => {
    const sessionId = await create({ tools: [{ name: "shout" }] });
    await send(sessionId, "first");
    await client.call("session.tools.set", { sessionId, tools: [{ name: "whisper" }] });
    await send(sessionId, "second");
    const names = provider.requests.at(-1)?.tools.map(({ name }) => name) ?? [];
    expect(names).toContain("whisper");
    expect(names).not.toContain("shout");
    await expect(client.call("session.tools.set", { sessionId, tools: [{ name: "view" }] })).rejects.toThrow(
      "conflicts with a built-in tool",
    );
    const { tools } = await client.call("session.tools.getCurrentMetadata", { sessionId });
    expect(tools?.map(({ name }) => name)).toContain("whisper");
  });
});

test("only a client that has joined can give a session tools", async () => {
  await inSmallWorld([], async ({ create, anotherClient }) => {
    const sessionId = await create();
    const stranger = anotherClient();
    await expect(stranger.call("session.tools.set", { sessionId, tools: [] })).rejects.toThrow("joined");
  });
});

test("a tool that is run by hand asks for permission like any call", async () => {
  await inSmallWorld([], async ({ client, create, folder }) => {
    const sessionId = await create();
    const path = join(folder, "made.txt");
    const running = client.call("session.tools.execute", {
      sessionId,
      name: "create",
      arguments: { path, file_text: "made" },
      toolCallId: "mine",
    });
    const { requestId } = await client.received("permission.requested");
    await client.call("session.permissions.handlePendingPermissionRequest", {
      sessionId,
      requestId,
      result: { kind: "approve-once" },
    });
    expect(await running).toMatchObject({ resultType: "success" });
    expect(readFileSync(path, "utf8")).toBe("made");
    expect(client.of("tool.user_requested")).toMatchObject([{ toolCallId: "mine", toolName: "create" }]);
    expect(client.of("tool.execution_complete")).toMatchObject([{ toolCallId: "mine", success: true }]);
  });
});

test("a tool that is run by hand and refused says so in its result", async () => {
  await inSmallWorld([], async ({ client, create, folder }) => {
    writeFileSync(join(folder, "a.txt"), "alpha");
    const sessionId = await create();
    const running = client.call("session.tools.execute", {
      sessionId,
      name: "view",
      arguments: { path: join(folder, "a.txt") },
    });
    const { requestId } = await client.received("permission.requested");
    const result = { kind: "reject" as const, feedback: "not now" };
    await client.call("session.permissions.handlePendingPermissionRequest", { sessionId, requestId, result });
    expect(await running).toMatchObject({ resultType: "denied", error: "not now" });
    await expect(client.call("session.tools.execute", { sessionId, name: "nope" })).rejects.toThrow(
      "Tool not found: nope",
    );
  });
});

test("settings for sub-agents disable agents and limit their depth", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send, provider }) => {
    const sessionId = await create();
    await client.call("session.tools.updateSubagentSettings", {
      sessionId,
      subagents: { disabledSubagents: ["explore"], maxDepth: 0 },
    });
    await send(sessionId, "first");
    const task = provider.requests[0]?.tools.find(({ name }) => name === "task");
    expect(task?.description).not.toContain("`explore`");
    const start = { sessionId, name: "x", prompt: "look" };
    await expect(client.call("session.tasks.startAgent", { ...start, agentType: "explore" })).rejects.toThrow(
      "Unknown agent type: explore",
    );
    await expect(client.call("session.tasks.startAgent", { ...start, agentType: "task" })).rejects.toThrow(
      "Maximum sub-agent depth of 0",
    );
  });
});

test("an agent whose prompt was replaced keeps the new prompt after other agents change", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send, provider }) => {
    const agents = [{ name: "fixer", prompt: "You fix." }];
    const sessionId = await create({ customAgents: agents });
    await client.call("session.agent.setPrompt", { sessionId, id: "fixer", prompt: "You mend." });
    await client.call("session.options.update", {
      sessionId,
      customAgents: [...agents, { name: "other", prompt: "x" }],
      agent: "fixer",
    });
    await send(sessionId, "first");
    expect(provider.requests[0]?.system).toContain("You mend.");
    await expect(client.call("session.agent.setPrompt", { sessionId, id: "nobody", prompt: "" })).rejects.toThrow(
      "not found",
    );
  });
});
