import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, say, type Turn, when } from "../models/scripted.ts";
import { readProcess } from "../processes/process-table.ts";
import { FolderTrust } from "../project/trust.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { consentTo, surveyProject } from "../workspace/survey.ts";

type Config = NonNullable<Parameters<SmallWorld["create"]>[0]>;

const ends = (client: TestClient) => client.of("gate.completed");
const run = (
  turns: readonly Turn[],
  config: Config,
  test: (world: SmallWorld & { sessionId: string }) => Promise<void>,
) => inSmallWorld(turns, async (world) => await test({ ...world, sessionId: await world.create(config) }));
const complete = (summary = "all done"): Turn => [call("task_complete", { summary })];
const open = { permissions: { approveAllToolPermissionRequests: true } } satisfies Config;
const make = (path: string): Turn => [call("bash", { command: `touch ${path}`, description: "make it" })];

const isAlive = (pid: number): boolean => readProcess(pid)?.isDead === false;

const pidIn = (folder: string) => Number(readFileSync(join(folder, "pid"), "utf8"));
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

const DAEMON =
  "setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 & while ! test -s pid; do sleep 0.01; done";

describe("the main agent", () => {
  test("is sent back with the reason until the gates hold", async () => {
    const turns = [[say("done")], make("out.md"), [say("now it is")]];
    await run(turns, { ...open, gates: [{ file: "out.md" }] }, async ({ client, send, sessionId, provider }) => {
      await send(sessionId, "write out.md");
      expect(ends(client)).toMatchObject([
        { attempt: 1, passed: false, outcomes: [{ kind: "file", gate: "out.md", problem: "there is no such file" }] },
        { attempt: 2, passed: true },
      ]);
      expect(JSON.stringify(provider.requests[1]?.messages)).toContain("there is no such file");
      expect(client.of("user.message").map(({ isSentBack }) => isSentBack)).toEqual([undefined, true]);
      expect(client.of("session.error")).toEqual([]);
      expect(client.of("session.idle")).toHaveLength(1);
      provider.assertSpent();
    });
  });

  test("fails when they have failed once more than allowed, and the evidence is kept", async () => {
    const gates = [{ command: "echo broken; exit 7" }];
    await run(
      [[say("1")], [say("2")]],
      { gates, maxGateFailures: 1 },
      async ({ client, send, sessionId, provider }) => {
        await send(sessionId, "go");
        const outcome = { kind: "command", gate: "echo broken; exit 7", exitCode: 7, output: "broken", passed: false };
        expect(ends(client)).toMatchObject([{ outcomes: [outcome] }, { isFinal: true, outcomes: [outcome] }]);
        expect(client.of("session.error")).toMatchObject([{ errorType: "gate" }]);
        provider.assertSpent();
      },
    );
  });

  test("has all its tries again for the next prompt", async () => {
    const config = { gates: [{ command: "exit 1" }], maxGateFailures: 0 };
    await run([[say("1")], [say("2")]], config, async ({ client, send, sessionId }) => {
      await send(sessionId, "one");
      await send(sessionId, "two");
      expect(ends(client).map(({ attempt }) => attempt)).toEqual([1, 1]);
    });
  });

  test("completes in autopilot only when they hold; stopping is no claim", async () => {
    const turns = [[say("thinking")], complete("early"), make("out.md"), complete()];
    await run(turns, { ...open, gates: [{ file: "out.md" }] }, async ({ client, send, sessionId, provider }) => {
      await client.call("session.mode.set", { sessionId, mode: "autopilot" });
      await send(sessionId, "go");
      expect(client.of("session.task_complete")).toMatchObject([
        { success: false, outcome: "continue", summary: "early", reason: expect.stringContaining("no such file") },
        { success: true },
      ]);
      expect(client.of("session.autopilot_ended")).toMatchObject([{ reason: "completed", continuations: 1 }]);
      expect(ends(client).map(({ passed }) => passed)).toEqual([false, true]);
      provider.assertSpent();
    });
  });

  test("is judged once when it says so twice in one turn, and each check has one end", async () => {
    const twice: Turn = [call("task_complete", { summary: "one" }), call("task_complete", { summary: "two" })];
    await run([twice, complete("three")], { gates: [{ command: "exit 1" }], maxGateFailures: 1 }, async (world) => {
      const { client, send, sessionId, provider } = world;
      await client.call("session.mode.set", { sessionId, mode: "autopilot" });
      await send(sessionId, "go");
      const ids = (type: "gate.started" | "gate.completed") => client.of(type).map(({ checkId }) => checkId);
      expect(ids("gate.completed")).toEqual(ids("gate.started"));
      expect(ends(client).map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect(JSON.stringify(provider.requests[1]?.messages)).toContain("only that call counts");
      provider.assertSpent();
    });
  });

  test("ends autopilot as failed when they fail too often", async () => {
    const config = { gates: [{ command: "exit 1" }], maxGateFailures: 1 };
    await run([complete(), complete()], config, async ({ client, send, sessionId, provider }) => {
      await client.call("session.mode.set", { sessionId, mode: "autopilot" });
      await send(sessionId, "go");
      expect(client.of("session.task_complete").map(({ outcome }) => outcome)).toEqual(["continue", "blocked"]);
      expect(client.of("session.error")).toMatchObject([{ errorType: "gate" }]);
      expect(client.of("session.autopilot_ended")).toMatchObject([{ reason: "gates" }]);
      provider.assertSpent();
    });
  });

  test("answers with data that fits a schema", async () => {
    const schema = { type: "object", required: ["name"], properties: { name: { type: "string" } } };
    await run([[say("Ada")], [say('{"name":"Ada"}')]], { gates: [{ schema }] }, async ({ client, send, sessionId }) => {
      await send(sessionId, "who?");
      expect(ends(client).map(({ passed }) => passed)).toEqual([false, true]);
    });
  });

  test("is judged by the stop hook, which is asked once, and a hook that is not there fails", async () => {
    await run(
      [[say("1")], [say("2")]],
      { gates: [{ hook: true }], hooks: true },
      async ({ client, send, sessionId }) => {
        let asked = 0;
        client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) => ({
          output: hookType === "agentStop" && asked++ === 0 ? { decision: "block", reason: "not yet" } : undefined,
        }));
        await send(sessionId, "go");
        expect(asked).toBe(2);
        expect(ends(client)).toMatchObject([{ outcomes: [{ problem: "not yet" }] }, { passed: true }]);
      },
    );
    await run([[say("1")]], { gates: [{ hook: true }], maxGateFailures: 0 }, async ({ client, send, sessionId }) => {
      await send(sessionId, "go");
      expect(ends(client)).toMatchObject([{ passed: false, isFinal: true }]);
    });
  });
});

