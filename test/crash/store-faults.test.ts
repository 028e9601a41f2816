/**
 * A store that fails at any single call of a run, one run for each call: nothing crashes, nothing has a wrong end, nothing that was
 * acknowledged is lost, somebody is told, and the work goes on.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { brokenLaws, leftBehind } from "../laws/checker.ts";
import type { LawClient } from "../laws/law-client.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { type Plan, promptOf } from "../laws/plan.ts";
import { World } from "../laws/world.ts";
import { type Fault, FaultyStore } from "../support/faulty-store.ts";

const PLAN: Plan = {
  turns: [
    { moves: [{ call: "probe", args: { what: "first" } }] },
    { moves: [{ call: "guarded_probe", args: { what: "second" } }] },
    { moves: [{ task: { turns: [{ moves: [{ call: "probe" }] }], says: "sync said" }, name: "sync" }] },
    {
      moves: [
        { task: { turns: [{ moves: [{ call: "probe" }] }], says: "behind said" }, name: "behind", mode: "background" },
      ],
    },
  ],
  says: "root said",
};

/** How often a client tries again what a store refused. */
const TRIES = 8;

interface Outcome {
  problems: string[];
  failed: readonly string[];
  calls: number;
}

const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));

/** One run of everything a session does, with a store that fails once or for a while. */
async function run(fault: Fault): Promise<Outcome> {
  const store = new FaultyStore();
  store.failAt(fault);
  await using world = new World({ openStore: store.open });
  const refusals: string[] = [];
  const insist = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        const text = String(error);
        if (tries === TRIES || !/could not be/.test(text)) throw error;
        refusals.push(text);
      }
    }
  };
  const problems: string[] = [];
  const client = world.connect({ attached: "sdk", insists: insist });
  const sessionId = await insist(() => world.createSession(client));
  const said = await prompted({ client, sessionId, insist });
  const { sessionId: fork } = await insist(() => client.call<{ sessionId: string }>("sessions.fork", { sessionId }));
  await insist(() => client.call("session.destroy", { sessionId }));
  const next = world.connect({ attached: "sdk", insists: insist });
  await insist(() => world.resumeSession(next, sessionId));
  await prompted({ client: next, sessionId, insist, plan: { says: "after the resume" } });
  if (!(await insist(() => next.call<{ success: boolean }>("session.delete", { sessionId: fork }))).success)
    problems.push("the fork was not deleted");
  const left = leftBehind(world.runtime);
  store.mend();
  await world.restart();
  const last = world.connect({ attached: "sdk" });
  await world.resumeSession(last, sessionId);
  await last.atRest(sessionId);
  const { events } = await last.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  problems.push(...brokenLaws(events, { clients: [client, next, last], maxDepth: 6 }), ...left);
  problems.push(...lost(events, [client, next]), ...said);
  if (!JSON.stringify(events).includes("after the resume")) problems.push("the work did not go on");
  const told = [client, next].flatMap(({ events }) => events).filter(({ type }) => type === "session.error");
  const isQuiet = store.failed.every((name) => QUIET.test(name));
  if (store.failed.length > 0 && refusals.length + told.length === 0 && !isQuiet) problems.push("nobody was told");
  return { problems, failed: store.failed, calls: store.calls.length };
}

/** Calls that are tried again without a word: reads for a moment, and giving back a lease. Nothing has happened when that succeeds. */
const QUIET =
  /^(?:(?:documents|sessions|events|inbox|leases)(?:\.(?:get|list|read|count|size|children|holder|release))?|transcripts\..*)$/;

interface Prompted {
  client: LawClient;
  sessionId: string;
  insist: <T>(work: () => Promise<T>) => Promise<T>;
  plan?: Plan;
}

/** Sends a prompt until it is answered: a run that a store has ended is begun again, as a person would. */
async function prompted({ client, sessionId, insist, plan = PLAN }: Prompted): Promise<string[]> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const after = client.events.length;
    await insist(() => client.call("session.send", { sessionId, prompt: promptOf(plan) }));
    const idle = await client.until("session.idle", undefined, { after });
    const since = client.events.slice(after);
    const answered = since.some(
      ({ type, data, agentId }) => type === "assistant.message" && !agentId && data.content === plan.says,
    );
    const isWhole = answered && !since.some(({ type }) => type === "session.error");
    if (isWhole && !idle.data.aborted) return [];
  }
  return ["the prompt was never answered"];
}

/** Events that a client was sent as recorded, and that the log does not have exactly once, in that order. */
function lost(events: readonly LawEvent[], clients: readonly LawClient[]): string[] {
  const places = new Map(events.map(({ id }, index) => [id, index]));
  const problems = places.size === events.length ? [] : ["an event is in the log twice"];
  for (const client of clients) {
    let latest = -1;
    for (const { id, type, ephemeral } of client.events) {
      if (ephemeral) continue;
      const at = places.get(id);
      if (at === undefined) problems.push(`${type} was sent and is not in the log`);
      else if (at <= latest) problems.push(`${type} was sent out of order`);
      else latest = at;
    }
  }
  return problems;
}

/** Runs at the same time: most of a run is waiting. */
const AT_ONCE = 8;

async function problemsAt(fault: Fault): Promise<{ words?: string; hasFailed: boolean }> {
  const { problems, failed } = await run(fault).catch((error: unknown) => ({
    problems: [String(error)],
    failed: ["it did not come to its end"],
  }));
  const words = `call ${fault.at} (${failed.join(", ")}): ${problems.join("; ")}`;
  return { words: problems.length > 0 ? words : undefined, hasFailed: failed.length > 0 };
}

test.each([
  { times: "once", calls: 1 },
  { times: "five times in a row", calls: 5 },
])(
  "a store that fails $times, at whichever call, crashes nothing, loses nothing that was acknowledged, and lets the work go on",
  async ({ calls }) => {
    const found: string[] = [];
    for (let at = 1, isOver = false; !isOver; at += AT_ONCE) {
      const outcomes = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => problemsAt({ at: at + i, calls })));
      found.push(...outcomes.flatMap(({ words }) => words ?? []));
      isOver = outcomes.some(({ hasFailed }) => !hasFailed);
    }
    expect(found).toEqual([]);
    expect(unhandled).toEqual([]);
  },
  240_000,
);
