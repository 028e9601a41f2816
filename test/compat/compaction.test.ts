/** A history that becomes too long: summaries on request and automatic ones, and cutting it back. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { say, status } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

test("an empty session has nothing to compact", async () => {
  await using talk = await openTalk(world);
  await expect(talk.session.rpc.history.compact({})).rejects.toThrow(/Nothing to compact\./);
});

test("compact replaces the history by earlier prompts and a summary", async () => {
  await using talk = await openTalk(world);
  talk.model.script(say("one"), say("two"), say("THE SUMMARY"), say("three"));
  await talk.ask("first prompt");
  await talk.ask("second prompt");
  const result = await talk.session.rpc.history.compact({ customInstructions: "keep the numbers" });
  expect(result).toMatchObject({ success: true, summaryContent: expect.stringContaining("THE SUMMARY") });
  expect(result.messagesRemoved).toBeGreaterThan(0);
  expect(result.contextWindow).toMatchObject({ tokenLimit: expect.any(Number), messagesLength: 1 });
  const summarising = talk.model.requests[2];
  expect(summarising?.lastText).toContain("keep the numbers");
  await talk.ask("third prompt");
  expect(talk.model.lastRequest.texts("assistant")).toEqual([]);
  const [summary] = talk.model.lastRequest.texts("user");
  for (const text of ["THE SUMMARY", "first prompt", "second prompt"]) expect(summary).toContain(text);
  expect(talk.model.lastRequest.lastText).toContain("third prompt");
});

test("compaction is told by two events, kept as a checkpoint, and survives a resume", async () => {
  await using talk = await openTalk(world);
  talk.model.script(say("one"), say("THE SUMMARY"));
  await talk.ask("first prompt");
  await talk.session.rpc.history.compact({});
  const { data } = await talk.record.until("session.compaction_complete");
  expect(talk.record.story().filter((type) => type.startsWith("session.compaction"))).toEqual([
    "session.compaction_start",
    "session.compaction_complete",
  ]);
  expect(data).toMatchObject({ success: true, checkpointNumber: 1 });
  expect(await readFile(data.checkpointPath ?? "", "utf8")).toContain("THE SUMMARY");
  const { checkpoints } = await talk.session.rpc.workspaces.listCheckpoints();
  expect(checkpoints).toMatchObject([{ number: 1, filename: path.basename(data.checkpointPath ?? "") }]);
  await talk.session.disconnect();
  await using resumed = await resumeTalk(world, talk.session.sessionId);
  await resumed.ask("and on");
  expect(resumed.model.lastRequest.texts("user")[0]).toContain("THE SUMMARY");
  expect(resumed.model.lastRequest.texts("assistant")).toEqual([]);
});

test("a compaction that fails leaves the history as it was", async () => {
  await using talk = await openTalk(world);
  talk.model.script(say("one"), status(400, { message: "no summary today" }), say("two"));
  await talk.ask("first prompt");
  await expect(talk.session.rpc.history.compact({})).rejects.toThrow(/no summary today/);
  expect((await talk.record.until("session.compaction_complete")).data).toMatchObject({ success: false });
  await talk.ask("second prompt");
  expect(talk.model.lastRequest.texts("assistant")).toEqual(["one"]);
});

test("a history near the limit of the model is compacted by itself", async () => {
  const model = world.model.endpoint();
  await using talk = await openTalk(world, {
    provider: { type: "openai", baseUrl: model.url, apiKey: "k", maxPromptTokens: 6_000 },
    systemMessage: { mode: "replace", content: "Short." },
    availableTools: [],
    infiniteSessions: { enabled: true, backgroundCompactionThreshold: 0.5, bufferExhaustionThreshold: 0.95 },
  });
  model.reply(() => say("A SHORT SUMMARY"));
  const words = "some words to fill the window of the model ".repeat(70);
  for (let turn = 0; turn < 12 && talk.record.all("session.compaction_start").length === 0; turn++) {
    await talk.ask(`${turn} ${words}`);
  }
  expect(talk.record.one("session.compaction_start").data).toMatchObject({ trigger: "threshold", tokenLimit: 6_000 });
  expect((await talk.record.until("session.compaction_complete")).data).toMatchObject({ success: true });
  await talk.ask("after it");
  expect(model.lastRequest.texts("user").join("\n")).toContain("A SHORT SUMMARY");
});

test("truncate removes an event and all that follow", async () => {
  await using talk = await openTalk(world);
  await talk.ask("kept");
  await talk.ask("removed");
  const [, second] = (await talk.session.getEvents()).filter(({ type }) => type === "user.message");
  const { eventsRemoved } = await talk.session.rpc.history.truncate({ eventId: second?.id ?? "" });
  expect(eventsRemoved).toBeGreaterThan(3);
  await talk.record.until("session.snapshot_rewind");
  await talk.ask("instead");
  const texts = talk.model.lastRequest.texts("user").join("\n");
  expect(texts).toContain("kept");
  expect(texts).not.toContain("removed");
});

test("there is nothing to cancel when nothing is compacted", async () => {
  await using talk = await openTalk(world);
  expect(await talk.session.rpc.history.abortManualCompaction()).toEqual({ aborted: false });
  expect(await talk.session.rpc.history.cancelBackgroundCompaction()).toEqual({ cancelled: false });
});
