/** Sessions that are resumed: in a new process, for another client, and with work that was still open. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, calls, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { startServer } from "../support/server.ts";
import { openTalk, resumeTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const declared = { name: "probe", description: "Probes.", parameters: { type: "object" }, skipPermission: true };

/** The other runtime sends an event before it has stored it; ours stores it first. */
async function written(of: World, sessionId: string, text: string): Promise<void> {
  if (ours) return;
  const file = path.join(of.home, "session-state", sessionId, "events.jsonl");
  await expect.poll(() => readFile(file, "utf8").catch(() => "")).toContain(text);
}

/** One more process on the same home and model. */
const nextProcess = (of: World) => startClient({ folders: of.folders, model: of.model });

test("a session goes on in a new process with the whole conversation", async () => {
  await using first = await startClient();
  const talk = await openTalk(first, { tools: [{ ...declared, handler: () => "probed" }] });
  talk.model.script(call("probe", {}, "call-1"), say("noted"));
  await talk.ask("remember the number 7");
  const before = await talk.session.getEvents();
  await first.client.stop();
  await using second = await nextProcess(first);
  await using resumed = await resumeTalk(second, talk.session.sessionId, {}, talk.model);
  await resumed.ask("which number?");
  const { messages } = talk.model.lastRequest;
  expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
  expect(talk.model.lastRequest.texts("user")[0]).toContain("remember the number 7");
  const after = await resumed.session.getEvents();
  const common = after.slice(0, before.length).map(({ id }) => id);
  expect(common).toEqual(before.map(({ id }) => id));
  expect(after.map(({ type }) => type)).toContain("session.resume");
});

test("the chain of events goes on over the restart", async () => {
  await using first = await startClient();
  const talk = await openTalk(first);
  await talk.ask("one");
  await first.client.stop();
  await using second = await nextProcess(first);
  await using resumed = await resumeTalk(second, talk.session.sessionId);
  await resumed.ask("two");
  const events = await resumed.session.getEvents();
  for (const [at, event] of events.entries()) expect(event.parentId).toBe(events[at - 1]?.id ?? null);
});

test("session.resume is told unless it is suppressed", async () => {
  await using talk = await openTalk(world);
  await talk.ask("hi");
  await talk.session.disconnect();
  const loud = await resumeTalk(world, talk.session.sessionId);
  expect((await loud.record.until("session.resume")).data).toMatchObject({ eventCount: expect.any(Number) });
  await loud.session.disconnect();
  const quiet = await resumeTalk(world, talk.session.sessionId, { suppressResumeEvent: true });
  await quiet.ask("hi again");
  expect(quiet.record.all("session.resume")).toEqual([]);
  await quiet.session.disconnect();
});

test("an unknown id cannot be resumed", async () => {
  await expect(world.client.resumeSession("no-such-session", {})).rejects.toThrow(/Session not found: no-such-session/);
});

test("tools, handlers and the model are those of the resume, not of the creation", async () => {
  await using talk = await openTalk(world, { tools: [{ ...declared, handler: () => "old" }] });
  await talk.ask("hi");
  await talk.session.disconnect();
  const fresh = { ...declared, name: "other", handler: () => "new" };
  await using resumed = await resumeTalk(world, talk.session.sessionId, { tools: [fresh], model: "another" });
  resumed.model.script(call("other"), say("done"));
  expect(await resumed.ask("use it")).toBe("done");
  expect(resumed.model.lastRequest.body.model).toBe("another");
  expect(resumed.model.lastRequest.toolNames).toContain("other");
  expect(resumed.model.lastRequest.toolNames).not.toContain("probe");
});

test("after a detach the session is closed until it is resumed", async () => {
  const talk = await openTalk(world);
  await talk.ask("hi");
  await talk.session.disconnect();
  await expect(talk.session.rpc.mode.get()).rejects.toThrow(/Session not found for sessionId/);
  await using resumed = await resumeTalk(world, talk.session.sessionId);
  expect(await resumed.ask("hi")).toBe("ok");
});

