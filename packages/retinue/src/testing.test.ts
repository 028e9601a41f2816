/** The test kit, used as a program outside this repository would use it. */
import { existsSync, readdirSync } from "node:fs";
import { type AgentTree, approveAll, childrenOf, defineTool, mainNode, walk } from "@retinue/sdk";
import { call, say, scripted, startInMemory, when } from "retinue/testing";
import { describe, expect, test } from "vitest";
import * as z from "zod";

test("a child session is reachable from the session that started it", async () => {
  const provider = scripted([
    [call("task", { agent_type: "explore", name: "look", description: "look around", prompt: "look" })],
    [say("found")],
    [say("done")],
  ]);
  await using app = await startInMemory({ provider });
  const session = await app.client.createSession();
  const answer = await session.sendAndWait("delegate this");
  expect(answer?.data.content).toBe("done");

  const tree = session.tree();
  const [child] = childrenOf(tree, mainNode(tree));
  expect(child).toMatchObject({ name: "explore", status: "completed", latest: "found" });
  expect(app.client.resolveSession(child?.childSessionId ?? "")).toMatchObject({
    isChild: true,
    session: { sessionId: session.sessionId },
  });
  provider.assertSpent();
});

test("a host tool runs in the test's own process, and its answer is in the next request", async () => {
  const provider = scripted([[call("look_up", { number: 17 })], [say("It is shipped.")]]);
  await using app = await startInMemory({ provider });
  const lookUp = defineTool("look_up", {
    description: "Finds an order",
    parameters: z.object({ number: z.number() }),
    handler: ({ number }) => `${number} is shipped`,
  });
  const session = await app.client.createSession({ tools: [lookUp], onPermissionRequest: approveAll });
  await session.sendAndWait("Where is 17?");
  expect(provider.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", text: "17 is shipped" });
});

test("sessions work in a folder of their own, and nothing is left when the world ends", async () => {
  const provider = scripted([[call("create", { path: "note.txt", file_text: "hello" })], [say("written")]]);
  const app = await startInMemory({ provider });
  const session = await app.client.createSession({ onPermissionRequest: approveAll });
  await session.sendAndWait("Write a note.");
  expect(readdirSync(app.workingDirectory)).toEqual(["note.txt"]);
  await app[Symbol.asyncDispose]();
  expect(existsSync(app.workingDirectory)).toBe(false);
  expect(app.client.state).toBe("disconnected");
});

test("a second client joins the session of the first", async () => {
  const provider = scripted([[say("hello both")]]);
  await using app = await startInMemory({ provider });
  const session = await app.client.createSession();
  const other = await app.connect().resumeSession(session.sessionId);
  const heard: string[] = [];
  other.on("assistant.message", ({ data }) => heard.push(data.content));
  await session.sendAndWait("Hello");
  await expect.poll(() => heard).toEqual(["hello both"]);
});

test("a resumed session has the tree that it had: names, counts, ends, usage", async () => {
  const task = (name: string) =>
    call("task", { agent_type: "explore", name, description: name, prompt: `look at ${name}` });
  const provider = scripted([
    [task("one")],
    [call("glob", { pattern: "*" })],
    [say("nothing here")],
    [task("two")],
    new Error("the model broke"),
    [say("done")],
  ]);
  await using app = await startInMemory({ provider });
  const session = await app.client.createSession();
  await session.sendAndWait("delegate this");
  const shape = (tree: AgentTree) =>
    walk(tree).map(({ name, displayName, status, path, mode, usage, latest, model }) => {
      return { name, displayName, status, path, mode, usage, latest, model };
    });
  const before = shape(session.tree());
  expect(before.map(({ status }) => status)).toEqual(["idle", "completed", "failed"]);
  const joined = await app.connect().resumeSession(session.sessionId);
  expect(shape(joined.tree())).toEqual(before);
  await joined.disconnect();
  await session.destroy();
  const resumed = await app.client.resumeSession(session.sessionId);
  expect(shape(resumed.tree())).toEqual(before);
  const named = await app.connect().createSession({ sessionId: session.sessionId });
  expect(shape(named.tree())).toEqual(before);
});

test("an answer that fits a schema is asked of the endpoint and of the model, and sent back until it does", async () => {
  const provider = scripted([[say("Berlin, I think.")], [say('{"city":"Berlin"}')]]);
  await using app = await startInMemory({ provider });
  const session = await app.client.createSession();
  const schema = z.object({ city: z.string() });
  expect(await session.ask("The capital?", { schema })).toEqual({ city: "Berlin" });
  expect(provider.requests).toMatchObject([
    { responseFormat: { type: "json_schema", jsonSchema: { schema: { required: ["city"] } } } },
    { responseFormat: { type: "json_schema" } },
  ]);
});

test("a stream of parts ends with the answer, and one that is left stops the run", async () => {
  const provider = scripted([
    [call("task", { agent_type: "explore", name: "look", description: "look", prompt: "look" })],
    [call("glob", { pattern: "*" })],
    [say("found")],
    [say("all done")],
    [call("glob", { pattern: "*" })],
    [new Promise<never>(() => undefined)],
  ]);
  await using app = await startInMemory({ provider });
  const session = await app.client.createSession({ streaming: true });
  const types: string[] = [];
  for await (const part of session.stream("delegate this")) {
    types.push(part.type);
    if (part.type === "end") expect(part.text).toBe("all done");
  }
  expect(new Set(types)).toEqual(new Set(["tool-start", "agent-start", "tool-end", "agent-end", "text", "end"]));
  for await (const part of session.stream("look yourself")) if (part.type === "tool-end") break;
  await session.waitForIdle();
  expect((await session.getEvents()).map(({ type }) => type)).toContain("abort");
});

test("limits of the runtime are options", async () => {
  const provider = scripted([
    [call("task", { agent_type: "explore", name: "a", description: "d", prompt: "p" })],
    [say("nobody was sent")],
  ]);
  await using app = await startInMemory({ provider, config: { maxDepth: 0 } });
  const session = await app.client.createSession();
  await session.sendAndWait("delegate this");
  expect(childrenOf(session.tree(), mainNode(session.tree()))).toMatchObject([
    { status: "failed", error: expect.stringContaining("Maximum sub-agent depth of 0 reached"), calls: [] },
  ]);
});

describe("a session with an endless query", () => {
  const ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
  const endless = call("sql", { description: "count", query: ENDLESS });

  test("goes on when the query is stopped by its limit", async () => {
    const provider = scripted([[endless], [call("sql", { query: "SELECT 6 * 7 AS n" })], [say("42")]]);
    await using app = await startInMemory({ provider, config: { sqlLimitMs: 3000 } });
    const session = await app.client.createSession();
    const answer = await session.sendAndWait("Count to infinity.");
    expect(answer?.data.content).toBe("42");
    const results = provider.requests.map(({ messages }) => messages.at(-1));
    expect(results[1]).toMatchObject({ failed: true, text: expect.stringContaining("stopped after 3 seconds") });
    expect(results[2]).toMatchObject({ text: expect.stringContaining("| 42 |") });
  });

  test("can be aborted, and does not hold up another session", async () => {
    const provider = scripted([when("Count", [endless]), when("Hello", [say("hello")]), when("Again", [say("here")])]);
    await using app = await startInMemory({ provider });
    const [stuck, other] = [await app.client.createSession(), await app.client.createSession()];
    const started = new Promise((resolve) => stuck.on("tool.execution_start", resolve));
    await stuck.send("Count to infinity.");
    await started;
    expect((await other.sendAndWait("Hello"))?.data.content).toBe("hello");
    await stuck.abort();
    await stuck.waitForIdle();
    expect((await stuck.sendAndWait("Again"))?.data.content).toBe("here");
  });
});