describe("a gate", () => {
  const once = async (
    gate: NonNullable<Config["gates"]>[number],
    prepare: (folder: string) => void = () => undefined,
  ) => {
    let outcome: unknown;
    await inSmallWorld([[say("done")]], async (world) => {
      prepare(world.folder);
      const sessionId = await world.create({ gates: [gate], maxGateFailures: 0 });
      await world.send(sessionId, "go");
      [outcome] = ends(world.client)[0]?.outcomes ?? [];
    });
    return outcome;
  };

  test("is not passed by a link to a file elsewhere, by a folder, or by a link to nothing", async () => {
    const outside = (folder: string) => symlinkSync("/etc/hosts", join(folder, "out.md"));
    expect(await once({ file: "out.md" }, outside)).toMatchObject({ problem: expect.stringContaining("outside") });
    expect(await once({ file: "out.md" }, (folder) => mkdirSync(join(folder, "out.md")))).toMatchObject({
      passed: false,
    });
    const nowhere = (folder: string) => symlinkSync(join(folder, "gone"), join(folder, "out.md"));
    expect(await once({ file: "out.md" }, nowhere)).toMatchObject({ passed: false });
    const inside = (folder: string) => {
      writeFileSync(join(folder, "real.md"), "x");
      symlinkSync("real.md", join(folder, "out.md"));
    };
    expect(await once({ file: "out.md" }, inside)).toMatchObject({ passed: true });
  });

  test.each([
    ["that is done", DAEMON, { passed: true }],
    ["that hangs", `${DAEMON}; sleep 300`, { passed: false, problem: expect.stringContaining("time limit") }],
  ])("%s leaves no daemon behind", async (_, command, outcome) => {
    await inSmallWorld([[say("done")]], async (world) => {
      const gates = [{ command, timeoutSeconds: outcome.passed ? 60 : 2 }];
      const sessionId = await world.create({ gates, maxGateFailures: 0 });
      await world.send(sessionId, "go");
      expect(ends(world.client)).toMatchObject([{ outcomes: [outcome] }]);
      const pid = pidIn(world.folder);
      expect([pid > 0, isAlive(pid)]).toEqual([true, false]);
    });
  });

  test("that floods its output keeps only the end, and one that does not exist says so", async () => {
    const flood = (await once({ command: "head -c 500000 /dev/zero | tr '\\0' x; echo the end; exit 1" })) as {
      output: string;
    };
    expect([flood.output.length < 4100, flood.output.endsWith("the end")]).toEqual([true, true]);
    expect(await once({ command: "no-such-program-at-all" })).toMatchObject({ passed: false, exitCode: 127 });
  });

  test("that cannot be read is refused when the session is opened", async () => {
    await inSmallWorld([], async ({ create }) => {
      await expect(create({ gates: [{ comand: "x" } as never] })).rejects.toThrow();
    });
  });
});

