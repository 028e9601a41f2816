/**
 * Everything started is reaped, also what left its process group: processes that moved into a session of their own end with their agent,
 * with their session, and after kill -9 when the next runtime opens the home. So do MCP servers that ignore the end of their input.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { LawClient } from "../laws/law-client.ts";
import { type Plan, promptOf } from "../laws/plan.ts";
import { Crashable } from "./crashable.ts";

const SERVER = fileURLToPath(new URL("../support/stubborn-mcp-server.mjs", import.meta.url));

/** Starts processes that nobody would find by their process group or their parents, and waits until their pids are in the file. */
const strays = (file: string): string =>
  [
    `setsid sh -c 'echo $$ >> ${file}; exec sleep 1000' >/dev/null 2>&1 &`,
    `setsid nohup sh -c 'trap "" TERM HUP; echo $$ >> ${file}; while :; do sleep 1000; done' >/dev/null 2>&1 &`,
    `(setsid sh -c '(setsid sh -c "echo \\$\\$ >> ${file}; exec sleep 1000" &)' &) >/dev/null 2>&1`,
    `while [ "$(cat ${file} 2>/dev/null | wc -l)" -lt 3 ]; do sleep 0.02; done; echo started`,
  ].join("\n");

const startsStrays = (file: string): Plan => ({
  turns: [{ moves: [{ call: "bash", args: { command: strays(file) } }] }],
  says: "strays are out",
});

function pidsIn({ folders }: Crashable, file: string): number[] {
  const at = path.join(folders.folder, file);
  if (!existsSync(at)) return [];
  return readFileSync(at, "utf8").trim().split("\n").map(Number);
}

/** A killed process stays in the process table as a zombie until its parent looks. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function withStrays(crashable: Crashable, plan: Plan): Promise<LawClient> {
  const client = await crashable.connect({ attached: "sdk" });
  await client.call("session.create", { ...crashable.session, ...client.abilities, hooks: false, sessionId: "one" });
  await client.call("session.send", { sessionId: "one", prompt: promptOf(plan) });
  return client;
}

/** Without control groups, which not every system has, the mark alone must be enough. */
const WITH = ["on", "off"];

for (const [way, cgroups] of [
  ["session.destroy", "off"],
  ["session.delete", "on"],
] as const) {
  test(`processes in sessions of their own are gone when ${way} answers (control groups ${cgroups})`, async () => {
    await using crashable = await Crashable.start({ env: { RETINUE_CGROUPS: cgroups } });
    const client = await withStrays(crashable, startsStrays("pids"));
    await client.until("session.idle");
    const pids = pidsIn(crashable, "pids");
    expect(pids.map(isRunning)).toEqual([true, true, true]);
    await client.call(way, { sessionId: "one" });
    expect(pids.map(isRunning)).toEqual([false, false, false]);
  });
}

test("processes in sessions of their own are gone when their agent is cancelled, and those of others are not", async () => {
  await using crashable = await Crashable.start();
  const task: Plan = { turns: [...(startsStrays("below").turns ?? []), { gate: "never" }], says: "over" };
  const client = await withStrays(crashable, {
    turns: [
      { moves: [{ call: "bash", args: { command: strays("above") } }] },
      { moves: [{ task, name: "below", mode: "background" }] },
      { gate: "rest" },
    ],
    says: "the agent is on its way",
  });
  await client.until("tool.execution_complete", ({ agentId }) => agentId !== undefined);
  const { tasks } = await client.call<{ tasks: { id: string; type: string }[] }>("session.tasks.list", {
    sessionId: "one",
  });
  const [below, above] = [pidsIn(crashable, "below"), pidsIn(crashable, "above")];
  expect([...below, ...above].map(isRunning)).toEqual(Array(6).fill(true));
  const id = tasks.find(({ type }) => type === "agent")?.id;
  await client.call("session.tasks.cancel", { sessionId: "one", id });
  await expect.poll(() => !below.some(isRunning)).toBe(true);
  expect(above.map(isRunning)).toEqual([true, true, true]);
  crashable.gates.open("rest");
  crashable.gates.open("never");
});

test.each(WITH)(
  "after kill -9 the next start ends processes in sessions of their own, without opening theirs (control groups %s)",
  async (cgroups) => {
    await using crashable = await Crashable.start({ env: { RETINUE_CGROUPS: cgroups } });
    const client = await withStrays(crashable, startsStrays("pids"));
    await client.until("session.idle");
    const pids = pidsIn(crashable, "pids");
    await crashable.kill();
    expect(pids.map(isRunning)).toEqual([true, true, true]);
    await crashable.launch();
    await crashable.connect({ attached: "nobody" });
    await expect.poll(() => !pids.some(isRunning)).toBe(true);
  },
);

