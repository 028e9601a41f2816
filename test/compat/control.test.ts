/** Prompts that come while a run is going on, and the ways to stop it: queue, steering, abort, interrupt, suspend. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, hang, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

function gate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const probe = (handler: () => unknown) => ({
  name: "probe",
  description: "Probes.",
  parameters: { type: "object" },
  skipPermission: true,
  handler,
});

test("a prompt sent during a run waits for its end, and the session is idle once", async () => {
  await using talk = await openTalk(world);
  const hold = gate();
  talk.model.script(async () => {
    await hold.opened;
    return say("first answer");
  }, say("second answer"));
  await talk.session.send({ prompt: "first" });
  await talk.model.asked(1);
  await talk.session.send({ prompt: "second" });
  hold.open();
  await talk.record.until("session.idle");
  expect(talk.record.all("user.message").map(({ data }) => [data.content, data.delivery])).toEqual([
    ["first", "idle"],
    ["second", "queued"],
  ]);
  expect(talk.record.all("assistant.message").map(({ data }) => data.content)).toEqual([
    "first answer",
    "second answer",
  ]);
  expect(talk.record.all("session.idle")).toHaveLength(1);
  expect(talk.model.requests[0]?.lastText).not.toContain("second");
});

test("an immediate prompt steers the running turn before its next model call", async () => {
  const hold = gate();
  const running = gate();
  const tool = probe(async () => {
    running.open();
    await hold.opened;
    return "probed";
  });
  await using talk = await openTalk(world, { tools: [tool] });
  talk.model.script(call("probe"), say("as you wish"));
  await talk.session.send({ prompt: "first" });
  await running.opened;
  await talk.session.send({ prompt: "rather do that", mode: "immediate" });
  hold.open();
  await talk.record.until("session.idle");
  expect(talk.model.requests).toHaveLength(2);
  expect(talk.model.lastRequest.lastText).toContain("rather do that");
  const [first, steering] = talk.record.all("user.message");
  expect(steering?.data).toMatchObject({ content: "rather do that", delivery: "steering" });
  expect(steering?.data.interactionId).toBe(first?.data.interactionId);
  expect(talk.record.all("session.idle")).toHaveLength(1);
});

test("an immediate prompt to an idle session is an ordinary one", async () => {
  await using talk = await openTalk(world);
  await talk.ask({ prompt: "now", mode: "immediate" });
  expect(talk.record.one("user.message").data).toMatchObject({ content: "now", delivery: "idle" });
});

test("the queue can be read, shortened and cleared", async () => {
  await using talk = await openTalk(world);
  const hold = gate();
  talk.model.script(async () => {
    await hold.opened;
    return say("only answer");
  });
  await talk.session.send({ prompt: "first" });
  await talk.model.asked(1);
  for (const prompt of ["second", "third", "fourth"]) await talk.session.send({ prompt });
  const { queue } = talk.session.rpc;
  const texts = async () => (await queue.pendingItems()).items.map(({ displayText }) => displayText);
  expect(await texts()).toEqual(["second", "third", "fourth"]);
  expect((await queue.pendingItems()).items[0]).toMatchObject({ id: expect.any(String), kind: "message" });
  expect(await queue.removeMostRecent()).toEqual({ removed: true });
  expect(await texts()).toEqual(["second", "third"]);
  await queue.clear();
  expect(await texts()).toEqual([]);
  expect(await queue.removeMostRecent()).toEqual({ removed: false });
  hold.open();
  await talk.record.until("session.idle");
  expect(talk.record.all("user.message")).toHaveLength(1);
});

test("abort ends a run that waits for the model, with one idle that says so", async () => {
  await using talk = await openTalk(world);
  talk.model.script(hang(), say("fresh start"));
  await talk.session.send({ prompt: "never answered" });
  await talk.model.asked(1);
  await talk.session.abort();
  const idle = await talk.record.until("session.idle");
  expect(idle.data.aborted).toBe(true);
  expect(talk.record.one("abort").data.reason).toBe("user_initiated");
  const story = talk.record.story();
  const tail = story.slice(story.indexOf("abort"));
  expect(tail).toContain("session.idle");
  // The other runtime may be idle before it sends the end of the turn.
  if (ours) expect(tail).toEqual(["abort", "assistant.turn_end", "assistant.idle", "session.idle"]);
  expect(await talk.ask("again")).toBe("fresh start");
  expect(talk.record.all("session.idle").map(({ data }) => data.aborted ?? false)).toEqual([true, false]);
});

test("abort in the middle of a stream ends the run", async () => {
  await using talk = await openTalk(world, { streaming: true });
  talk.model.script(say("half a sen", { end: "hang" }), say("whole"));
  await talk.session.send({ prompt: "stream" });
  await talk.record.until("assistant.message_delta");
  await talk.session.abort();
  expect((await talk.record.until("session.idle")).data.aborted).toBe(true);
  expect(await talk.ask("again")).toBe("whole");
});

test("abort leaves no call without a result in what the model reads next", async () => {
  const running = gate();
  const tool = probe(() => {
    running.open();
    return new Promise(() => {});
  });
  await using talk = await openTalk(world, { tools: [tool] });
  talk.model.script(call("probe", {}, "cut-off"), say("fresh start"));
  await talk.session.send({ prompt: "probe" });
  await running.opened;
  const { requestId } = (await talk.record.until("external_tool.requested")).data;
  await talk.session.abort();
  await talk.record.until("session.idle");
  expect(await talk.session.rpc.tools.handlePendingToolCall({ requestId, result: "late" })).toEqual({ success: false });
  await talk.ask("again");
  const result = talk.model.lastRequest.messages.find(({ tool_call_id }) => tool_call_id === "cut-off");
  expect(result?.role).toBe("tool");
});

test("abort kills a running command", async () => {
  await using talk = await openTalk(world);
  const file = path.join(world.folder, `${talk.session.sessionId}.pid`);
  const command = `echo $$ > ${file}; echo started; sleep 600`;
  talk.model.script(call("bash", { command, description: "Wait", initial_wait: 300 }));
  await talk.session.send({ prompt: "wait" });
  await talk.record.until("tool.execution_partial_result", {
    passes: ({ data }) => data.partialOutput.includes("started"),
  });
  const pid = Number(await readFile(file, "utf8"));
  await talk.session.abort();
  await talk.record.until("session.idle");
  await expect.poll(() => isAlive(pid)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // No such process.
  }
}

test("abort while idle does nothing and is no error", async () => {
  await using talk = await openTalk(world);
  await talk.ask("hi");
  await talk.session.abort();
  expect(await talk.ask("still there?")).toBe("ok");
  expect(talk.record.all("session.idle").filter(({ data }) => data.aborted)).toEqual([]);
});

test("interruptMainTurn stops the run and says that it did", async () => {
  await using talk = await openTalk(world);
  talk.model.script(hang(), say("fresh start"));
  await talk.session.send({ prompt: "never answered" });
  await talk.model.asked(1);
  expect(await talk.session.rpc.interruptMainTurn({})).toEqual({ interrupted: true });
  expect((await talk.record.until("session.idle")).data.aborted).toBe(true);
  expect(talk.record.one("abort").data.reason).toBe("user_abort");
  expect(await talk.session.rpc.interruptMainTurn({})).toEqual({ interrupted: false });
  expect(await talk.ask("again")).toBe("fresh start");
});

test("isProcessing and activity tell whether a run is going on", async () => {
  await using talk = await openTalk(world);
  const { metadata } = talk.session.rpc;
  expect(await metadata.isProcessing()).toEqual({ processing: false });
  const hold = gate();
  talk.model.script(async () => {
    await hold.opened;
    return say("done");
  });
  await talk.session.send({ prompt: "work" });
  await talk.model.asked(1);
  expect(await metadata.isProcessing()).toEqual({ processing: true });
  expect(await metadata.activity()).toMatchObject({ hasActiveWork: true, abortable: true });
  hold.open();
  await talk.record.until("session.idle");
  await expect.poll(async () => (await metadata.isProcessing()).processing).toBe(false);
});

test("suspend stops the turn and closes an open permission ask", async () => {
  await using talk = await openTalk(world, { onPermissionRequest: () => ({ kind: "no-result" }) });
  talk.model.script(call("bash", { command: "echo hi", description: "x" }), say("never said"));
  await talk.session.send({ prompt: "try" });
  const { requestId } = (await talk.record.until("permission.requested")).data;
  await talk.session.rpc.suspend();
  const { data } = await talk.record.until("permission.completed");
  expect(data).toMatchObject({ requestId, result: { kind: "cancelled" } });
  expect(talk.model.requests).toHaveLength(1);
});
