/**
 * A crash after each commit of a fleet in worktrees, a task of an MCP server, an autopilot run with a gate, and a consolidation: what goes on
 * does each thing once. A sample of the commits; all of them with LAWS_FULL=1.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type ServedTask, TaskServer } from "../../packages/retinue/src/mcp/fixtures/task-server.ts";
import { brokenLaws, leftBehind } from "../laws/checker.ts";
import type { LawClient } from "../laws/law-client.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { type Plan, promptOf } from "../laws/plan.ts";
import type { World } from "../laws/world.ts";
import { type Commit, Commits } from "./every-commit.ts";

const SESSION = "crashed";

interface Scenario<Seen> {
  config: object;
  /** Every how many commits it is tried. */
  every: number;
  /** It is resumed without its pending work. */
  isGivenUp?: boolean;
  run(client: LawClient, world: World): Promise<void>;
  look(world: World): Seen;
  /** Just before the session is resumed. */
  atCrash?(commit: Commit<Seen>): void;
  judge(after: { world: World; client: LawClient; events: readonly LawEvent[] }): Promise<string[]> | string[];
}

/** Every problem after any of its commits, by the commit. */
async function problemsOf<Seen>(scenario: Scenario<Seen>): Promise<Record<string, string[]>> {
  const begin = async (world: World) => {
    const client = world.connect({ attached: "sdk" });
    await world.createSession(client, { sessionId: SESSION, ...scenario.config });
    await scenario.run(client, world);
  };
  const { look, atCrash, every } = scenario;
  // Some endpoints give one id to all calls.
  const options = { callId: "call_0" };
  using commits = await Commits.of(begin, { look, options, every: process.env.LAWS_FULL ? 1 : every });
  expect(commits.all.length).toBeGreaterThan(4);
  const problems: Record<string, string[]> = {};
  for (const commit of commits.all) {
    atCrash?.(commit);
    await using world = await commits.open(commit);
    const found = await afterCrash(world, scenario).catch((error: unknown) => [String(error)]);
    if (found.length > 0) problems[`after commit ${commit.at}`] = found;
  }
  return problems;
}

async function afterCrash<Seen>(world: World, { config, judge, isGivenUp = false }: Scenario<Seen>): Promise<string[]> {
  const client = world.connect({ attached: "sdk" });
  await world.resumeSession(client, SESSION, { ...config, continuePendingWork: !isGivenUp });
  await client.answerOpen(SESSION);
  await client.atRest(SESSION);
  const events = await logOf(client);
  return [
    ...brokenLaws(events, { clients: [client], maxDepth: 6, isGivenUp }),
    ...leftBehind(world.runtime),
    ...(await judge({ world, client, events })),
  ];
}

const logOf = async (client: LawClient): Promise<LawEvent[]> =>
  (await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: SESSION })).events;

const unless = (isFine: boolean, problem: string): string[] => (isFine ? [] : [problem]);
const wasDone = (events: readonly LawEvent[], type: string) => events.filter((event) => event.type === type);

/** Done at the second try when a crash has cut off the first; both together change the file once. */
const appends = (line: string): Plan => {
  const command = `grep -qx ${line} log.txt || echo ${line} >> log.txt`;
  return {
    turns: [{ moves: [{ call: "bash", args: { command } }] }, { moves: [{ call: "bash", args: { command } }] }],
    says: `did ${line}`,
  };
};