test("a session that was killed in the middle of a turn can be resumed and asked again", async () => {
  await using first = await startClient();
  const talk = await openTalk(first, { tools: [declared] });
  talk.model.script(calls([{ name: "probe", id: "never-answered" }]), say("recovered"));
  await talk.session.send({ prompt: "probe" });
  await talk.record.until("external_tool.requested");
  await first.kill();
  await using second = await nextProcess(first);
  await using resumed = await resumeTalk(second, talk.session.sessionId, { tools: [declared] }, talk.model);
  expect(await resumed.ask("what happened?")).toBe("recovered");
  const { messages } = talk.model.lastRequest;
  const asked = messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id);
  const answered = messages.map(({ tool_call_id }) => tool_call_id);
  expect(asked.filter((id) => !answered.includes(id))).toEqual([]);
});

test("an open host tool can be answered after a restart, under its old id, and the run goes on", async () => {
  await using first = await startClient();
  const talk = await openTalk(first, { tools: [declared] });
  talk.model.script(call("probe", {}, "open-call"), say("went on"));
  await talk.session.send({ prompt: "probe" });
  const { requestId } = (await talk.record.until("external_tool.requested")).data;
  await written(first, talk.session.sessionId, requestId);
  await first.kill();
  await using second = await nextProcess(first);
  const config = { tools: [declared], continuePendingWork: true };
  await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
  const answer = { requestId, result: "answered after the crash" };
  expect(await resumed.session.rpc.tools.handlePendingToolCall(answer)).toEqual({ success: true });
  await resumed.record.until("session.idle");
  expect(talk.model.lastRequest.texts("tool")).toEqual(["answered after the crash"]);
  expect(resumed.record.one("assistant.message").data.content).toBe("went on");
});

test("an open permission ask can be answered after a restart, under its old id", async () => {
  await using first = await startClient();
  const onPermissionRequest = () => ({ kind: "no-result" as const });
  const talk = await openTalk(first, { onPermissionRequest });
  talk.model.script(call("bash", { command: "echo granted", description: "x" }), say("went on"));
  await talk.session.send({ prompt: "try" });
  const { requestId } = (await talk.record.until("permission.requested")).data;
  await written(first, talk.session.sessionId, requestId);
  await first.kill();
  await using second = await nextProcess(first);
  const config = { onPermissionRequest, continuePendingWork: true };
  await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
  const { permissions } = resumed.session.rpc;
  expect((await permissions.pendingRequests()).items.map((item) => item.requestId)).toEqual([requestId]);
  const answer = { requestId, result: { kind: "approve-once" as const } };
  expect(await permissions.handlePendingPermissionRequest(answer)).toMatchObject({ success: true });
  await resumed.record.until("session.idle");
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("granted");
});

test("without continuePendingWork an old request is settled, and nothing runs until the next prompt", async () => {
  await using first = await startClient();
  const talk = await openTalk(first, { tools: [declared] });
  talk.model.script(call("probe", {}, "open-call"), say("fresh"));
  await talk.session.send({ prompt: "probe" });
  const { requestId } = (await talk.record.until("external_tool.requested")).data;
  await written(first, talk.session.sessionId, requestId);
  await first.kill();
  await using second = await nextProcess(first);
  const config = { tools: [declared], continuePendingWork: false };
  await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
  const late = await resumed.session.rpc.tools.handlePendingToolCall({ requestId, result: "late" });
  expect(late).toEqual({ success: false });
  expect(talk.model.requests).toHaveLength(1);
  expect(await resumed.ask("and now?")).toBe("fresh");
});

test("a second client joins an open session and both are told of it", async () => {
  await using server = await startServer();
  const [one, two] = [await server.join(), await server.join()];
  const talk = await openTalk(one);
  await talk.ask("hi");
  const other = await resumeTalk(two, talk.session.sessionId, {}, talk.model);
  await Promise.all([talk.record.until("session.resume"), other.record.until("session.resume")]);
  await other.ask("from the second");
  await talk.record.count("session.idle", 2);
  expect(talk.record.all("user.message").map(({ data }) => data.content)).toEqual(["hi", "from the second"]);
});

test("a host tool of one client serves a prompt of the other", async () => {
  await using server = await startServer();
  const [one, two] = [await server.join(), await server.join()];
  const talk = await openTalk(one, { tools: [{ ...declared, handler: () => "from the first client" }] });
  const other = await resumeTalk(two, talk.session.sessionId, {}, talk.model);
  talk.model.script(call("probe"), say("done"));
  await other.ask("use it");
  expect(talk.model.lastRequest.texts("tool")).toEqual(["from the first client"]);
});
