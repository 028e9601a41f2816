/** A fork or a cut in the middle of the work of sub-agents: everything that had started by then has one end in what is left. */
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { agentNamed, by, byHeld, delegate, main, mainHeld, never, quiet, send } from "../../tasks/test-tasks.ts";
import { inSmallWorld, type ReceivedEvent, type SmallWorld, type TestClient } from "./small-world.ts";

const STARTS = /^(subagent\.started|tool\.execution_start|permission\.requested|external_tool\.requested|hook\.start)$/;
const ENDS =
  /^(subagent\.(completed|failed)|tool\.execution_complete|permission\.completed|external_tool\.completed|hook\.end)$/;
const PROBE = { name: "probe", description: "Probes.", parameters: { type: "object" }, skipPermission: true };

async function logOf(client: TestClient, sessionId: string): Promise<ReceivedEvent[]> {
  const { events } = await client.call("session.getMessages", { sessionId });
  return events as unknown as ReceivedEvent[];
}

/** How often each thing has started less how often it has ended, where that is not 0. */
function unbalanced(events: readonly ReceivedEvent[]): string[] {
  const open = new Map<string, number>();
  const count = (key: string, by: number) => open.set(key, (open.get(key) ?? 0) + by);
  for (const { type, agentId, data } of events) {
    const kind = type.split(/[._]/)[0];
    const key = `${kind} ${kind === "subagent" ? agentId : (data.hookInvocationId ?? data.requestId ?? `${agentId}/${data.toolCallId}`)}`;
    if (STARTS.test(type)) count(key, 1);
    else if (ENDS.test(type)) count(key, -1);
  }
  return [...open].filter(([, left]) => left !== 0).map(([key, left]) => `${key}: ${left}`);
}

/** `outer` has started `inner`, which waits for the host; `other` works in the background. */
async function atWork(world: SmallWorld): Promise<string> {
  const sessionId = await world.create({ tools: [PROBE] });
  await send(world, sessionId);
  await world.client.received("external_tool.requested");
  return sessionId;
}
const TURNS = () => [
  main(delegate("other", { mode: "background" }), delegate("outer")),
  byHeld("other", never()),
  by("outer", delegate("inner")),
  by("inner", call("probe", {})),
];

test("a fork of a session whose sub-agents are at work has an end for every start, before and after it is opened", async () => {
  await inSmallWorld(TURNS(), async (world) => {
    const { client, runtime } = world;
    const sessionId = await atWork(world);
    const { sessionId: fork } = await client.call("sessions.fork", { sessionId });
    const stored = await runtime.sessions.store.events.read(fork);
    expect(unbalanced(stored.map(({ json }) => JSON.parse(json) as ReceivedEvent))).toEqual([]);
    const parents = stored.map(({ json }) => JSON.parse(json) as { id: string; parentId: string | null });
    for (const [at, { parentId }] of parents.entries()) expect(parentId).toBe(parents[at - 1]?.id ?? null);
    await client.call("session.resume", { sessionId: fork, continuePendingWork: false });
    const events = await logOf(client, fork);
    expect(unbalanced(events)).toEqual([]);
    const ends = events.filter(({ type }) => type === "subagent.completed");
    expect(ends.map(({ data }) => data.cancelled)).toEqual([true, true, true]);
    expect(unbalanced(await logOf(client, sessionId))).not.toEqual([]); // The original still works.
  });
});

test("the model of a fork reads that its open calls were interrupted, and a prompt starts nothing twice", async () => {
  await inSmallWorld([...TURNS(), main(say("a new future"))], async (world) => {
    const { client, provider } = world;
    const { sessionId: fork } = await client.call("sessions.fork", { sessionId: await atWork(world) });
    await client.call("session.resume", { sessionId: fork });
    const after = client.events.length;
    await client.call("session.send", { sessionId: fork, prompt: "go on otherwise" });
    await client.received("session.idle", { after });
    const roles = provider.requests.at(-1)?.messages.map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "tool", "user"]);
    expect(unbalanced(await logOf(client, fork))).toEqual([]);
  });
});

