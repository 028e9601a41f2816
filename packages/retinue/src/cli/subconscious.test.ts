/** Consolidating sessions: by `/subconscious run`, and by a process of its own when a session is closed. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, type ModelRequest, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { type CliWorld, type ModelWorld, modelWorld } from "./test-world.ts";

const ON = { RETINUE_SUBCONSCIOUS: "on" };

interface Work {
  kind: string;
  status: string;
  sessionId: string;
  pid?: number;
  error?: string;
}

async function tasksOf(world: CliWorld): Promise<Work[]> {
  return JSON.parse((await world.run(["tasks", "--json"])).stdout);
}

/** Looks until the consolidation has this state; every look is a process of its own, so there is no need to wait between two. */
async function consolidation(world: CliWorld, isIt: (work: Work) => boolean): Promise<Work> {
  for (;;) {
    const found = (await tasksOf(world)).find((work) => work.kind === "consolidation" && isIt(work));
    if (found) return found;
  }
}
const hasEnded = ({ status }: Work) => !["starting", "running"].includes(status);

async function notesOf(world: CliWorld): Promise<{ text: string; agent: string; sessionId: string }[]> {
  return JSON.parse((await world.run(["board", "show", "--json"])).stdout).entries;
}

async function sessionsOf(world: CliWorld): Promise<string[]> {
  const sessions: { sessionId: string }[] = JSON.parse((await world.run(["sessions", "list", "--json"])).stdout);
  return sessions.map(({ sessionId }) => sessionId);
}

const isRem = ({ body }: ModelRequest) => JSON.stringify(body).includes("Your role: Memory Agent");

/** A rem-agent that keeps one note. */
const keeping = (request: ModelRequest) =>
  request.results.length === 0
    ? call("context_board", { command: "add", text: "The door is blue." })
    : say("Added one note.");

async function talk(world: ModelWorld, prompts: number, env: Record<string, string> = ON): Promise<string> {
  const { stderr } = await world.run(["-p", "the door is blue"], { env: prompts === 1 ? env : {} });
  const [, id = ""] = /session ([0-9a-f]{8})/.exec(stderr) ?? [];
  for (let at = 2; at <= prompts; at++)
    await world.run(["--resume", id, "-p", `prompt ${at}`], { env: at === prompts ? env : {} });
  return id;
}

