import { expect, test } from "vitest";
import { ModelError } from "../models/provider.ts";
import { call, say, type Turn, think } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { toolset } from "./agent.ts";
import { specsOf, withoutImages } from "./model-request.ts";
import { requestNeed } from "./request-need.ts";
import { runTurn } from "./turn.ts";

/** One turn of the main agent, outside of any run. */
async function turn(
  steps: readonly Turn[],
  test: (world: SmallWorld & { answer: Awaited<ReturnType<typeof runTurn>>; sessionId: string }) => Promise<void>,
): Promise<void> {
  await inSmallWorld(steps, async (world) => {
    const sessionId = await world.create({ streaming: true });
    const { main } = world.runtime.sessions.get(sessionId);
    const { signal } = new AbortController();
    main.session.append("user.message", { content: "go" });
    const answer = await runTurn(main, {
      turnId: "0",
      interactionId: "i",
      initiator: "user",
      system: "be kind",
      toolset: toolset([]),
      lease: await main.budget.reserveRequest(() => requestNeed(main, { system: "", toolset: toolset([]) }), {
        signal,
      }),
      signal,
    });
    await main.session.log.committed();
    await world.client.received("assistant.message");
    await test({ ...world, answer, sessionId });
  });
}

test("calls with the same id get distinct ids, also when a derived id is taken", async () => {
  const steps = [call("a", {}, "x"), call("b", {}, "x"), call("c", {}, "x_2"), call("d", {}, "x")];
  await turn([steps], async ({ answer, client }) => {
    const ids = answer.calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect(ids[0]).toBe("x");
    expect(client.of("assistant.message")[0]?.toolRequests?.map(({ toolCallId }) => toolCallId)).toEqual(ids);
  });
});

test("arguments that are no JSON object are empty in the log, and the problem is kept by call", async () => {
  const bad = ["{broken", "[1]", "null", '"text"'];
  await turn([[...bad.map((text) => call("view", text)), call("view", { path: "/x" })]], async ({ answer }) => {
    expect(answer.calls.map((each) => each.arguments)).toEqual(["{}", "{}", "{}", "{}", '{"path":"/x"}']);
    const [first, ...others] = answer.calls.map(({ id }) => answer.badArguments.get(id));
    expect(first).toMatch(/JSON/);
    const notAnObject = "the arguments are not a JSON object";
    expect(others).toEqual([notAnObject, notAnObject, notAnObject, undefined]);
  });
});

test("missing arguments are an empty object and no problem", async () => {
  await turn([[call("list_agents", "")]], async ({ answer, client }) => {
    expect(answer.badArguments.size).toBe(0);
    expect(client.of("assistant.message")[0]?.toolRequests).toMatchObject([{ arguments: {} }]);
  });
});

test("a model that fails half-way and is asked again starts over under a new message id", async () => {
  const broken = [
    say("half a"),
    think("hm"),
    call("view"),
    new ModelError("cut off", { kind: "transport", retryAfterMs: 0 }),
  ];
  await turn([broken, [say("the whole "), say("answer")]], async ({ answer, client }) => {
    expect(answer).toMatchObject({ text: "the whole answer", calls: [] });
    expect(answer.reasoning).toBeUndefined();
    const deltas = client.of("assistant.message_delta");
    const [first] = deltas;
    expect(first?.messageId).not.toBe(answer.messageId);
    const own = deltas.filter(({ messageId }) => messageId === answer.messageId);
    expect(own.map(({ deltaContent }) => deltaContent)).toEqual(["the whole ", "answer"]);
    expect(client.of("assistant.message_start").map(({ messageId }) => messageId)).toEqual([
      first?.messageId,
      answer.messageId,
    ]);
    expect(client.of("model.call_failure")).toMatchObject([{ failureKind: "transport", source: "top_level" }]);
    expect(client.of("assistant.message")).toMatchObject([
      { content: "the whole answer", messageId: answer.messageId },
    ]);
  });
});

test("reasoning is sent as it comes and as a whole, and stays with the answer", async () => {
  const blocks = { type: "reasoning_blocks" as const, provider: "p", items: [{ signature: "s" }] };
  await turn([[think("let me "), think("see"), blocks, say("so")]], async ({ answer, client, runtime, sessionId }) => {
    expect(answer.reasoning).toEqual({ text: "let me see", blocks: { provider: "p", items: [{ signature: "s" }] } });
    expect(client.of("assistant.reasoning_delta").map(({ deltaContent }) => deltaContent)).toEqual(["let me ", "see"]);
    expect(runtime.sessions.get(sessionId).session.state.messages.at(-1)).toMatchObject({
      role: "assistant",
      reasoning: answer.reasoning,
    });
  });
});

test("an answer that a filter has emptied says so", async () => {
  const end = { type: "end" as const, reason: "filtered" as const, usage: { ...usage } };
  await turn([[end]], async ({ client }) => {
    expect(client.of("assistant.message")[0]?.content).toMatch(/blocked by content filtering/);
  });
});

test("the usage of a turn is sent, kept with the answer and counted", async () => {
  const end = { type: "end" as const, reason: "stop" as const, usage, responseId: "r1" };
  await turn([[say("ok"), end]], async ({ client, runtime, sessionId }) => {
    expect(client.of("assistant.usage")).toMatchObject([{ inputTokens: 7, outputTokens: 5, apiCallId: "r1" }]);
    expect(client.of("assistant.message")).toMatchObject([{ usage, apiCallId: "r1" }]);
    expect(runtime.sessions.get(sessionId).session.state.usage.tally.tokens).toBe(12);
  });
});

const usage = { inputTokens: 7, outputTokens: 5, cacheReadTokens: 1, cacheWriteTokens: 0, reasoningTokens: 2 };

test("a model without vision gets the text around an image, and the same message object each time", async () => {
  const image = { type: "image" as const, mimeType: "image/png", data: "AAAA" };
  const seen = { role: "user" as const, content: [{ type: "text" as const, text: "look" }, image] };
  const plain = { role: "user" as const, content: "words" };
  const [first, second] = withoutImages([seen, plain]);
  expect(first).toEqual({ role: "user", content: "look" });
  expect(second).toBe(plain);
  expect(withoutImages([seen])[0]).toBe(first);
  const without = [plain];
  expect(withoutImages(without)).toBe(without);
});

test("the same tools are the same list, so that it is serialised once", () => {
  const set = toolset([]);
  expect(specsOf(set)).toBe(specsOf(set));
});
