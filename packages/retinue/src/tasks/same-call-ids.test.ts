/** Endpoints that number their calls for each answer: one id is used again and again, by several agents, before and after a restart. */
import { expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { by, delegate, main, resultsIn, send } from "./test-tasks.ts";

const sameId = (name: string, more: object = {}) => ({ ...delegate(name, more), id: "call_0" });

test("a second agent starts although its call has the id of the first one's", async () => {
  const turns = [
    main(sameId("dig")),
    by("dig", say("gold")),
    main(sameId("mine")),
    by("mine", say("coal")),
    main(say("both")),
  ];
  await inSmallWorld(turns, async (world) => {
    await send(world, await world.create());
    await world.client.received("session.idle");
    expect(resultsIn(world.provider.requests.at(-1))).toEqual([
      expect.stringContaining("gold"),
      expect.stringContaining("coal"),
    ]);
    world.provider.assertSpent();
  });
});

test("calls of agents that work at the same time have different ids, and the model gets each result under the id of its call", async () => {
  const look = call("report_intent", { intent: "Looking" }, "call_0");
  const turns = [
    main(delegate("dig"), delegate("mine")),
    by("dig", look),
    by("mine", look),
    by("dig", say("gold")),
    by("mine", say("coal")),
    main(say("both")),
  ];
  await inSmallWorld(turns, async (world) => {
    await send(world, await world.create());
    await world.client.received("session.idle");
    const ids = world.client.of("tool.execution_start").map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBe(4);
    for (const { messages } of world.provider.requests) {
      const asked = messages.flatMap((each) =>
        each.role === "assistant" ? (each.calls ?? []).map(({ id }) => id) : [],
      );
      expect(messages.flatMap((each) => (each.role === "tool" ? [each.callId] : []))).toEqual(asked);
    }
  });
});

test("the pieces of a call are told under the id that the call will have", async () => {
  const piece = (delta: string) => ({ type: "call_delta", id: "call_0", name: "report_intent", delta }) as const;
  const look = [piece('{"intent":'), piece('"Looking"}'), call("report_intent", { intent: "Looking" }, "call_0")];
  await inSmallWorld([look, look, [say("seen")]], async (world) => {
    await world.send(await world.create({ streaming: true }), "go");
    const begun = world.client.of("tool.execution_start").map(({ toolCallId }) => toolCallId);
    const pieces = world.client.of("assistant.tool_call_delta").map(({ toolCallId }) => toolCallId);
    expect(new Set(begun).size).toBe(2);
    expect(pieces).toEqual(begun.flatMap((id) => [id, id]));
  });
});

test("an id of an earlier process is not used again", async () => {
  const turns = [
    main(sameId("dig")),
    by("dig", say("gold")),
    main(say("one")),
    main(sameId("mine")),
    by("mine", say("coal")),
    main(say("two")),
  ];
  await inSmallWorld(
    turns,
    async (world) => {
      const sessionId = await world.create();
      await world.send(sessionId, "go");
      const { client } = await world.restart();
      await client.call("session.resume", { sessionId, requestPermission: true });
      await client.call("session.send", { sessionId, prompt: "go on" });
      await client.received("session.idle");
      expect(client.of("tool.execution_complete").at(-1)).toMatchObject({
        toolCallId: "call_0_2",
        result: { content: expect.stringContaining("coal") },
      });
    },
    { isOnDisk: true },
  );
});
