/** Agents in a worktree of their own, as a user meets them: through `task`, with everything approved. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../models/provider.ts";
import { call, say, type Turn } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { conflictWords } from "./isolation.ts";
import {
  agentNamed,
  agentsOf,
  by,
  byHeld,
  delegate,
  held,
  main,
  never,
  resultsIn,
  send,
  startAgent,
} from "./test-tasks.ts";

const apart = { isolation: "worktree" };

function makeGit(folder: string): void {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      cwd: folder,
      stdio: "pipe",
    });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(folder, "a.txt"), "one\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
}

async function begin({ client, create, folder }: SmallWorld): Promise<string> {
  makeGit(folder);
  const sessionId = await create();
  await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
  return sessionId;
}

/** Where an agent works, according to its own system prompt. */
const placeIn = ({ system }: ModelRequest): string => /^- Working folder: (.+)$/m.exec(system ?? "")?.[1] ?? "";
/** The next turn of an agent, which writes a file where it works. */
const writing = (name: string, path: string, text = `${name}\n`): Turn =>
  byHeld(name, {
    turn: (request: ModelRequest) => [call("create", { path: join(placeIn(request), path), file_text: text })],
  });
const worktreesOf = ({ home }: SmallWorld): string[] => {
  const folder = join(home, "home/worktrees");
  return existsSync(folder) ? readdirSync(folder) : [];
};
const read = ({ folder }: SmallWorld, path: string) =>
  existsSync(join(folder, path)) ? readFileSync(join(folder, path), "utf8") : undefined;