test("a cut in the middle of the work of a sub-agent gives it an end, and the sub-agent takes no message for it", async () => {
  const turns = [main(delegate("dig")), by("dig", call("list_agents")), by("dig", say("gold")), main(say("done"))];
  await inSmallWorld(turns, async (world) => {
    const { client, create } = world;
    const sessionId = await create();
    await world.send(sessionId, "go");
    const { id } = await agentNamed(client, sessionId, "dig");
    const inner = (await logOf(client, sessionId)).find(
      ({ type, agentId }) => type === "tool.execution_complete" && agentId === id,
    );
    await client.call("session.history.truncate", { sessionId, eventId: inner?.id ?? "" });
    expect(unbalanced(await logOf(client, sessionId))).toEqual([]);
    const agent = await agentNamed(client, sessionId, "dig");
    expect(agent).toMatchObject({ status: "cancelled" });
    expect(agent).not.toHaveProperty("latestResponse");
    const sent = await client.call("session.tasks.sendMessage", { sessionId, id, message: "more" });
    expect(sent).toEqual({ sent: false, error: expect.stringContaining("(cancelled)") });
  });
});

test("a cut before the second run of an agent leaves it idle with its first answer, and it takes a message", async () => {
  const turns = [
    main(delegate("dig")),
    by("dig", say("gold")),
    main(say("done")),
    by("dig", new Error("no model")),
    main(say("seen")),
    by("dig", say("silver")),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async (world) => {
    const { client, create } = world;
    const sessionId = await create();
    await world.send(sessionId, "go");
    const { id } = await agentNamed(client, sessionId, "dig");
    const more = async (text: string) => {
      const after = client.events.length;
      await client.call("session.tasks.sendMessage", { sessionId, id, message: text });
      await client.received("session.idle", { after });
    };
    await more("silver?");
    expect((await agentNamed(client, sessionId, "dig")).status).toBe("failed");
    const second = (await logOf(client, sessionId)).findLast(({ type }) => type === "subagent.started");
    await client.call("session.history.truncate", { sessionId, eventId: second?.id ?? "" });
    const agent = await agentNamed(client, sessionId, "dig");
    expect(agent).toMatchObject({ status: "idle", latestResponse: "gold" });
    expect(agent).not.toHaveProperty("error");
    await more("silver!");
    expect((await agentNamed(client, sessionId, "dig")).latestResponse).toBe("silver");
    expect(unbalanced(await logOf(client, sessionId))).toEqual([]);
  });
});

test("a cut while sub-agents are at work is refused, and changes nothing", async () => {
  await inSmallWorld([mainHeld(never())], async (world) => {
    const { client, create } = world;
    const sessionId = await create();
    await send(world, sessionId);
    await client.received("assistant.turn_start");
    const events = await logOf(client, sessionId);
    const eventId = events.at(-1)?.id ?? "";
    await expect(client.call("session.history.truncate", { sessionId, eventId })).rejects.toThrow("at work");
    await quiet(client, sessionId);
    expect((await logOf(client, sessionId)).slice(0, events.length)).toEqual(events);
  });
});

test("a fork and a cut between the question and the answer of a hook have an end for it", async () => {
  await inSmallWorld([main(say("over"))], async (world) => {
    const { client } = world;
    client.answers.set("hooks.invoke", () => ({}));
    const sessionId = await world.create({ hooks: true });
    await world.send(sessionId, "START");
    const ends = (await logOf(client, sessionId)).filter(({ type }) => type === "hook.end");
    const eventId = ends.at(-1)?.id ?? "";
    const { sessionId: fork } = await client.call("sessions.fork", { sessionId, toEventId: eventId });
    await client.call("session.history.truncate", { sessionId, eventId });
    for (const id of [fork, sessionId]) {
      const events = await logOf(client, id);
      expect(events.filter(({ type }) => type === "hook.end")).toHaveLength(ends.length);
      expect(unbalanced(events)).toEqual([]);
    }
  });
});
