/** A session that goes back, one event after the other, until nothing of it is left, and is copied up to each of them: the laws hold in every log. */
import { expect, test } from "vitest";
import { brokenLaws, leftBehind } from "./checker.ts";
import type { LawEvent } from "./law-event.ts";
import { type Plan, promptOf } from "./plan.ts";
import { World } from "./world.ts";

const leaf = (name: string): Plan => ({
  turns: [{ moves: [{ call: "probe", args: { what: name } }] }],
  says: `answer of ${name}`,
});
const PLAN: Plan = {
  turns: [
    { moves: [{ name: "back", task: leaf("back"), mode: "background" }] },
    { moves: [{ name: "first", task: leaf("first") }] },
    { moves: [{ call: "write_agent", args: { agent_id: "$agent:0", message: promptOf(leaf("again")) } }] },
  ],
  says: "answer of main",
};

test("a session whose model has one id for all calls keeps the laws wherever it goes back to, and goes on from there", async () => {
  await using world = new World({ callId: "call_0" });
  const client = world.connect({ attached: "sdk" });
  const sessionId = await world.createSession(client, { gates: [{ command: "true" }] });
  const run = async () => {
    const after = client.events.length;
    await client.call("session.send", { sessionId, prompt: promptOf(PLAN) });
    await client.until("session.idle", undefined, { after });
  };
  const log = async () => (await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId })).events;
  const problems: Record<string, string[]> = {};
  const judge = async (where: string) => {
    const witness = { clients: [client], maxDepth: 6, isGivenUp: true };
    const found = [...brokenLaws(await log(), witness), ...leftBehind(world.runtime)];
    if (found.length > 0) problems[where] = found;
  };
  await run();
  const whole = await log();
  expect(whole.length).toBeGreaterThan(60);
  for (const [at, { id, type }] of [...whole.entries()].reverse()) {
    if (at === 0) continue;
    await client.call("session.history.truncate", { sessionId, eventId: id });
    await judge(`before ${at}: ${type}`);
    if (at % 15 !== 0) continue;
    await run();
    await judge(`before ${at}: ${type}, and gone on`);
    await client.call("session.history.truncate", { sessionId, eventId: id }).catch(() => undefined);
  }
  expect(problems).toEqual({});
});

test("a copy of a session up to any of its events keeps the laws, and each run has one parent", async () => {
  await using world = new World({ callId: "call_0" });
  const client = world.connect({ attached: "sdk" });
  const sessionId = await world.createSession(client, { gates: [{ command: "true" }] });
  await client.call("session.send", { sessionId, prompt: promptOf(PLAN) });
  await client.until("session.idle");
  const { events: whole } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  const problems: Record<string, string[]> = {};
  for (const [at, { id, type }] of whole.entries()) {
    if (at === 0) continue;
    const copy = await client.call<{ sessionId: string }>("sessions.fork", { sessionId, toEventId: id });
    await world.resumeSession(client, copy.sessionId, { gates: [{ command: "true" }], continuePendingWork: false });
    await client.atRest(copy.sessionId);
    const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", copy);
    const parents = events
      .filter((event) => event.type === "subagent_session_boundary")
      .map(({ data }) => data.parentId);
    const found = brokenLaws(events, { clients: [client], maxDepth: 6, isGivenUp: true });
    if (new Set(parents).size > 1) found.push(`parents: ${[...new Set(parents)].join(", ")}`);
    if (found.length > 0) problems[`up to ${at}: ${type}`] = found;
    await client.call("session.destroy", copy);
  }
  expect(problems).toEqual({});
});
