/**
 * A crash after each single commit of a run: the database as it was then is opened by another runtime, and the four laws hold in what
 * comes of it, whether pending work goes on or not. What a kill -9 leaves is always the state after some commit.
 */
import { expect, test } from "vitest";
import { CUSTOM_AGENTS } from "../laws/cell.ts";
import { brokenLaws, leftBehind } from "../laws/checker.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { type Plan, promptOf } from "../laws/plan.ts";
import type { World } from "../laws/world.ts";
import { Commits } from "./every-commit.ts";

const SESSION = "crashed";
const leaf = (name: string): Plan => ({
  turns: [{ moves: [{ call: "probe", args: { what: name } }] }],
  says: `answer of ${name}`,
});
/** A sync agent with one below it, a background agent, and a message to it while it works. */
const PLAN: Plan = {
  turns: [
    {
      moves: [
        { name: "back", task: leaf("back"), mode: "background" },
        {
          name: "lead",
          agent: "lead",
          task: { turns: [{ moves: [{ name: "below", task: leaf("below") }] }], says: "answer of lead" },
        },
      ],
    },
    { moves: [{ call: "write_agent", args: { agent_id: "$agent:0", message: promptOf(leaf("again")) } }] },
  ],
  says: "answer of main",
};

async function runPlan(world: World): Promise<void> {
  const client = world.connect({ attached: "sdk" });
  await world.createSession(client, { sessionId: SESSION, customAgents: CUSTOM_AGENTS });
  await client.call("session.send", { sessionId: SESSION, prompt: promptOf(PLAN) });
  await client.until("session.idle");
}

async function afterCrash(world: World, continuePendingWork: boolean): Promise<string[]> {
  const client = world.connect({ attached: "sdk" });
  await world.resumeSession(client, SESSION, { customAgents: CUSTOM_AGENTS, continuePendingWork });
  await client.answerOpen(SESSION);
  await client.atRest(SESSION);
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: SESSION });
  return [...brokenLaws(events, { clients: [client], maxDepth: 6 }), ...leftBehind(world.runtime)];
}

test.each([false, true])(
  "a run that ends after any of its commits keeps the laws; pending work goes on: %s",
  async (goesOn) => {
    using commits = await Commits.of(runPlan, {
      look: () => undefined,
      options: goesOn ? { callId: "call_0" } : {}, // Some endpoints count anew for each answer.
    });
    expect(commits.all.length).toBeGreaterThan(30);
    const problems: Record<number, string[]> = {};
    for (const commit of commits.all) {
      await using world = await commits.open(commit);
      const broken = await afterCrash(world, goesOn).catch((error: unknown) => [String(error)]);
      if (broken.length > 0) problems[commit.at] = broken;
    }
    expect(problems).toEqual({});
  },
  120_000,
);