describe("stopping", () => {
  test("a session while a gate runs ends the gate, and the check has one end", async () => {
    const gates = [{ command: "echo $$ > pid; exec sleep 300" }];
    await inSmallWorld([[say("done")]], async (world) => {
      const { client, folder } = world;
      const sessionId = await world.create({ gates });
      await client.call("session.send", { sessionId, prompt: "go" });
      await client.received("gate.started");
      await until(() => existsSync(join(folder, "pid")) && pidIn(folder) > 0);
      await client.call("session.abort", { sessionId });
      await client.received("session.idle");
      expect(ends(client)).toMatchObject([{ cancelled: true, passed: false }]);
      expect(isAlive(pidIn(folder))).toBe(false);
    });
  });

  test("the process while a gate runs lets a resume check again; without pending work the check ends", async () => {
    for (const continuePendingWork of [true, false]) {
      await inSmallWorld(
        [[say("done")]],
        async (world) => {
          const gates = [{ command: "test -e ready || exec sleep 300" }];
          const sessionId = await world.create({ gates });
          await world.client.call("session.send", { sessionId, prompt: "go" });
          await world.client.received("gate.started");
          const { client } = await world.restart();
          writeFileSync(join(world.folder, "ready"), "");
          await client.call("session.resume", { sessionId, continuePendingWork });
          if (continuePendingWork) await client.received("session.idle");
          const { events } = await client.call("session.getMessages", { sessionId });
          const told = events.flatMap(({ type, data }) => (type.startsWith("gate.") ? [[type, data]] : []));
          expect(told).toMatchObject([
            ["gate.started", {}],
            ["gate.completed", { cancelled: true }],
            ...(continuePendingWork
              ? [
                  ["gate.started", {}],
                  ["gate.completed", { passed: true }],
                ]
              : []),
          ]);
          world.provider.assertSpent();
        },
        { isOnDisk: true },
      );
    }
  });
});

describe("a sub-agent", () => {
  const agent = { name: "builder", prompt: "You build.", gates: [{ file: "out.md" }], maxGateFailures: 1 };
  const task = { agent_type: "builder", name: "build", description: "d", prompt: "build it" };

  test("is sent back, also two levels down, and fails when it does not mend it", async () => {
    const turns = [
      [call("task", { ...task, agent_type: "general-purpose", name: "lead", prompt: "let it be built" })],
      when("let it be built", [call("task", task)]),
      when("build it", [say("built")]),
      when("no such file", [say("really")]),
      [say("it failed")],
      [say("the build failed")],
    ];
    await run(turns, { ...open, customAgents: [agent] }, async ({ client, send, sessionId, provider }) => {
      await send(sessionId, "go");
      expect(client.of("subagent.failed")).toMatchObject([
        { agentName: "builder", error: expect.stringContaining("out.md") },
      ]);
      expect(ends(client).map(({ isFinal }) => isFinal)).toEqual([undefined, true]);
      provider.assertSpent();
    });
  });

  test("of a project runs its command only after consent to exactly that command", async () => {
    const file = "---\nname: builder\ndescription: d\ngates:\n  - touch ran\n---\nYou build.\n";
    const turns = [
      [call("task", task)],
      [say("built")],
      [say("first")],
      [call("task", task)],
      [say("built")],
      [say("second")],
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, folder, home, runtime } = world;
      mkdirSync(join(folder, ".git"));
      mkdirSync(join(folder, ".github", "agents"), { recursive: true });
      writeFileSync(join(folder, ".github", "agents", "builder.agent.md"), file);
      const trust = new FolderTrust({ documents: runtime.sessions.store.documents, warn: () => undefined });
      await trust.trust(folder, new Map());
      const sessionId = await world.create({ ...open, enableConfigDiscovery: true });
      await world.send(sessionId, "go");
      expect(ends(client)).toMatchObject([
        { isFinal: true, outcomes: [{ isBlocked: true, problem: expect.stringContaining("nobody has allowed") }] },
      ]);
      expect(existsSync(join(folder, "ran"))).toBe(false);
      const content = surveyProject({ folder, root: folder }, join(home, "home"));
      expect(content.hooks).toMatchObject([{ line: "gate: touch ran" }]);
      await trust.trust(folder, consentTo(content));
      await world.send(sessionId, "again");
      expect(ends(client).at(-1)).toMatchObject({ passed: true });
      expect(existsSync(join(folder, "ran"))).toBe(true);
    });
  });
});