test("a closed session with enough prompts is consolidated by a process that tasks shows, with the board and reading tools only", async () => {
  await using world = await modelWorld((request) => (isRem(request) ? keeping(request) : say("I see.")));
  const id = await talk(world, 3);
  const ended = await consolidation(world, hasEnded);
  expect(ended).toMatchObject({ status: "done", sessionId: expect.stringMatching(new RegExp(`^${id}`)) });
  expect(await notesOf(world)).toEqual([
    expect.objectContaining({ text: "The door is blue.", agent: "rem-agent", sessionId: ended.sessionId }),
  ]);
  const [request] = world.model.requests.filter(isRem);
  const tools = [...JSON.stringify(request?.body.tools).matchAll(/"function":\{"name":"(\w+)"/g)].map(
    ([, name]) => name,
  );
  expect(tools.sort()).toEqual(["context_board", "glob", "grep", "session_search", "view"]);
  expect(JSON.stringify(request?.body)).toContain("the door is blue");
  expect((await tasksOf(world)).filter(({ kind }) => kind === "consolidation")).toHaveLength(1);
  expect(await sessionsOf(world)).toEqual([ended.sessionId]);
});

test("an agent of the user called rem-agent gets no more tools or servers by it, and --continue never goes on with a consolidation", async () => {
  let reach = () => undefined as undefined;
  const reached = new Promise<void>((resolve) => {
    reach = () => void resolve();
  });
  await using world = await modelWorld((request) => {
    if (!JSON.stringify(request.body).includes("I am mine")) {
      if (request.prompt.includes("prompt 3")) writeFileSync(join(world.home, "mcp-config.json"), servers);
      return say("I see.");
    }
    reach();
    return new Promise(() => undefined);
  });
  mkdirSync(join(world.home, "agents"), { recursive: true });
  const spy = {
    command: process.execPath,
    args: ["-e", "fs.writeFileSync(process.argv[1], '')", join(world.root, "spy")],
  };
  const servers = JSON.stringify({ mcpServers: { spy } });
  const own = JSON.stringify({ spy });
  const head = `name: rem-agent\ndescription: mine\ntools: [bash, edit, context_board]\nmcp-servers: ${own}`;
  const mine = `---\n${head}\n---\nI am mine.\n`;
  writeFileSync(join(world.home, "agents", "rem-agent.agent.md"), mine);
  const id = await talk(world, 3);
  await reached;
  expect(existsSync(join(world.root, "spy"))).toBe(false);
  const [request] = world.model.requests.filter(({ body }) => JSON.stringify(body).includes("I am mine"));
  expect(JSON.stringify(request?.body.tools)).not.toMatch(/"name":"(bash|edit|create)"/);
  expect(await sessionsOf(world)).toEqual([expect.stringMatching(new RegExp(`^${id}`))]);
  const { stderr } = await world.run(["--continue", "-p", "and now"]);
  expect(stderr).toContain(`session ${id}`);
  const { pid } = await consolidation(world, ({ status }) => status === "running");
  process.kill(pid ?? 0, "SIGKILL");
});

test("a session with too few prompts, or one that nobody wants consolidated, starts nothing; nor does one without news", async () => {
  await using world = await modelWorld((request) => (isRem(request) ? say("Nothing to keep.") : say("I see.")));
  await talk(world, 2);
  await talk(world, 3, { RETINUE_SUBCONSCIOUS: "off", COPILOT_SUBCONSCIOUS: "1" });
  expect(await tasksOf(world)).toEqual([]);
  const id = await talk(world, 3, { COPILOT_SUBCONSCIOUS: "true" });
  await consolidation(world, hasEnded);
  await world.run(["--resume", id, "-p", "one more"], { env: ON });
  expect(await tasksOf(world)).toHaveLength(1);
  expect(await notesOf(world)).toEqual([]);
});

test("what /subconscious run has consolidated is not consolidated again when the session is closed", async () => {
  const task = { agent_type: "rem-agent", mode: "background", name: "rem-consolidate", description: "d", prompt: "p" };
  await using world = await modelWorld((request) => {
    if (isRem(request)) return keeping(request);
    return request.prompt.includes("exactly once") && request.results.length === 0 ? call("task", task) : say("I see.");
  });
  const id = await talk(world, 3, {});
  expect((await world.run(["--resume", id, "-p", "/subconscious run"], { env: ON })).code).toBe(0);
  expect((await tasksOf(world)).map(({ kind, status }) => ({ kind, status }))).toEqual([
    { kind: "agent", status: "completed" },
  ]);
  for (const prompt of ["a", "b", "c"]) await world.run(["--resume", id, "-p", prompt], { env: ON });
  await consolidation(world, hasEnded);
});

test("a rem-agent that never ends is ended with its time", async () => {
  await using world = await modelWorld((request) => (isRem(request) ? new Promise(() => undefined) : say("I see.")));
  await world.run(["config", "set", "subconscious", '{"enabled": true, "minUserTurns": 1, "maxSeconds": 10}']);
  await world.run(["-p", "the door is blue"]);
  const ended = await consolidation(world, hasEnded);
  expect(["failed", "stopped"]).toContain(ended.status);
  expect(await notesOf(world)).toEqual([]);
});

test("a consolidation whose process is killed is lost, and holds up nobody", async () => {
  let isKilled = false;
  await using world = await modelWorld((request) => {
    if (!isRem(request)) return say("I see.");
    return isKilled ? keeping(request) : new Promise(() => undefined);
  });
  await talk(world, 3);
  const { pid } = await consolidation(world, ({ status }) => status === "running");
  const second = await talk(world, 3);
  expect((await tasksOf(world)).filter(({ kind }) => kind === "consolidation")).toHaveLength(1);
  process.kill(pid ?? 0, "SIGKILL");
  isKilled = true;
  await consolidation(world, ({ status, error }) => status === "lost" && error !== undefined);
  expect((await world.run(["search", "door is blue"])).stdout).not.toContain("consolidation-"); // Nothing of its copy is left.
  for (const prompt of ["a", "b", "c"]) await world.run(["--resume", second, "-p", prompt], { env: ON });
  await consolidation(world, ({ status }) => status === "done");
  expect(await notesOf(world)).toHaveLength(1);
});

test("/subconscious run in prompt mode keeps what the rem-agent finds, and says when there is nothing to look back on", async () => {
  const task = {
    agent_type: "rem-agent",
    mode: "background",
    name: "rem-consolidate",
    description: "Consolidate session learnings",
    prompt: "bring the board up to date",
  };
  await using world = await modelWorld((request) => {
    if (isRem(request)) return keeping(request);
    return request.prompt.includes("exactly once") && request.results.length === 0 ? call("task", task) : say("I see.");
  });
  const empty = await world.run(["-p", "/subconscious run", "--quiet"]);
  expect(empty.stdout).toContain("there is nothing to consolidate");
  const id = await talk(world, 1, {});
  expect((await world.run(["--resume", id, "-p", "/subconscious run", "--quiet"])).code).toBe(0);
  expect(await notesOf(world)).toMatchObject([{ text: "The door is blue.", agent: "rem-agent" }]);
});

test("a misspelt switch is refused, and a run that nobody has recorded is none", async () => {
  await using world = await modelWorld([]);
  const wrong = await world.run(["-p", "hi"], { env: { RETINUE_SUBCONSCIOUS: "yes please" } });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("it must be on or off") });
  const none = await world.run(["-p", "hi", "--agent", "rem-agent", "--silent"], {
    env: { RETINUE_CONSOLIDATION: "x" },
  });
  expect(none).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(/^retinue: there is no consolidation x/) });
});
