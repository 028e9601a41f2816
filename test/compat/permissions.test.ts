/** Permission asks: what is asked for each kind, what each decision does, and who may answer. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { PermissionRequest, PermissionRequestResult, SessionConfig } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, calls, say } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { startServer } from "../support/server.ts";
import { openTalk, resumeTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
  await writeFile(path.join(world.folder, "notes.txt"), "alpha\nbeta\n");
});
afterAll(() => world[Symbol.asyncDispose]());

const BASH = call("bash", { command: "echo granted", description: "Say it" }, "call-1");
const tool = {
  name: "probe",
  description: "Probes.",
  parameters: { type: "object" },
  handler: () => "probed",
};

/** A session whose handler gives these decisions and remembers what it was asked. */
async function guarded(
  decide: (request: PermissionRequest) => PermissionRequestResult,
  config: Partial<SessionConfig> = {},
) {
  const asked: PermissionRequest[] = [];
  const talk = await openTalk(world, {
    onPermissionRequest: (request) => {
      asked.push(request);
      return decide(request);
    },
    ...config,
  });
  return Object.assign(talk, { asked });
}

const approve = (): PermissionRequestResult => ({ kind: "approve-once" });
const ended = (talk: Talk) => talk.record.all("tool.execution_complete").map(({ data }) => data);

test.each([
  [
    "bash",
    { command: "echo hi", description: "Say hi" },
    { kind: "shell", fullCommandText: "echo hi", intention: "Say hi" },
  ],
  ["create", { path: "new.txt", file_text: "x" }, { kind: "write", fileName: expect.stringContaining("new.txt") }],
  [
    "edit",
    { path: "notes.txt", old_str: "beta", new_str: "gamma" },
    { kind: "write", diff: expect.stringContaining("gamma") },
  ],
  ["view", { path: "notes.txt" }, { kind: "read", path: expect.stringContaining("notes.txt") }],
  ["grep", { pattern: "alpha" }, { kind: "read" }],
  ["glob", { pattern: "*.txt" }, { kind: "read" }],
  ["web_fetch", { url: "https://example.invalid/x" }, { kind: "url", url: "https://example.invalid/x" }],
  ["probe", { a: 1 }, { kind: "custom-tool", toolName: "probe", toolDescription: "Probes.", args: { a: 1 } }],
])("%s asks for its own kind of permission", async (name, args, expected) => {
  await using talk = await guarded(() => ({ kind: "reject", feedback: "only looking" }), { tools: [tool] });
  const full = "path" in args ? { ...args, path: path.join(world.folder, args.path) } : args;
  talk.model.script(call(name, full, "call-1"), say("done"));
  await talk.ask("try");
  expect(talk.asked).toHaveLength(1);
  expect(talk.asked[0]).toMatchObject({ ...expected, toolCallId: "call-1" });
  expect(talk.record.one("permission.requested").data.promptRequest).toMatchObject({ toolCallId: "call-1" });
});

test("approve-once runs the call and asks again for the next one", async () => {
  await using talk = await guarded(approve);
  talk.model.script(BASH, say("one"), BASH, say("two"));
  await talk.ask("first");
  await talk.ask("second");
  expect(talk.asked).toHaveLength(2);
  expect(ended(talk).map(({ success }) => success)).toEqual([true, true]);
  expect(talk.record.one("permission.completed").data.result).toMatchObject({ kind: "approved" });
});

test("an ask and its answer share the request id and the id of the call", async () => {
  await using talk = await guarded(approve);
  talk.model.script(BASH, say("done"));
  await talk.ask("try");
  const { requestId, permissionRequest } = talk.record.one("permission.requested").data;
  expect(permissionRequest).toMatchObject({ toolCallId: "call-1" });
  expect(talk.record.one("permission.completed").data).toMatchObject({ requestId, toolCallId: "call-1" });
});

test("a rejection with feedback is told to the model and the run goes on", async () => {
  await using talk = await guarded(() => ({ kind: "reject", feedback: "use the other door" }));
  talk.model.script(BASH, say("I see"));
  expect(await talk.ask("try")).toBe("I see");
  expect(ended(talk)[0]).toMatchObject({ success: false, error: { code: "denied" } });
  expect(talk.record.one("permission.completed").data.result).toMatchObject({
    kind: "denied-interactively-by-user",
    feedback: "use the other door",
  });
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("use the other door");
});

