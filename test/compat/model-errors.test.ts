/** A model that fails: what is tried again, what is reported, and that the session goes on. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, call, calls, drop, raw, say, status } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const AT_ONCE = { "retry-after": "0" };

/** One prompt that the model answers always with this; returns the error and the number of attempts. */
async function failing(talk: Talk, answer: Answer) {
  talk.model.reply(() => answer);
  await talk.ask("try");
  const { data } = talk.record.one("session.error");
  const attempts = talk.model.requests.length;
  talk.model.reply(() => say("recovered"));
  expect(await talk.ask("again")).toBe("recovered");
  return { data, attempts };
}

describe.concurrent("errors", () => {
  test("400 is not tried again and shows the words of the provider", async () => {
    await using talk = await openTalk(world);
    const { data, attempts } = await failing(talk, status(400, { message: "bad thing" }));
    expect(data).toMatchObject({ errorType: "query", message: "400 bad thing", statusCode: 400 });
    expect(attempts).toBe(1);
  });

  test("404 is not tried again and names the address", async () => {
    await using talk = await openTalk(world);
    const { data, attempts } = await failing(talk, status(404));
    expect(data).toMatchObject({ errorType: "query", statusCode: 404 });
    expect(data.message).toContain(talk.model.url);
    expect(attempts).toBe(1);
  });

  test("401 names the address, and ours does not try it again but says where the key came from", async () => {
    await using talk = await openTalk(world);
    const { data, attempts } = await failing(talk, status(401));
    expect(data).toMatchObject({ errorType: "authentication", statusCode: 401 });
    expect(data.message).toContain(talk.model.url);
    if (!ours) return;
    expect(attempts).toBe(1);
    expect(data.message).toContain('"apiKey" of the session\'s provider');
  });

  test.runIf(ours)("each further try is a line with its count and wait, and the numbers are in the event", async () => {
    await using talk = await openTalk(world);
    const limited = status(503, { message: "busy", headers: AT_ONCE });
    talk.model.script(limited, limited, say("through"));
    expect(await talk.ask("try")).toBe("through");
    const lines = talk.record.all("session.info").filter(({ data }) => data.infoType === "model_retry");
    expect(lines.map(({ data }) => data.message)).toEqual([
      "the model endpoint answered 503 (busy); trying again in 0 s (2 of 6)",
      "the model endpoint answered 503 (busy); trying again in 0 s (3 of 6)",
    ]);
    expect(talk.record.all("model.call_failure").map(({ data }) => data)).toMatchObject([
      { attempt: 1, maxAttempts: 6, retryInMs: 0 },
      { attempt: 2, maxAttempts: 6, retryInMs: 0 },
    ]);
  });

  test.runIf(ours)("a web page is not tried again", async () => {
    await using talk = await openTalk(world);
    const page = raw("<!doctype html><title>Welcome</title>", { contentType: "text/html" });
    const { data, attempts } = await failing(talk, page);
    expect(data.message).toContain(`${talk.model.url} answered with a web page; is it the right URL?`);
    expect(attempts).toBe(1);
  });

  test.runIf(ours).each([
    [400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."],
    [400, "prompt is too long: 210000 tokens > 200000 maximum"],
    [413, "Request exceeds the maximum size"],
  ])("%i %s: the conversation is summarised once, and goes on", async (code, message) => {
    await using talk = await openTalk(world);
    talk.model.script(say("first"), status(code, { message }), say("what was said"), say("second"));
    expect(await talk.ask("one")).toBe("first");
    expect(await talk.ask("two")).toBe("second");
    expect(talk.record.all("session.error")).toEqual([]);
    expect(talk.record.all("session.compaction_complete").map(({ data }) => data.trigger)).toEqual([
      "context_limit_retry",
    ]);
    expect(talk.model.lastRequest.texts("user").join()).toContain("what was said");
  });

  test("429 is tried six times, waits as long as it is told, and says so", async () => {
    await using talk = await openTalk(world);
    const { data, attempts } = await failing(talk, status(429, { message: "slow down", headers: AT_ONCE }));
    expect(data).toMatchObject({ errorType: "rate_limit", statusCode: 429 });
    expect(data.message).toMatch(
      /^Failed to get response from the AI model; retried 5 times .*Last error: 429 slow down/,
    );
    expect(attempts).toBe(6);
  });

  test("a rate limit that passes leaves no error", async () => {
    await using talk = await openTalk(world);
    const limited = status(429, { headers: AT_ONCE });
    talk.model.script(limited, limited, say("through"));
    expect(await talk.ask("try")).toBe("through");
    expect(talk.record.all("session.error")).toEqual([]);
    expect(talk.record.all("model.call_failure").map(({ data }) => data.statusCode)).toEqual([429, 429]);
  });

  test("a server error that passes leaves no error, and each failed attempt is an event", async () => {
    await using talk = await openTalk(world);
    talk.model.script(status(500, { message: "oops" }), say("through"));
    expect(await talk.ask("try")).toBe("through");
    expect(talk.record.all("session.error")).toEqual([]);
    expect(talk.record.one("model.call_failure")).toMatchObject({
      ephemeral: true,
      data: { statusCode: 500, failureKind: "api", source: "top_level" },
    });
  });

  test("a connection that breaks is tried again", async () => {
    await using talk = await openTalk(world);
    talk.model.script(drop(), say("through"));
    expect(await talk.ask("try")).toBe("through");
    expect(talk.record.one("model.call_failure").data).toMatchObject({ failureKind: "transport" });
  });

  test("a stream that breaks in the middle is tried again, and the answer is told once", async () => {
    await using talk = await openTalk(world, { streaming: true });
    talk.model.script(say("half", { end: "drop" }), say("whole"));
    expect(await talk.ask("try")).toBe("whole");
    expect(talk.record.all("assistant.message").map(({ data }) => data.content)).toEqual(["whole"]);
    expect(talk.record.all("session.idle")).toHaveLength(1);
  });

  test("an error after a tool call ends the run and keeps the call for the next one", async () => {
    const tool = { name: "probe", description: "x", parameters: { type: "object" }, handler: () => "probed" };
    await using talk = await openTalk(world, { tools: [tool] });
    talk.model.script(call("probe"), status(400, { message: "late failure" }), say("recovered"));
    await talk.ask("try");
    expect(talk.record.one("session.error").data.message).toBe("400 late failure");
    expect(await talk.ask("again")).toBe("recovered");
    expect(talk.model.lastRequest.texts("tool")).toEqual(["probed"]);
  });

  test("sendAndWait rejects with the error of the model", async () => {
    await using talk = await openTalk(world);
    talk.model.reply(() => status(400, { message: "bad thing" }));
    await expect(talk.session.sendAndWait("try")).rejects.toThrow(/bad thing/);
  });

  test("session.error comes before the one session.idle, and the turn is ended", async () => {
    await using talk = await openTalk(world);
    talk.model.reply(() => status(400));
    await talk.ask("try");
    const story = talk.record.story();
    expect(story.slice(story.indexOf("assistant.turn_start"))).toEqual(
      expect.arrayContaining(["session.error", "assistant.turn_end", "session.idle"]),
    );
    expect(story.indexOf("session.error")).toBeLessThan(story.indexOf("session.idle"));
    expect(talk.record.all("session.idle")).toHaveLength(1);
  });

  test("an answer cut by length is asked to go on", async () => {
    await using talk = await openTalk(world);
    talk.model.script(say("the first half", { finish: "length" }), say("the second half"));
    expect(await talk.ask("tell")).toBe("the second half");
    expect(talk.model.requests).toHaveLength(2);
    const [partial, nudge] = talk.model.lastRequest.messages.slice(-2);
    expect(partial).toMatchObject({ role: "assistant", content: "the first half" });
    expect(nudge?.role).toBe("user");
  });

  test("an answer blocked by a content filter is a message that says so", async () => {
    await using talk = await openTalk(world);
    talk.model.script(say("", { finish: "content_filter" }));
    expect(await talk.ask("tell")).toMatch(/content filter/i);
    expect(talk.record.all("session.error")).toEqual([]);
  });

  test("an empty answer is an error and not a silent success", async () => {
    await using talk = await openTalk(world);
    talk.model.script(say(""));
    await talk.ask("tell");
    expect(talk.record.one("session.error").data.errorType).toBe("query");
  });

  test("a call with an unknown finish reason still runs", async () => {
    const tool = { name: "probe", description: "x", parameters: { type: "object" }, handler: () => "probed" };
    await using talk = await openTalk(world, { tools: [tool] });
    talk.model.script(calls([{ name: "probe" }], { finish: "stop" }), say("done"));
    expect(await talk.ask("try")).toBe("done");
    expect(talk.model.lastRequest.texts("tool")).toEqual(["probed"]);
  });

  test("a stream of broken JSON does not break the session", async () => {
    await using talk = await openTalk(world, { streaming: true });
    talk.model.script(raw("data: {broken\n\ndata: [DONE]\n\n"), say("after all"), say("after all"));
    await talk.ask("try");
    expect(await talk.ask("again")).toBe("after all");
  });

  test("a stream that ends without a finish reason does not break the session", async () => {
    await using talk = await openTalk(world, { streaming: true });
    const chunk = JSON.stringify({ id: "x", choices: [{ index: 0, delta: { content: "half" }, finish_reason: null }] });
    talk.model.script(raw(`data: ${chunk}\n\n`), say("after all"), say("after all"));
    await talk.ask("try");
    expect(await talk.ask("again")).toBe("after all");
  });
});