test("a fleet in worktrees that ends after any of its commits does each todo once, and leaves nothing", async () => {
  const git = (folder: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      cwd: folder,
      encoding: "utf8",
    });
  const todos = ["one", "two"].map((id) => ({ id, title: id, description: promptOf(appends(id)) }));
  const problems = await problemsOf({
    config: {},
    every: 9,
    look: () => undefined,
    async run(client, { folder }) {
      git(folder, "init", "--quiet", "--template=", "--initial-branch=main");
      writeFileSync(path.join(folder, "log.txt"), "begin\n");
      git(folder, "add", ".");
      git(folder, "commit", "--quiet", "-m", "first");
      const deps = [{ todoId: "two", dependsOn: "one" }];
      await client.call("session.fleet.start", { sessionId: SESSION, todos, deps, isolation: "worktree" });
      await client.until("session.idle");
    },
    async judge({ world: { folder, home }, client, events }) {
      if (!events.some(({ data }) => data.agentType === "fleet")) return []; // It was not started yet.
      const report = await client.call<{
        status: string;
        results: { todoId: string; status: string; attempts: number }[];
      }>("session.fleet.read", { sessionId: SESSION });
      const log = readFileSync(path.join(folder, "log.txt"), "utf8");
      const folders = path.join(home, "worktrees");
      const refs = git(folder, "for-each-ref", "--format=%(refname)").trim();
      return [
        ...unless(
          report.status === "completed" &&
            report.results.length === 2 &&
            report.results.every(({ status, attempts }) => status === "done" && attempts === 1),
          JSON.stringify(report),
        ),
        ...unless(log === "begin\none\ntwo\n", `log.txt is ${JSON.stringify(log)}`),
        ...unless(git(folder, "worktree", "list").trim().split("\n").length === 1, "git knows a worktree"),
        ...unless(!existsSync(folders) || readdirSync(folders).length === 0, "the folder of a worktree is left"),
        ...unless(refs === "refs/heads/main", `refs: ${refs}`),
        ...unless(git(folder, "status", "--porcelain").trim() === "M log.txt", git(folder, "status", "--porcelain")),
      ];
    },
  });
  expect(problems).toEqual({});
});

test.each(["2025", "2026"] as const)(
  "a task of a %s server is called for once, and ends once, after a crash at any commit",
  async (dialect) => {
    let isFinished = true;
    const server = await TaskServer.start({
      dialect,
      onTask: (task) => void (isFinished && server.complete(task, "worked")),
    });
    await using _ = server;
    const problems = await problemsOf({
      config: { mcpServers: { jobs: server.config } },
      every: 4,
      look: () => ({ calls: server.of("tools/call").length, tasks: structuredClone([...server.tasks]) }),
      async run(client) {
        const plan: Plan = {
          turns: [{ moves: [{ call: "jobs-worker", args: { job: "it" } }] }],
          says: "the main agent is done",
        };
        isFinished = false;
        await client.call("session.send", { sessionId: SESSION, prompt: promptOf(plan) });
        const task = await server.task();
        await client.until("assistant.message", ({ data }) => data.content === "the main agent is done");
        isFinished = true;
        server.complete(task, "worked");
        await client.until("session.idle");
      },
      // The server stands where it stood, and has ended what it worked on when it is asked again.
      atCrash({ seen }) {
        server.requests.splice(0, server.requests.length, ...server.of("tools/call").slice(0, seen.calls));
        server.tasks.clear();
        for (const [id, task] of structuredClone(seen.tasks) as [string, ServedTask][]) {
          server.tasks.set(id, task);
          if (task.status === "working") server.complete(task, "worked", { tells: false });
        }
      },
      judge({ events }) {
        const calls = server.of("tools/call").length;
        const began = wasDone(events, "subagent.started").length;
        const ended = wasDone(events, "subagent.completed").length;
        const interrupted = wasDone(events, "tool.execution_complete").filter(({ data }) => !data.success).length;
        const asked = wasDone(events, "assistant.message").length > 0;
        return [
          ...unless(calls <= 1, `the server was called ${calls} times`),
          ...unless(began === ended, `${began} tasks began and ${ended} were completed`),
          ...unless(!asked || began + interrupted >= 1, "the model was told nothing of its call"),
        ];
      },
    });
    expect(problems).toEqual({});
  },
);

const done: Plan["turns"] = [{ moves: [{ call: "task_complete", args: { summary: "made" } }] }];
const make: Plan["turns"] = [{ moves: [{ call: "bash", args: { command: "echo made > made.txt" } }] }];