test("a rejection without feedback ends the turn without asking the model again", async () => {
  await using talk = await guarded(() => ({ kind: "reject" }));
  talk.model.script(BASH, say("never said"));
  await talk.ask("try");
  expect(ended(talk)[0]).toMatchObject({ success: false, error: { code: "rejected" } });
  expect(talk.model.requests).toHaveLength(1);
});

test("user-not-available denies the call and the run goes on", async () => {
  await using talk = await guarded(() => ({ kind: "user-not-available" }));
  talk.model.script(BASH, say("later then"));
  expect(await talk.ask("try")).toBe("later then");
  expect(ended(talk)[0]).toMatchObject({ success: false, error: { code: "denied" } });
  expect(talk.record.one("permission.completed").data.result).toMatchObject({
    kind: "denied-no-approval-rule-and-could-not-request-from-user",
  });
});

test("a handler that throws denies the call and the run goes on", async () => {
  await using talk = await guarded(() => {
    throw new Error("no decision today");
  });
  talk.model.script(BASH, say("went on"));
  expect(await talk.ask("try")).toBe("went on");
  expect(ended(talk)[0]).toMatchObject({ success: false, error: { code: "denied" } });
});

test("a denied write leaves no file behind", async () => {
  const file = path.join(world.folder, "denied.txt");
  await using talk = await guarded(() => ({ kind: "reject", feedback: "no" }));
  talk.model.script(call("create", { path: file, file_text: "x" }), say("ok"));
  await talk.ask("write");
  expect(existsSync(file)).toBe(false);
});

const forSession = (approval: object): PermissionRequestResult =>
  ({ kind: "approve-for-session", approval }) as PermissionRequestResult;

test.each([
  ["write", { kind: "write" }, ["create", "create"]],
  ["read", { kind: "read" }, ["view", "grep"]],
  ["custom-tool", { kind: "custom-tool", toolName: "probe" }, ["probe", "probe"]],
])("approve-for-session of %s makes later asks of that sort silent", async (_, approval, names) => {
  await using talk = await guarded(() => forSession(approval), { tools: [tool] });
  const args = (name: string, at: number) =>
    ({
      create: { path: path.join(world.folder, `${talk.session.sessionId}-${at}.txt`), file_text: "x" },
      view: { path: path.join(world.folder, "notes.txt") },
      grep: { pattern: "alpha" },
    })[name] ?? {};
  talk.model.script(...names.map((name, at) => call(name, args(name, at))), say("done"));
  await talk.ask("both");
  expect(ended(talk).map(({ success }) => success)).toEqual([true, true]);
  expect(talk.asked).toHaveLength(1);
  expect(talk.record.one("permission.completed").data.result).toMatchObject({ kind: "approved-for-session", approval });
});

test("approve-for-session of a command holds for that command and no other", async () => {
  await using talk = await guarded((request) =>
    forSession({
      kind: "commands",
      commandIdentifiers: request.kind === "shell" ? request.commands.map(({ identifier }) => identifier) : [],
    }),
  );
  const bash = (command: string) => call("bash", { command, description: "x" });
  talk.model.script(bash("echo same"), bash("echo same"), bash("uname"), say("done"));
  await talk.ask("go");
  expect(talk.asked.map((request) => (request.kind === "shell" ? request.fullCommandText : ""))).toEqual([
    "echo same",
    "uname",
  ]);
});

test("approve-for-location runs the call and is told with the place it holds for", async () => {
  const approval = { kind: "custom-tool", toolName: "located" };
  const decision = () =>
    ({ kind: "approve-for-location", approval, locationKey: world.folder }) as PermissionRequestResult;
  await using talk = await guarded(decision, { tools: [{ ...tool, name: "located" }] });
  talk.model.script(call("located"), call("located"), say("done"));
  await talk.ask("both");
  expect(ended(talk).map(({ success }) => success)).toEqual([true, true]);
  expect(talk.record.one("permission.completed").data.result).toMatchObject({
    kind: "approved-for-location",
    approval,
    locationKey: world.folder,
  });
  expect(talk.asked).toHaveLength(1);
});

