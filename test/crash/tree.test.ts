/**
 * kill -9 at the event boundaries of a run with eight agents on three levels below the main one: after a restart the run ends as an
 * undisturbed one does. A sample of the boundaries; all of them with LAWS_FULL=1.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { brokenLaws } from "../laws/checker.ts";
import type { LawClient } from "../laws/law-client.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { type Plan, promptOf } from "../laws/plan.ts";
import { Crashable } from "./crashable.ts";

const SAMPLES = 28;
const AGENTS = [{ name: "lead", description: "Leads others.", prompt: "Lead.", nestedBackground: true }];

/** Asks the host, changes a file so that a second run would show, and answers. */
const leaf = (name: string): Plan => ({
  turns: [
    {
      moves: [
        { call: "probe", args: { what: name } },
        { call: "bash", args: { command: `echo ${name} >> effects.txt` } },
      ],
    },
  ],
  says: `answer of ${name}`,
});
const lead = (name: string, ...below: { task: Plan; name: string; agent?: string; mode?: "background" }[]): Plan => ({
  turns: [{ moves: below }],
  says: `answer of ${name}`,
});

const TREE = lead(
  "main",
  {
    name: "a",
    agent: "lead",
    task: lead(
      "a",
      { name: "a1", agent: "lead", task: lead("a1", { name: "a1x", task: leaf("a1x") }) },
      { name: "a2", task: leaf("a2") },
    ),
  },
  {
    name: "b",
    agent: "lead",
    mode: "background",
    task: lead("b", { name: "b1", mode: "background", task: leaf("b1") }, { name: "b2", task: leaf("b2") }),
  },
  { name: "c", task: leaf("c") },
);
const ANSWERS = Object.fromEntries(
  ["a", "a/a1", "a/a1/a1x", "a/a2", "b", "b/b1", "b/b2", "c"].map((at) => [at, `answer of ${at.split("/").at(-1)}`]),
);

interface Run {
  events: LawEvent[];
  /** By path. */
  answers: Record<string, string | undefined>;
  states: string[];
  effects: string[];
  clients: LawClient[];
}

/** Runs the tree, and kills the process when the client has seen this many recorded events. */
async function run(crashable: Crashable, sessionId: string, killAt = Number.POSITIVE_INFINITY): Promise<Run> {
  const workedOn = new Set<string>();
  let seen = 0;
  let isKilled = false;
  let killed = Promise.resolve();
  const first = await crashable.connect({
    attached: "sdk",
    workedOn,
    onEvent: ({ ephemeral }) => {
      if (ephemeral || ++seen !== killAt) return;
      isKilled = true;
      killed = crashable.kill();
    },
  });
  const config = { ...crashable.session, ...first.abilities, customAgents: AGENTS };
  const sent = (async () => {
    await first.call("session.create", { ...config, sessionId });
    await first.call("session.send", { sessionId, prompt: promptOf(TREE) });
    await first.until("session.idle");
  })();
  await sent.catch((error: unknown) => {
    if (!isKilled) throw error;
  });
  if (!isKilled) return await end(crashable, sessionId, [first]);
  await killed;
  await crashable.launch();
  const second = await crashable.connect({ attached: "sdk", workedOn });
  await second.call("session.resume", { ...config, sessionId, continuePendingWork: true });
  await second.answerOpen(sessionId);
  await second.atRest(sessionId);
  // Killed before the prompt was acknowledged: the client sends it again.
  const { events } = await second.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  if (!events.some(({ type }) => type === "user.message")) {
    await second.call("session.send", { sessionId, prompt: promptOf(TREE) });
    await second.until("session.idle");
  }
  return await end(crashable, sessionId, [first, second]);
}

async function end(crashable: Crashable, sessionId: string, clients: LawClient[]): Promise<Run> {
  const client = clients.at(-1) as LawClient;
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  const tasks = await client.tasks(sessionId);
  const file = path.join(crashable.folders.folder, "effects.txt");
  await client.call("session.destroy", { sessionId });
  return {
    events,
    clients,
    answers: Object.fromEntries(tasks.map(({ pathNames = [], result }) => [pathNames.join("/"), result])),
    states: [...new Set(tasks.map(({ status }) => status))].sort(),
    effects: existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [],
  };
}

function problemsOf({ events, answers, states, effects, clients }: Run): string[] {
  const repeated = effects.filter((name, at) => effects.indexOf(name) !== at);
  return [
    ...brokenLaws(events, { clients, maxDepth: 6 }),
    ...(JSON.stringify(answers, Object.keys(ANSWERS).sort()) === JSON.stringify(ANSWERS, Object.keys(ANSWERS).sort())
      ? []
      : [`other answers: ${JSON.stringify(answers)}`]),
    ...states.filter((status) => status !== "idle" && status !== "completed").map((status) => `an agent is ${status}`),
    ...repeated.map((name) => `${name} changed its file twice`),
  ];
}

test("a run of eight agents that is killed at any event boundary ends as an undisturbed one", async () => {
  let boundaries = 0;
  {
    await using crashable = await Crashable.start();
    const undisturbed = await run(crashable, "undisturbed");
    expect(problemsOf(undisturbed)).toEqual([]);
    expect(undisturbed.effects.toSorted()).toEqual(["a1x", "a2", "b1", "b2", "c"]);
    boundaries = undisturbed.events.length;
  }
  const step = process.env.LAWS_FULL ? 1 : boundaries / SAMPLES;
  const points = [
    ...new Set(
      Array.from({ length: Math.floor(boundaries / step) }, (_, at) => Math.max(1, Math.round((at + 1) * step))),
    ),
  ];
  const problems: Record<number, string[]> = {};
  const next = points.values();
  const worker = async () => {
    for (const point of next) {
      await using crashable = await Crashable.start();
      const found = await run(crashable, `killed-at-${point}`, point).then(problemsOf, (error: unknown) => [
        String(error),
      ]);
      if (found.length > 0) problems[point] = found;
    }
  };
  await Promise.all([worker(), worker()]);
  console.log(`killed at ${points.length} of ${boundaries} event boundaries`);
  expect(problems).toEqual({});
}, 1_800_000);