const autopilot = {
  config: { gates: [{ command: "echo asked >> asked.txt; test -f made.txt" }] },
  every: 6,
  look: () => undefined,
  async run(client: LawClient) {
    const plan: Plan = { turns: [...done, ...make, ...make, ...done, ...done], says: "stopped" };
    await client.call("session.mode.set", { sessionId: SESSION, mode: "autopilot" });
    await client.call("session.send", { sessionId: SESSION, prompt: promptOf(plan) });
    await client.until("session.idle");
  },
};
const endsOf = (events: readonly LawEvent[]): string =>
  wasDone(events, "session.autopilot_ended")
    .map(({ data }) => data.reason)
    .join(", ");

test("autopilot with a gate that ends after any of its commits is completed once, and its gate is asked", async () => {
  const problems = await problemsOf({
    ...autopilot,
    judge({ world: { folder }, events }) {
      if (wasDone(events, "user.message").length === 0) return [];
      const accepted = wasDone(events, "session.task_complete").filter(({ data }) => data.success !== false);
      const asked = readFileSync(path.join(folder, "asked.txt"), "utf8").trim().split("\n").length;
      const checks = wasDone(events, "gate.completed").filter(({ data }) => !data.cancelled).length;
      return [
        ...unless(endsOf(events) === "completed", `autopilot ended: ${endsOf(events)}`),
        ...unless(accepted.length === 1, `completion was accepted ${accepted.length} times`),
        ...unless(checks >= 1 && asked >= checks, `${checks} checks, and the gate was asked ${asked} times`),
      ];
    },
  });
  expect(problems).toEqual({});
});

test("autopilot that was given up after any of its commits is completed by the next prompt", async () => {
  const problems = await problemsOf({
    ...autopilot,
    isGivenUp: true,
    async judge({ client, events }) {
      const after = client.events.length;
      const plan: Plan = { turns: [...make, ...done], says: "stopped" };
      const prompt = promptOf(plan);
      await client.call("session.send", { sessionId: SESSION, prompt, agentMode: "autopilot" });
      await client.until("session.idle", undefined, { after });
      const log = await logOf(client);
      const ends = endsOf(log.slice(events.length));
      return [
        ...brokenLaws(log, { clients: [client], maxDepth: 6, isGivenUp: true }),
        ...unless(ends === "completed", `the next prompt ended: ${ends}`),
      ];
    },
  });
  expect(problems).toEqual({});
});

test("a consolidation that ends after any of its commits keeps each note once, and lets the next one begin", async () => {
  const add: Plan["turns"] = [
    { moves: [{ call: "context_board", args: { command: "add", text: "The door is blue." } }] },
  ];
  const rem = (): Plan => ({
    turns: [
      {
        moves: [
          {
            task: { turns: [...add, ...add], says: "added" },
            name: "rem-consolidate",
            agent: "rem-agent",
            mode: "background",
          },
        ],
      },
    ],
    says: "asked",
  });
  const problems = await problemsOf({
    config: { memory: { enabled: true } },
    every: 6,
    look: () => undefined,
    async run(client) {
      await client.call("session.send", { sessionId: SESSION, prompt: "The door is blue." });
      await client.until("session.idle");
      const after = client.events.length;
      await client.call("session.send", { sessionId: SESSION, prompt: promptOf(rem()) });
      await client.until("session.idle", undefined, { after });
    },
    async judge({ world, client, events }) {
      const notes = await world.runtime.sessions.store.boards.read({ repository: world.folder, branch: "" });
      const began = wasDone(events, "subagent.started").length;
      const ended = wasDone(events, "subagent.completed").length;
      const after = client.events.length;
      await client.call("session.send", { sessionId: SESSION, prompt: promptOf(rem()) });
      await client.until("session.idle", undefined, { after });
      const again = (await logOf(client)).filter(({ type }) => type === "subagent.completed").length - ended;
      return [
        ...unless(began === ended, `${began} began and ${ended} were completed`),
        ...unless(notes.length === ended, `${notes.length} notes of ${ended} consolidations`),
        ...unless(
          again === 1 || wasDone(events, "user.message").length === 0,
          `the next consolidation was completed ${again} times`,
        ),
      ];
    },
  });
  expect(problems).toEqual({});
});