test("an ask that is cancelled by hand denies the call", async () => {
  await using talk = await guarded(() => ({ kind: "no-result" }));
  talk.model.script(BASH, say("went on"));
  await talk.session.send({ prompt: "try" });
  const { requestId } = (await talk.record.until("permission.requested")).data;
  const result = { kind: "cancelled" as const, reason: "the window was closed" };
  await talk.session.rpc.permissions.handlePendingPermissionRequest({ requestId, result });
  await talk.record.until("session.idle");
  expect(talk.record.one("permission.completed").data.result).toMatchObject({ kind: "cancelled" });
  expect(ended(talk)[0]).toMatchObject({ success: false });
});

test("resetSessionApprovals forgets what was approved for the session", async () => {
  await using talk = await guarded(() => forSession({ kind: "custom-tool", toolName: "probe" }), { tools: [tool] });
  talk.model.script(call("probe"), say("one"), call("probe"), say("two"));
  await talk.ask("first");
  expect(await talk.session.rpc.permissions.resetSessionApprovals({})).toMatchObject({ success: true });
  await talk.ask("second");
  expect(talk.asked).toHaveLength(2);
});

test("setApproveAll stops the asking until it is switched off", async () => {
  await using talk = await guarded(approve);
  talk.model.script(BASH, say("one"), BASH, say("two"));
  expect(await talk.session.rpc.permissions.setApproveAll({ enabled: true })).toMatchObject({ success: true });
  await talk.ask("first");
  expect(talk.asked).toHaveLength(0);
  expect(ended(talk)[0]?.success).toBe(true);
  await talk.session.rpc.permissions.setApproveAll({ enabled: false });
  await talk.ask("second");
  expect(talk.asked).toHaveLength(1);
});

test("the mode allow-all stops the asking, and the change is an event", async () => {
  await using talk = await guarded(approve);
  talk.model.script(BASH, say("one"));
  expect(await talk.session.rpc.permissions.getMode()).toMatchObject({ mode: "manual" });
  expect(await talk.session.rpc.permissions.setMode({ mode: "allow-all" })).toMatchObject({ mode: "allow-all" });
  await talk.ask("first");
  expect(talk.asked).toHaveLength(0);
  expect(talk.record.one("session.permissions_changed").data).toMatchObject({
    mode: "allow-all",
    previousMode: "manual",
  });
});

test("a tool with skipPermission and the session's own tools are never asked for", async () => {
  await using talk = await guarded(approve, { tools: [{ ...tool, skipPermission: true }] });
  const sql = { name: "sql", args: { description: "x", query: "select 1 as one" } };
  talk.model.script(calls([{ name: "probe" }, sql]), say("done"));
  await talk.ask("go");
  expect(talk.asked).toEqual([]);
  expect(ended(talk).map(({ success }) => success)).toEqual([true, true]);
});

test("a deny rule binds a tool with skipPermission", async () => {
  await using talk = await guarded(approve, { tools: [{ ...tool, skipPermission: true }] });
  await talk.session.rpc.permissions.configure({
    rules: { approved: [], denied: [{ kind: "custom-tool", argument: "probe" }] },
  });
  talk.model.script(call("probe"), say("done"));
  await talk.ask("go");
  expect(ended(talk)[0]).toMatchObject({ success: false, error: { message: expect.stringContaining("deny rule") } });
  expect(talk.asked).toEqual([]);
});

test("a command line that is not plain can be approved only once, and only for itself", async () => {
  const always = (request: PermissionRequest): PermissionRequestResult => ({
    kind: "approve-for-session",
    approval: { kind: "commands", commandIdentifiers: request.kind === "shell" ? ["echo"] : [] },
  });
  await using talk = await guarded(always);
  const bash = (command: string) => call("bash", { command, description: "x" });
  talk.model.script(bash("echo $(echo one)"), bash("echo two"), bash("echo $(echo three)"), say("done"));
  await talk.ask("go");
  expect(talk.asked).toMatchObject([
    { fullCommandText: "echo $(echo one)", canOfferSessionApproval: false },
    { fullCommandText: "echo $(echo three)", canOfferSessionApproval: false },
  ]);
});

