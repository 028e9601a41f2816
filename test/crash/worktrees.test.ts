/**
 * kill -9 of the runtime at each call of git that makes, collects, merges or removes a worktree: before it and after it. After a restart the agent's work is in
 * the working tree once, and no worktree is left. A sample of the calls; all of them with LAWS_FULL=1.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { brokenLaws } from "../laws/checker.ts";
import type { LawClient } from "../laws/law-client.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { promptOf } from "../laws/plan.ts";
import { Crashable } from "./crashable.ts";

const SAMPLES = 12;
const REAL_GIT = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();

const WORK = promptOf({
  turns: [{ moves: [{ call: "bash", args: { command: "echo made > made.txt" } }] }],
  says: "made it",
});
const PROMPT = promptOf({
  turns: [
    {
      moves: [
        {
          call: "task",
          args: {
            name: "maker",
            description: "makes",
            agent_type: "general-purpose",
            prompt: WORK,
            isolation: "worktree",
          },
        },
      ],
    },
  ],
  says: "done",
});

/** A git that counts its calls, and kills whoever called it at one of them. `status` is for the system prompt, and runs beside the others. */
function armedGit(): { arm(bin: string, at: string): void; calls(bin: string): number } {
  const script = `#!/bin/sh
here=$(dirname "$0")
case "$1" in config|--version|status) exec ${REAL_GIT} "$@";; esac
echo "$*" >> "$here/calls"
n=$(wc -l < "$here/calls")
at=$(cat "$here/at")
if [ "$at" = "before $n" ]; then echo x > "$here/killed"; kill -9 $PPID; exit 1; fi
if [ "$at" = "after $n" ]; then ${REAL_GIT} "$@"; echo x > "$here/killed"; kill -9 $PPID; exit 1; fi
exec ${REAL_GIT} "$@"
`;
  return {
    arm(bin, at) {
      mkdirSync(bin, { recursive: true });
      writeFileSync(path.join(bin, "git"), script);
      chmodSync(path.join(bin, "git"), 0o755);
      writeFileSync(path.join(bin, "at"), at);
      writeFileSync(path.join(bin, "calls"), "");
    },
    calls: (bin) => readFileSync(path.join(bin, "calls"), "utf8").trim().split("\n").length,
  };
}

async function run(at: string): Promise<{ problems: string[]; calls: number }> {
  await using crashable = await Crashable.start();
  const { folder, home, temporary } = crashable.folders;
  const bin = path.join(temporary, "bin");
  const armed = armedGit();
  armed.arm(bin, at);
  const git = (...args: string[]) =>
    execFileSync(REAL_GIT, ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
      cwd: folder,
      encoding: "utf8",
    });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(path.join(folder, "a.txt"), "one\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  writeFileSync(path.join(folder, "a.txt"), "not committed\n");
  const before = git("ls-files", "--stage");
  const clients = [await work(crashable, bin)];
  const isKilled = existsSync(path.join(bin, "killed"));
  if (isKilled) {
    writeFileSync(path.join(bin, "at"), "never");
    clients.push(await goOn(crashable));
  }
  const client = clients.at(-1) as LawClient;
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: "s" });
  const files = readdirSync(folder).filter((name) => name !== ".git");
  const folders = existsSync(path.join(home, "worktrees")) ? readdirSync(path.join(home, "worktrees")) : [];
  const seen = {
    files: files.sort().map((name) => [name, readFileSync(path.join(folder, name), "utf8")]),
    index: git("ls-files", "--stage"),
    known: git("worktree", "list").trim().split("\n").length,
    folders,
    answer: events.findLast(({ type }) => type === "assistant.message")?.data.content,
  };
  const wanted = {
    files: [
      ["a.txt", "not committed\n"],
      ["made.txt", "made\n"],
    ],
    index: before,
    known: 1,
    folders: [],
    answer: "done",
  };
  const problems = [
    ...brokenLaws(events, { clients, maxDepth: 6 }),
    ...(JSON.stringify(seen) === JSON.stringify(wanted) ? [] : [JSON.stringify(seen)]),
    ...(at === "never" || isKilled ? [] : ["it was not killed"]),
  ];
  return { problems, calls: armed.calls(bin) };
}

async function work(crashable: Crashable, bin: string): Promise<LawClient> {
  const PATH = `${bin}:${process.env.PATH}`;
  await crashable.relaunch({ PATH });
  const client = await crashable.connect({ attached: "sdk" });
  await client.call("session.create", { ...crashable.session, ...client.abilities, sessionId: "s" });
  await client.call("session.send", { sessionId: "s", prompt: PROMPT });
  const isOver = () =>
    existsSync(path.join(bin, "killed")) || client.events.some(({ type }) => type === "session.idle");
  await expect.poll(isOver).toBe(true);
  return client;
}

async function goOn(crashable: Crashable): Promise<LawClient> {
  await crashable.restart();
  const client = await crashable.connect({ attached: "sdk" });
  const config = { ...crashable.session, ...client.abilities };
  await client.call("session.resume", { ...config, sessionId: "s", continuePendingWork: true });
  await client.answerOpen("s");
  await client.atRest("s");
  return client;
}

const SHARES = 6;
let counted: Promise<number> | undefined;

/** How many calls an undisturbed run makes. */
async function count(): Promise<number> {
  const { problems, calls } = await run("never");
  expect(problems).toEqual([]);
  return calls;
}

async function points(share: number): Promise<string[]> {
  counted ??= count();
  const all = Array.from({ length: await counted }, (_, at) => [`before ${at + 1}`, `after ${at + 1}`]).flat();
  const step = process.env.LAWS_FULL ? 1 : all.length / SAMPLES;
  const chosen = Array.from({ length: Math.floor(all.length / step) }, (_, at) => all[Math.floor(at * step)] ?? "");
  return [...new Set(chosen)].filter((_, at) => at % SHARES === share);
}

test.each(Array.from({ length: SHARES }, (_, share) => share))(
  "a runtime that is killed at any call of git finishes what it had begun (%i)",
  async (share) => {
    const problems: Record<string, string[]> = {};
    for (const point of await points(share)) {
      const found = await run(point).catch((error: unknown) => ({ problems: [String(error)] }));
      if (found.problems.length > 0) problems[point] = found.problems;
    }
    expect(problems).toEqual({});
  },
);
