/** A conversation that is longer than the model takes: it is summarised once and goes on, or the run ends with words. */
import { expect, test } from "vitest";
import { ModelError } from "../models/provider.ts";
import { call, say, type Turn } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";

const tooLong = new ModelError("400 This model's maximum context length is 8192 tokens", {
  kind: "api",
  status: 400,
  said: "This model's maximum context length is 8192 tokens",
  providerCode: "context_length_exceeded",
});
const TALK = "talk of this and that. ".repeat(100);

/** Two prompts are answered before the turns of the test begin. */
async function afterTalk(
  turns: readonly Turn[],
  test: (world: SmallWorld & { sessionId: string }) => Promise<void>,
  config: Parameters<SmallWorld["create"]>[0] = {},
): Promise<void> {
  await inSmallWorld([[say(TALK)], [say(TALK)], ...turns], async (world) => {
    const sessionId = await world.create(config);
    for (const prompt of ["first", "second"]) await world.send(sessionId, `${prompt}: ${TALK}`);
    await test({ ...world, sessionId });
  });
}

const lengthOf = (value: unknown) => JSON.stringify(value).length;

test("an overflow is answered with one summary, and the prompt is answered", async () => {
  await afterTalk([tooLong, [say("what was said")], [say("here you are")]], async (world) => {
    const { client, provider, send, sessionId } = world;
    await send(sessionId, "the third");
    expect(client.of("session.error")).toEqual([]);
    expect(client.of("session.compaction_complete")).toMatchObject([{ success: true, trigger: "context_limit_retry" }]);
    expect(client.of("assistant.message").at(-1)?.content).toBe("here you are");
    const [refused, summary, last] = provider.requests.slice(-3);
    expect(lengthOf(summary?.messages)).toBeLessThan(0.7 * lengthOf(refused?.messages));
    expect(lengthOf(summary?.messages)).toBeGreaterThan(0.2 * lengthOf(refused?.messages));
    expect(JSON.stringify(last?.messages)).toContain("what was said");
    provider.assertSpent();
  });
});

test("a second overflow in a row ends the run with words, and the session takes the next prompt", async () => {
  await afterTalk([tooLong, [say("what was said")], tooLong, [say("after all")]], async (world) => {
    const { client, send, sessionId } = world;
    await send(sessionId, "the third");
    expect(client.of("session.compaction_complete")).toHaveLength(1);
    expect(client.of("session.error")).toEqual([
      {
        errorType: "context_limit",
        statusCode: 400,
        message: expect.stringMatching(
          /^The conversation is longer than the model takes, also after a summary .*8192 tokens/,
        ),
      },
    ]);
    await send(sessionId, "again");
    expect(client.of("assistant.message").at(-1)?.content).toBe("after all");
  });
});

test("an overflow after an answer is not one in a row", async () => {
  const look = call("list_agents");
  const turns = [tooLong, [say("one")], [say(TALK), look], tooLong, [say("two")], [say("done")]];
  await afterTalk(turns, async ({ client, send, sessionId }) => {
    await send(sessionId, "the third");
    expect(client.of("session.compaction_complete").map(({ summaryContent }) => summaryContent)).toEqual([
      "one",
      "two",
    ]);
    expect(client.of("session.error")).toEqual([]);
    expect(client.of("assistant.message").at(-1)?.content).toBe("done");
  });
});

test("a summary that overflows as well is asked for with less of the history", async () => {
  await afterTalk([tooLong, tooLong, tooLong, [say("short")], [say("done")]], async (world) => {
    const { client, provider, send, sessionId } = world;
    await send(sessionId, "the third");
    expect(client.of("assistant.message").at(-1)?.content).toBe("done");
    expect(client.of("session.compaction_start")).toHaveLength(1);
    const sizes = provider.requests.slice(-5, -1).map(({ messages }) => lengthOf(messages));
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(4);
  });
});

test("without a summary the oldest messages are dropped, and it goes on", async () => {
  await afterTalk([tooLong, [say(" ")], [say("done")]], async ({ client, provider, send, sessionId }) => {
    await send(sessionId, "the third");
    expect(client.of("session.compaction_complete")).toMatchObject([{ success: false }]);
    expect(client.of("session.truncation")).toHaveLength(1);
    expect(client.of("assistant.message").at(-1)?.content).toBe("done");
    expect(provider.requests.at(-1)?.messages.length).toBeLessThan(5);
  });
});

test("a prompt that is too long by itself is not summarised", async () => {
  await afterTalk([tooLong], async ({ client, send, sessionId }) => {
    await send(sessionId, "x".repeat(100_000));
    expect(client.of("session.compaction_start")).toEqual([]);
    expect(client.of("session.error")).toMatchObject([
      {
        errorType: "context_limit",
        message: expect.stringContaining(
          "This prompt, with the system prompt and the tools, is longer than the model takes",
        ),
      },
    ]);
  });
});

test("where compaction is switched off, the error says so", async () => {
  const off = { infiniteSessions: { enabled: false } };
  await afterTalk(
    [tooLong],
    async ({ client, send, sessionId }) => {
      await send(sessionId, "the third");
      expect(client.of("session.compaction_start")).toEqual([]);
      expect(client.of("session.error")[0]?.message).toContain("infiniteSessions");
    },
    off,
  );
});