test("with a deny rule for a command, a line in which it may hide is asked about though everything is approved", async () => {
  await using talk = await guarded(() => ({ kind: "reject", feedback: "no" }));
  await talk.session.rpc.permissions.configure({
    rules: { approved: [], denied: [{ kind: "shell", argument: "touch" }] },
  });
  await talk.session.rpc.permissions.setApproveAll({ enabled: true });
  const bash = (command: string) => call("bash", { command, description: "x" });
  const lines = ["echo plain", "env touch hidden.txt", "sh -c 'touch hidden.txt'", "X=touch; $X hidden.txt"];
  talk.model.script(...lines.map(bash), say("done"));
  await talk.ask("go");
  expect(ended(talk).map(({ success }) => success)).toEqual([true, false, false, false]);
  expect(talk.asked.map((request) => request.kind === "shell" && request.fullCommandText)).toEqual([lines[3]]);
  expect(existsSync(path.join(world.folder, "hidden.txt"))).toBe(false);
});

test("a call that fails its own checks is not asked for", async () => {
  await using talk = await guarded(approve);
  talk.model.script(
    call("edit", { path: path.join(world.folder, "notes.txt"), old_str: "absent", new_str: "x" }),
    say("ok"),
  );
  await talk.ask("edit");
  expect(talk.asked).toEqual([]);
  expect(ended(talk)[0]).toMatchObject({ success: false });
});

test("without a handler what would need an ask is denied at once, and the run goes on", async () => {
  await using talk = await openTalk(world, { onPermissionRequest: undefined });
  talk.model.script(BASH, say("went on"));
  expect(await talk.ask("try")).toBe("went on");
  expect(talk.record.all("permission.requested")).toEqual([]);
  expect(ended(talk)[0]).toMatchObject({ success: false, error: { code: "denied" } });
});

test("an ask that nobody answered yet is listed and can be answered by hand, once", async () => {
  await using talk = await guarded(() => ({ kind: "no-result" }));
  talk.model.script(BASH, say("done"));
  await talk.session.send({ prompt: "try" });
  const { requestId } = (await talk.record.until("permission.requested")).data;
  const { permissions } = talk.session.rpc;
  expect((await permissions.pendingRequests()).items).toMatchObject([{ requestId }]);
  const answer = { requestId, result: { kind: "approve-once" as const } };
  expect(await permissions.handlePendingPermissionRequest(answer)).toMatchObject({ success: true });
  await talk.record.until("session.idle");
  expect(ended(talk)[0]).toMatchObject({ success: true });
  expect((await permissions.pendingRequests()).items).toEqual([]);
  expect(await permissions.handlePendingPermissionRequest(answer)).toMatchObject({ success: false });
});

test("of two clients that answer one ask, the first wins and the second is told so", async () => {
  await using server = await startServer();
  const [one, two] = [await server.join(), await server.join()];
  const silent = { onPermissionRequest: () => ({ kind: "no-result" as const }) };
  const talk = await openTalk(one, silent);
  const other = await resumeTalk(two, talk.session.sessionId, silent, talk.model);
  talk.model.script(BASH, say("done"));
  await talk.session.send({ prompt: "try" });
  const { requestId } = (await talk.record.until("permission.requested")).data;
  expect((await other.record.until("permission.requested")).data.requestId).toBe(requestId);
  const answers = await Promise.all([
    talk.session.rpc.permissions.handlePendingPermissionRequest({ requestId, result: { kind: "approve-once" } }),
    other.session.rpc.permissions.handlePendingPermissionRequest({ requestId, result: { kind: "approve-once" } }),
  ]);
  expect(answers.map(({ success }) => success).sort()).toEqual([false, true]);
  await Promise.all([talk.record.until("session.idle"), other.record.until("session.idle")]);
  expect(other.record.all("permission.completed")).toHaveLength(1);
});
