/** Managing sessions: listed, named, configured, counted and deleted. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { EventRecord, openTalk, resumeTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

test("a session keeps the id that its client chose", async () => {
  await using talk = await openTalk(world, { sessionId: "my-own_id-1" });
  expect(talk.session.sessionId).toBe("my-own_id-1");
  const { data } = await talk.record.until("session.start");
  expect(data).toMatchObject({ sessionId: "my-own_id-1", selectedModel: "scripted" });
});

test("a folder that does not exist and an agent without a name are refused in words", async () => {
  const gone = path.join(world.folder, "gone");
  await expect(openTalk(world, { workingDirectory: gone })).rejects.toThrow(`workingDirectory does not exist: ${gone}`);
  const customAgents = [{ name: "", description: "reads", prompt: "You read." }];
  await expect(openTalk(world, { customAgents })).rejects.toThrow("customAgents[0] (reads) has no name");
});

test("the folder of a session is named after it, below the home folder", async () => {
  await using talk = await openTalk(world);
  await talk.ask("hi");
  expect(talk.session.workspacePath).toBe(path.join(world.home, "session-state", talk.session.sessionId));
  expect(existsSync(talk.session.workspacePath ?? "")).toBe(true);
});

test("a list shows sessions with their folder, name and times, and can be filtered by folder", async () => {
  await using talk = await openTalk(world, { clientName: "the-suite" });
  await talk.ask("a prompt that becomes the title");
  const { sessionId } = talk.session;
  const listed = (await world.client.listSessions()).find((session) => session.sessionId === sessionId);
  expect(listed).toMatchObject({ summary: "a prompt that becomes the title", isRemote: false });
  expect(listed?.context?.workingDirectory).toBe(world.folder);
  expect(listed?.startTime).toBeInstanceOf(Date);
  expect(listed?.modifiedTime.getTime()).toBeGreaterThanOrEqual(listed?.startTime.getTime() ?? Number.NaN);
  const here = await world.client.listSessions({ workingDirectory: world.folder });
  expect(here.map((session) => session.sessionId)).toContain(sessionId);
  expect(await world.client.listSessions({ workingDirectory: "/nowhere" })).toEqual([]);
});

test("metadata of one session and the id of the last one can be asked for", async () => {
  await using talk = await openTalk(world);
  await talk.ask("metadata please");
  const { sessionId } = talk.session;
  expect(await world.client.getSessionMetadata(sessionId)).toMatchObject({ sessionId, summary: "metadata please" });
  expect(await world.client.getSessionMetadata("unknown")).toBeUndefined();
  expect(await world.client.getLastSessionId()).toBe(sessionId);
});

test("a deleted session is gone from the list, the disk and from resume", async () => {
  const talk = await openTalk(world);
  await talk.ask("hi");
  const { sessionId, workspacePath } = talk.session;
  await talk.session.disconnect();
  await world.client.deleteSession(sessionId);
  expect((await world.client.listSessions()).map((session) => session.sessionId)).not.toContain(sessionId);
  expect(existsSync(workspacePath ?? "")).toBe(false);
  await expect(resumeTalk(world, sessionId)).rejects.toThrow(/Session not found/);
  await expect(world.client.deleteSession(sessionId)).rejects.toThrow(/Session file not found/);
});

test("lifecycle notifications tell of created, updated and deleted sessions", async () => {
  const seen: string[] = [];
  const stop = world.client.onLifecycle(({ type, sessionId }) => seen.push(`${type} ${sessionId}`));
  const talk = await openTalk(world, { sessionId: "lifecycle-1" });
  await talk.ask("hi");
  await talk.session.disconnect();
  await world.client.deleteSession("lifecycle-1");
  await expect.poll(() => seen).toContain("session.deleted lifecycle-1");
  stop();
  expect(seen).toContain("session.created lifecycle-1");
  expect(seen).toContain("session.updated lifecycle-1");
});

test("creating an id that is open already gives the same session", async () => {
  await using talk = await openTalk(world, { sessionId: "twice" });
  await talk.ask("hi");
  const again = await openTalk(world, { sessionId: "twice" });
  const said = (await again.session.getEvents()).filter(({ type }) => type === "assistant.message");
  expect(said).toHaveLength(1);
});

test("a session is named by its first prompt until somebody names it", async () => {
  await using talk = await openTalk(world);
  const { name } = talk.session.rpc;
  await talk.ask("the first words");
  expect(talk.record.one("session.title_changed").data.title).toBe("the first words");
  expect(await name.get()).toEqual({ name: "the first words" });
  await name.set({ name: "A Better Name" });
  expect(await name.get()).toEqual({ name: "A Better Name" });
  const listed = await world.client.getSessionMetadata(talk.session.sessionId);
  expect(listed?.summary).toBe("A Better Name");
});

test("the mode can be read and set, and the change is an event", async () => {
  await using talk = await openTalk(world);
  const { mode } = talk.session.rpc;
  expect(await mode.get()).toBe("interactive");
  await mode.set({ mode: "plan" });
  expect(await mode.get()).toBe("plan");
  const { data } = await talk.record.until("session.mode_changed");
  expect(data).toMatchObject({ previousMode: "interactive", newMode: "plan" });
  await expect(mode.set({ mode: "zzz" as "plan" })).rejects.toThrow(/interactive.*plan.*autopilot/);
});

test("a prompt in plan mode is marked for the model", async () => {
  await using talk = await openTalk(world);
  await talk.session.rpc.mode.set({ mode: "plan" });
  await talk.ask("build a bridge");
  expect(talk.model.lastRequest.lastText).toContain("[[PLAN]] build a bridge");
  expect(talk.record.one("session.idle").data.mode).toBe("plan");
});

test("the plan is a file of the session", async () => {
  await using talk = await openTalk(world);
  const { plan } = talk.session.rpc;
  const file = path.join(talk.session.workspacePath ?? "", "plan.md");
  expect(await plan.read()).toMatchObject({ exists: false, content: null, path: file });
  await plan.update({ content: "# Plan\n1. x\n" });
  expect(await plan.read()).toMatchObject({ exists: true, content: "# Plan\n1. x\n", path: file });
  expect(await readFile(file, "utf8")).toBe("# Plan\n1. x\n");
  await plan.delete();
  expect(await plan.read()).toMatchObject({ exists: false });
  await talk.record.count("session.plan_changed", 2);
  const operations = talk.record.all("session.plan_changed").map(({ data }) => data.operation);
  expect(operations).toEqual(["create", "delete"]);
});

test("files of the session folder can be written, listed and read", async () => {
  await using talk = await openTalk(world);
  const { workspaces } = talk.session.rpc;
  expect(await workspaces.listFiles()).toEqual({ files: [] });
  await workspaces.createFile({ path: "notes/a.txt", content: "kept" });
  expect((await workspaces.listFiles()).files).toEqual(["notes/a.txt"]);
  expect(await workspaces.readFile({ path: "notes/a.txt" })).toEqual({ content: "kept" });
  await expect(workspaces.readFile({ path: "../../outside" })).rejects.toThrow();
  const { workspace } = await workspaces.getWorkspace();
  expect(workspace).toMatchObject({ id: talk.session.sessionId, cwd: world.folder });
});

test("usage metrics add up the requests and tokens of the session", async () => {
  await using talk = await openTalk(world);
  talk.model.script(
    say("one", { usage: { prompt: 100, completion: 10 } }),
    say("two", { usage: { prompt: 200, completion: 20 } }),
  );
  await talk.ask("one");
  await talk.ask("two");
  const metrics = await talk.session.rpc.usage.getMetrics();
  expect(metrics.modelMetrics.scripted).toMatchObject({
    requests: { count: 2 },
    usage: { inputTokens: 300, outputTokens: 30 },
  });
});

test("usage counts the lines that the tools changed", async () => {
  await using talk = await openTalk(world);
  const file = path.join(world.folder, "counted.txt");
  talk.model.script(call("create", { path: file, file_text: "one\ntwo\n" }), say("done"));
  await talk.ask("write");
  const { codeChanges } = await talk.session.rpc.usage.getMetrics();
  expect(codeChanges.filesModified).toEqual([file]);
  expect(codeChanges.linesAdded).toBeGreaterThan(0);
});

test("the model can be switched and the next request names the new one", async () => {
  await using talk = await openTalk(world);
  await talk.ask("hi");
  expect(await talk.session.rpc.model.getCurrent()).toMatchObject({ modelId: "scripted" });
  await talk.session.setModel("another-model");
  const { data } = await talk.record.until("session.model_change");
  expect(data).toMatchObject({ previousModel: "scripted", newModel: "another-model" });
  await talk.ask("hi again");
  expect(talk.model.lastRequest.body.model).toBe("another-model");
  expect(talk.model.lastRequest.texts("assistant")).toEqual(["ok"]);
});

test("a log line of the host is an event of its level", async () => {
  await using talk = await openTalk(world);
  await talk.session.log("for information");
  await talk.session.log("careful", { level: "warning" });
  await talk.session.log("only now", { ephemeral: true });
  expect((await talk.record.until("session.warning")).data.message).toBe("careful");
  const stored = await talk.session.getEvents();
  const messages = stored.flatMap((event) => ("message" in event.data ? [event.data.message] : []));
  expect(messages).toEqual(expect.arrayContaining(["for information", "careful"]));
  expect(messages).not.toContain("only now");
});

test("the event log can be read in pages from a cursor", async () => {
  await using talk = await openTalk(world);
  await talk.ask("one");
  const { eventLog } = talk.session.rpc;
  const stored = (await talk.session.getEvents()).map(({ id }) => id);
  const page = (cursor?: string) => eventLog.read({ max: 3, includeEphemeral: false, ...(cursor ? { cursor } : {}) });
  const first = await page();
  const second = await page(first.cursor);
  expect([...first.events, ...second.events].map(({ id }) => id)).toEqual(stored.slice(0, 6));
  const { cursor } = await eventLog.tail();
  expect((await eventLog.read({ cursor })).events).toEqual([]);
  await talk.ask("two");
  expect((await eventLog.read({ cursor })).events.map(({ type }) => type)).toContain("user.message");
});

test("a snapshot of the metadata names session, folder, mode and model", async () => {
  await using talk = await openTalk(world);
  expect(await talk.session.rpc.metadata.snapshot()).toMatchObject({
    sessionId: talk.session.sessionId,
    workingDirectory: world.folder,
    currentMode: "interactive",
    selectedModel: "scripted",
    isRemote: false,
  });
});

test("the tools of the session can be listed once it has run", async () => {
  await using talk = await openTalk(world);
  await talk.ask("hi");
  const { tools } = await talk.session.rpc.tools.getCurrentMetadata();
  expect(tools?.map(({ name }) => name)).toEqual(expect.arrayContaining(["view", "grep", "bash"]));
  expect((tools ?? []).map(({ name }) => name).sort()).toEqual([...talk.model.lastRequest.toolNames].sort());
});

test("the built-in tools can be listed without a session", async () => {
  const { tools } = await world.client.rpc.tools.list({});
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["bash", "view", "create", "edit", "grep", "glob", "web_fetch"]));
});

test("a fork has the events of its origin and a life of its own", async () => {
  await using talk = await openTalk(world);
  await talk.ask("the common past");
  const { sessionId } = await world.client.rpc.sessions.fork({ sessionId: talk.session.sessionId });
  expect(sessionId).not.toBe(talk.session.sessionId);
  await using fork = await resumeTalk(world, sessionId);
  await fork.ask("the other future");
  expect(fork.model.lastRequest.texts("user")[0]).toContain("the common past");
  expect((await talk.session.getEvents()).filter(({ type }) => type === "user.message")).toHaveLength(1);
});

test("a disconnect by the last client closes the session in order", async () => {
  const record = new EventRecord();
  const talk = await openTalk(world, { onEvent: record.push });
  await talk.session.sendAndWait("hi");
  await talk.session.disconnect();
  const events = await world.client.rpc.sessions.readPersistedEvents({ sessionId: talk.session.sessionId });
  expect(events.events.at(-1)).toMatchObject({ type: "session.shutdown", data: { shutdownType: "routine" } });
});