test("a command that was detached on purpose outlives its session, the kill and the next start", async () => {
  await using crashable = await Crashable.start();
  const command = "setsid sh -c 'echo $$ >> pids; exec sleep 1000' & echo $$ >> pids; exec sleep 1000";
  const client = await withStrays(crashable, {
    turns: [
      { moves: [{ call: "bash", args: { command, detach: true, mode: "async" } }] },
      { moves: [{ call: "bash", args: { command: strays("others") } }] },
    ],
    says: "detached",
  });
  await client.until("session.idle");
  await expect.poll(() => pidsIn(crashable, "pids").length === 2).toBe(true);
  const pids = pidsIn(crashable, "pids");
  await crashable.restart();
  await crashable.connect({ attached: "nobody" });
  await expect.poll(() => !pidsIn(crashable, "others").some(isRunning)).toBe(true);
  expect(pids.map(isRunning)).toEqual([true, true]);
});

/** A session with an MCP server that ends by itself neither with its input nor by SIGTERM; both it and its helper run. */
async function withStubbornServer(crashable: Crashable): Promise<{ client: LawClient; pids: number[] }> {
  const client = await crashable.connect({ attached: "sdk" });
  const file = path.join(crashable.folders.folder, "pids");
  const mcpServers = { stubborn: { command: process.execPath, args: [SERVER, file], tools: ["*"] } };
  const config = { ...crashable.session, ...client.abilities, hooks: false, mcpServers };
  await client.call("session.create", { ...config, sessionId: "one" });
  await client.call("session.send", { sessionId: "one", prompt: promptOf({ says: "hello" }) });
  await client.until("session.idle");
  const pids = pidsIn(crashable, "pids");
  expect(pids.map(isRunning)).toEqual(pids.map(() => true));
  expect(pids.length).toBeGreaterThanOrEqual(2);
  return { client, pids };
}

test.each(WITH)(
  "an MCP server that ignores the end of its input is gone after kill -9 and the next start, with its helpers (control groups %s)",
  async (cgroups) => {
    await using crashable = await Crashable.start({ env: { RETINUE_CGROUPS: cgroups } });
    const { pids } = await withStubbornServer(crashable);
    await crashable.restart();
    await crashable.connect({ attached: "nobody" });
    await expect.poll(() => !pids.some(isRunning)).toBe(true);
  },
);

test("an MCP server that starts with its session is gone after kill -9 also when nobody has prompted yet", async () => {
  await using crashable = await Crashable.start();
  const client = await crashable.connect({ attached: "sdk" });
  const file = path.join(crashable.folders.folder, "pids");
  const mcpServers = { stubborn: { command: process.execPath, args: [SERVER, file] } };
  const config = { ...crashable.session, ...client.abilities, hooks: false, mcpServers };
  await client.call("session.create", { ...config, sessionId: "one" });
  await expect.poll(() => pidsIn(crashable, "pids").length >= 2).toBe(true);
  const pids = pidsIn(crashable, "pids");
  await crashable.restart();
  await crashable.connect({ attached: "nobody" });
  await expect.poll(() => !pids.some(isRunning)).toBe(true);
});

test("an MCP server that ignores the end of its input is gone when its session is, with its helpers", async () => {
  await using crashable = await Crashable.start();
  const { client, pids } = await withStubbornServer(crashable);
  await client.call("session.destroy", { sessionId: "one" });
  expect(pids.map(isRunning)).toEqual(pids.map(() => false));
});

test.each(WITH)(
  "after kill -9 in the middle of a hook of a file, the next start ends it and the daemon that it has forked (control groups %s)",
  async (cgroups) => {
    await using crashable = await Crashable.start({ env: { RETINUE_CGROUPS: cgroups } });
    const command = "setsid sh -c 'echo $$ >> pids; exec sleep 1000' & echo $$ >> pids; sleep 1000";
    const hooks = { preToolUse: [{ bash: command, timeoutSec: 900 }] };
    writeFileSync(path.join(crashable.folders.home, "hooks.json"), JSON.stringify({ version: 1, hooks }));
    const client = await crashable.connect({ attached: "sdk" });
    const config = { ...crashable.session, ...client.abilities, hooks: false, enableFileHooks: true, sessionId: "one" };
    await client.call("session.create", config);
    const plan: Plan = { turns: [{ moves: [{ call: "bash", args: { command: "true" } }] }], says: "over" };
    await client.call("session.send", { sessionId: "one", prompt: promptOf(plan) });
    await expect.poll(() => pidsIn(crashable, "pids").length).toBe(2);
    const pids = pidsIn(crashable, "pids");
    await crashable.kill();
    expect(pids.map(isRunning)).toEqual([true, true]);
    await crashable.launch();
    await crashable.connect({ attached: "nobody" });
    await expect.poll(() => pids.some(isRunning)).toBe(false);
  },
);
