import { expect, test } from "vitest";
import { say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("switching the model is an event and applies to the next turn", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async ({ client, create, send, provider }) => {
    const sessionId = await create({ model: "small" });
    await send(sessionId, "first");
    const result = await client.call("session.model.switchTo", {
      sessionId,
      modelId: "large",
      reasoningEffort: "high",
    });
    expect(result).toMatchObject({
      status: "applied",
      deferred: false,
      modelId: "large",
      message: "Model changed from small to large",
    });
    expect(client.of("session.model_change")).toMatchObject([
      { newModel: "large", previousModel: "small", reasoningEffort: "high", source: "sdk" },
    ]);
    expect(await client.call("session.model.getCurrent", { sessionId })).toEqual({
      modelId: "large",
      reasoningEffort: "high",
    });
    await send(sessionId, "second");
    expect(provider.requests.map(({ model }) => model)).toEqual(["small", "large"]);
  });
});

test("a model is refused only where the session has a list, and the list is named", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ model: "here/small" });
    await client.call("session.provider.add", {
      sessionId,
      providers: [{ name: "here", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k" }],
      models: [{ id: "small", provider: "here" }],
    });
    await expect(client.call("session.model.switchTo", { sessionId, modelId: "huge" })).rejects.toThrow(
      "Unknown model: huge. Valid models are: small",
    );
    await client.call("session.model.switchTo", { sessionId, modelId: "here/small" });
    const endpoint = await client.call("session.provider.getEndpoint", { sessionId });
    expect(endpoint).toEqual({
      type: "openai",
      wireApi: "completions",
      baseUrl: "http://127.0.0.1:9/v1",
      apiKey: "k",
      headers: {},
    });
    const { list } = await client.call("session.model.list", { sessionId });
    expect(list).toMatchObject([{ id: "here/small", name: "small" }]);
  });
});

test("a model that is no longer allowed is replaced by the first that is, and cannot be chosen again", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ model: "free" });
    const limited = await client.call("session.model.setAllowedModels", { sessionId, allowedModels: ["a", "b"] });
    expect(limited).toEqual({
      allowedModels: ["a", "b"],
      effectiveAllowedModels: ["a", "b"],
      fallbackModel: "a",
      modelId: "a",
    });
    await expect(client.call("session.model.switchTo", { sessionId, modelId: "free" })).rejects.toThrow(
      "Unknown model: free",
    );
    await expect(
      client.call("session.tasks.startAgent", {
        sessionId,
        agentType: "explore",
        name: "x",
        prompt: "look",
        model: "free",
      }),
    ).rejects.toThrow("Unknown model: free");
    await client.call("session.model.setAllowedModels", { sessionId });
    await client.call("session.model.switchTo", { sessionId, modelId: "free" });
    expect(await client.call("session.model.setReasoningEffort", { sessionId, reasoningEffort: "low" })).toEqual({
      reasoningEffort: "low",
    });
    expect(await client.call("session.model.getCurrent", { sessionId })).toEqual({
      modelId: "free",
      reasoningEffort: "low",
    });
  });
});

test("a generated title does not replace a name that a person gave", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send }) => {
    const sessionId = await create();
    expect(await client.call("session.name.get", { sessionId })).toEqual({ name: null });
    await client.call("session.name.set", { sessionId, name: " My Name " });
    await send(sessionId, "a prompt that would be a title");
    expect(await client.call("session.name.setAuto", { sessionId, summary: "other" })).toEqual({ applied: false });
    expect(await client.call("session.name.get", { sessionId })).toEqual({ name: "My Name" });
    const { session } = await client.call("session.getMetadata", { sessionId });
    expect(session).toMatchObject({ name: "My Name", summary: "My Name" });
    await client.call("session.detach", { sessionId });
    await client.call("session.resume", { sessionId });
    await client.call("session.log", { sessionId, message: "still here" });
    expect(await client.call("session.name.get", { sessionId })).toEqual({ name: "My Name" });
  });
});

test("the first prompt names a session that nobody named", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send }) => {
    const sessionId = await create();
    await send(sessionId, "fix the lock\nplease");
    expect(await client.call("session.name.get", { sessionId })).toEqual({ name: "fix the lock" });
    expect(await client.call("session.name.setAuto", { sessionId, summary: "Lock repair" })).toEqual({ applied: true });
    expect(await client.call("session.name.get", { sessionId })).toEqual({ name: "Lock repair" });
  });
});

test("usage has prompts, models and the last call", async () => {
  const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 5, cacheWriteTokens: 0, reasoningTokens: 0 };
  await inSmallWorld([[say("one"), { type: "end", reason: "stop", usage }]], async ({ client, create, send }) => {
    const sessionId = await create({ model: "small" });
    await send(sessionId, "first");
    const metrics = await client.call("session.usage.getMetrics", { sessionId });
    expect(metrics).toMatchObject({
      totalUserRequests: 1,
      lastCallInputTokens: 100,
      lastCallOutputTokens: 20,
      currentModel: "small",
    });
    expect(metrics.modelMetrics.small).toMatchObject({ requests: { count: 1 }, usage });
  });
});

test("updated options apply from then on, and the others stay", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send, provider }) => {
    const sessionId = await create({ model: "small", customAgents: [{ name: "fixer", prompt: "You fix." }] });
    const updated = await client.call("session.options.update", {
      sessionId,
      model: "large",
      agent: "fixer",
      excludedTools: ["bash"],
      tools: [{ name: "shout", description: "Shouts" }],
    });
    expect(updated).toMatchObject({ success: true });
    await send(sessionId, "first");
    const [request] = provider.requests;
    expect(request?.model).toBe("large");
    expect(request?.system).toContain("You fix.");
    const names = request?.tools.map(({ name }) => name) ?? [];
    expect(names).toContain("shout");
    expect(names).not.toContain("bash");
    await expect(client.call("session.options.update", { sessionId, agent: "nobody" })).rejects.toThrow(
      "Custom agent 'nobody' not found",
    );
    await expect(client.call("session.options.update", { sessionId, tools: [{ name: "no good" }] })).rejects.toThrow(
      "invalid tool name",
    );
  });
});
