/** However small the model's context is: what it is sent never has a call without its result, or a result without its call. */
import { describe, expect, test } from "vitest";
import type { Message, ModelRequest } from "../../packages/retinue/src/models/provider.ts";
import { type Plan, promptOf } from "./plan.ts";
import { World } from "./world.ts";

/** What a provider would refuse. */
function problems(messages: readonly Message[]): string[] {
  const found: string[] = [];
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.delete(message.callId)) found.push(`a result without its call: ${message.callId}`);
      continue;
    }
    if (open.size > 0) found.push(`calls without results: ${[...open].join(", ")}`);
    open = new Set(message.role === "assistant" ? message.calls.map(({ id }) => id) : []);
  }
  if (open.size > 0) found.push(`calls without results at the end: ${[...open].join(", ")}`);
  return found;
}

/** About 4,000 characters of result for a short call: the plan itself must survive a summary. */
const call = { call: "bash", args: { command: "seq 1 900" } };
const plan: Plan = {
  turns: Array.from({ length: 14 }, (_, at) => ({ moves: at % 3 === 0 ? [call, call, call] : [call] })),
  says: "done",
};

describe.each([
  // The summary is a plan as well: the model starts every prompt from its last plan.
  { what: "a model that summarises", summary: promptOf({ turns: [{ moves: [call] }], says: "done after a summary" }) },
  { what: "a model that gives no summary, so that old messages are dropped", summary: undefined },
])("$what", ({ summary }) => {
  test("is never sent a call and its result apart", async () => {
    const requests: ModelRequest[] = [];
    await using world = new World({
      maxPromptTokens: 14_000,
      ...(summary ? { summary } : {}),
      onRequest: (request) => requests.push({ ...request, messages: [...request.messages] }),
    });
    const client = world.connect({ attached: "sdk" });
    const sessionId = await world.createSession(client);
    // The plan must be the last thing that a dropped history still holds, so each prompt brings its own.
    for (let round = 0; round < 3; round++) {
      const after = client.events.length;
      await client.call("session.send", { sessionId, prompt: promptOf(plan) });
      await client.until("session.idle", undefined, { after });
    }
    const kinds = new Set(client.events.map(({ type }) => type));
    expect(kinds.has("session.compaction_complete") || kinds.has("session.truncation")).toBe(true);
    if (!summary) expect(kinds.has("session.truncation")).toBe(true);
    expect(requests.length).toBeGreaterThan(10);
    expect(requests.flatMap(({ messages }) => problems(messages))).toEqual([]);
  });
});