describe("an agent in a worktree", () => {
  test("writes there, and its changes are in the working tree with its answer", async () => {
    const turns = [
      main(delegate("dig", apart)),
      writing("dig", "made.txt"),
      by("dig", call("bash", { command: "echo two > a.txt && git add -A && git commit -q -m done" })),
      by("dig", say("dug")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const sessionId = await begin(world);
      await world.send(sessionId, "go");
      expect(placeIn(world.provider.requests[1] as ModelRequest)).toContain(join(world.home, "home/worktrees/dig-"));
      expect(resultsIn(world.provider.requests.at(-1))[0]).toBe(
        "dug\n\n(Its changes are in the working tree, not committed: a.txt, made.txt.)",
      );
      expect([read(world, "a.txt"), read(world, "made.txt")]).toEqual(["two\n", "dig\n"]);
      const [agent] = await agentsOf(world.client, sessionId);
      expect(agent).toMatchObject({
        status: "completed",
        isolation: "worktree",
        worktree: { type: "merged", files: ["a.txt", "made.txt"] },
      });
      expect(worktreesOf(world)).toEqual([]);
      world.provider.assertSpent();
    });
  });

  test("cannot write to the user's files, and neither can an agent that it starts, although everything is approved", async () => {
    const out = (folder: string) => call("create", { path: join(folder, "out.txt"), file_text: "out" });
    let folder = "";
    const turns = [
      main(delegate("dig", apart)),
      byHeld("dig", { turn: () => [out(folder), call("bash", { command: `git -C ${folder} add .` })] }),
      by("dig", delegate("below")),
      byHeld("below", { turn: () => [out(folder), call("bash", { command: `cd ${folder}; touch out.txt` })] }),
      writing("below", "below.txt"),
      by("below", say("wrote")),
      by("dig", say("dug")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      folder = world.folder;
      const sessionId = await begin(world);
      await world.send(sessionId, "go");
      const refused = [world.provider.requests[2], world.provider.requests[4]].flatMap((request) => resultsIn(request));
      expect(refused).toHaveLength(4);
      for (const words of refused) expect(words).toContain("may write only there");
      expect(read(world, "out.txt")).toBeUndefined();
      expect(read(world, "below.txt")).toBe("below\n");
      world.provider.assertSpent();
    });
  });

  test("has no variables of ours that lead git elsewhere", async () => {
    const turns = [
      main(delegate("dig", apart)),
      by("dig", call("bash", { command: "env" })),
      by("dig", say("dug")),
      main(say("seen")),
    ];
    process.env.GIT_DIR = "/nowhere";
    process.env.GIT_INDEX_FILE = "/nowhere/index";
    try {
      await inSmallWorld(turns, async (world) => {
        const { GIT_DIR: _dir, GIT_INDEX_FILE: _index, ...clean } = process.env;
        execFileSync("git", ["init", "--quiet"], { cwd: world.folder, env: clean });
        const sessionId = await world.create();
        await world.client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
        await world.send(sessionId, "go");
        const [shown] = resultsIn(world.provider.requests[2]);
        expect(shown).toContain("PATH=");
        expect(shown).not.toContain("/nowhere");
      });
    } finally {
      delete process.env.GIT_DIR;
      delete process.env.GIT_INDEX_FILE;
    }
  });

  test("reports a conflict as its result, and leaves the user's file alone", async () => {
    const late = held(say("dug"));
    const turns = [
      main(delegate("dig", apart)),
      by("dig", call("bash", { command: "echo theirs > a.txt" })),
      byHeld("dig", late),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const sessionId = await begin(world);
      await send(world, sessionId);
      await late.reached;
      writeFileSync(join(world.folder, "a.txt"), "mine\n");
      late.go();
      await world.client.received("session.idle");
      expect(resultsIn(world.provider.requests.at(-1))[0]).toMatch(
        /^dug\n\n\(Its changes were not merged, .*\(a\.txt\)\. They are kept as refs\/retinue\/dig-/,
      );
      expect(read(world, "a.txt")).toBe("mine\n");
      expect((await agentNamed(world.client, sessionId, "dig")).worktree).toMatchObject({ type: "conflicts" });
      expect(worktreesOf(world)).toEqual([]);
    });
  });

  test("has one because its definition says so", async () => {
    const turns = [
      main(delegate("dig", { agent_type: "writer" })),
      writing("dig", "made.txt"),
      by("dig", say("dug")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      makeGit(world.folder);
      const writer = { name: "writer", description: "Writes.", prompt: "You write.", isolation: "worktree" as const };
      const sessionId = await world.create({ customAgents: [writer] });
      await world.client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await world.send(sessionId, "go");
      const [agent] = await agentsOf(world.client, sessionId);
      expect(agent).toMatchObject({ isolation: "worktree", worktree: { type: "merged", files: ["made.txt"] } });
    });
  });

  test("is refused in words outside git, and nothing is started", async () => {
    await inSmallWorld([main(delegate("dig", apart)), main(say("seen"))], async (world) => {
      const sessionId = await world.create();
      await world.send(sessionId, "go");
      expect(resultsIn(world.provider.requests.at(-1))[0]).toContain("is not in a git repository");
      expect(world.client.of("subagent.started")).toEqual([]);
    });
  });

  test("leaves no folder behind when it is cancelled, and its work is kept", async () => {
    const cut = never();
    const turns = [writing("dig", "half.txt"), byHeld("dig", cut)];
    await inSmallWorld(turns, async (world) => {
      const sessionId = await begin(world);
      const id = await startAgent(world.client, sessionId, "dig", apart);
      await cut.reached;
      expect(worktreesOf(world)).toHaveLength(1);
      await world.client.call("session.tasks.cancel", { sessionId, id });
      expect(worktreesOf(world)).toEqual([]);
      const { worktree, status } = await agentNamed(world.client, sessionId, "dig");
      expect([status, worktree]).toEqual(["cancelled", { type: "kept", files: ["half.txt"], ref: expect.any(String) }]);
      expect(read(world, "half.txt")).toBeUndefined();
    });
  });

  test("brings nothing into the working tree while plan mode is on, although it wrote before", async () => {
    const answer = held(say("dug"));
    const turns = [writing("dig", "made.txt"), byHeld("dig", answer), main(say("seen"))];
    await inSmallWorld(turns, async (world) => {
      const sessionId = await begin(world);
      await startAgent(world.client, sessionId, "dig", apart);
      await answer.reached;
      await world.client.call("session.mode.set", { sessionId, mode: "plan" });
      answer.go();
      await expect.poll(async () => (await agentNamed(world.client, sessionId, "dig")).worktree).toBeDefined();
      const { worktree } = await agentNamed(world.client, sessionId, "dig");
      const ref = expect.stringContaining("refs/retinue/dig");
      expect(worktree).toEqual({ type: "conflicts", files: ["made.txt"], why: "plan mode is on", ref });
      expect(read(world, "made.txt")).toBeUndefined();
    });
  });

  test("ends its shells before its work is collected", async () => {
    const command = "trap 'echo late > late.txt; exit' TERM; while :; do sleep 0.1; done";
    const turns = [
      main(delegate("dig", apart)),
      by("dig", call("create", { path: "serve.sh", file_text: command })),
      by("dig", call("bash", { command: "sh serve.sh", mode: "async" })),
      by("dig", say("dug")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const sessionId = await begin(world);
      await world.send(sessionId, "go");
      expect((await agentNamed(world.client, sessionId, "dig")).worktree).toMatchObject({ type: "merged" });
      expect(read(world, "serve.sh")).toBe(command);
      expect(worktreesOf(world)).toEqual([]);
    });
  });

  test("goes on in its worktree after a restart, and is merged then", async () => {
    const cut = never();
    const turns = [
      writing("dig", "first.txt"),
      byHeld("dig", cut),
      writing("dig", "second.txt"),
      by("dig", call("create", { path: "/outside.txt", file_text: "x" })),
      by("dig", say("dug")),
      main(say("seen")),
    ];
    await inSmallWorld(
      turns,
      async (world) => {
        const sessionId = await begin(world);
        await startAgent(world.client, sessionId, "dig", apart);
        await cut.reached;
        const [before] = worktreesOf(world);
        const { client } = await world.restart();
        expect(worktreesOf(world)).toEqual([before]);
        await client.call("session.resume", { sessionId, requestPermission: true });
        await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
        await client.received("session.idle");
        expect([read(world, "first.txt"), read(world, "second.txt")]).toEqual(["dig\n", "dig\n"]);
        expect(existsSync("/outside.txt")).toBe(false);
        expect((await agentNamed(client, sessionId, "dig")).worktree).toMatchObject({ type: "merged" });
        expect(worktreesOf(world)).toEqual([]);
      },
      { isOnDisk: true },
    );
  });
});

test("why work was not merged names the files that were in the way, and has no empty brackets when there are none", () => {
  expect(conflictWords({ why: "files were being changed", files: [] })).toBe("files were being changed");
  const files = Array.from({ length: 25 }, (_, at) => `${at}.txt`);
  expect(conflictWords({ why: "both changed", files })).toMatch(/^both changed \(0\.txt, .*, 19\.txt and 5 more\)$/);
});
