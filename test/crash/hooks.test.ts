/** kill -9 while a hook of a file runs: the hook and what it has forked are gone with the next start, and it has one end in the log. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { LawEvent } from "../laws/law-event.ts";
import { type Plan, promptOf } from "../laws/plan.ts";
import { Crashable } from "./crashable.ts";

/** Two processes: the hook, and a daemon of its own session. */
const HANGS = "setsid sleep 1000 & echo $! >> pids; echo $$ >> pids; sleep 1000";
const calls: Plan = { turns: [{ moves: [{ call: "bash", args: { command: "echo done >> ran" } }] }], says: "done" };
const delegates: Plan = { turns: [{ moves: [{ task: calls, name: "kid", mode: "background" }] }], says: "delegated" };

function pidsIn({ folders }: Crashable): number[] {
  const file = path.join(folders.folder, "pids");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : [];
}

function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

function hooks({ folders }: Crashable, bash: string): void {
  const preToolUse = [{ matcher: "bash", bash, timeoutSec: 600 }];
  writeFileSync(path.join(folders.home, "hooks.json"), JSON.stringify({ version: 1, hooks: { preToolUse } }));
}

test.each([
  ["the main agent", calls, true],
  ["the main agent, whose call is given up", calls, false],
  ["a sub-agent in the background", delegates, true],
])("a hook before a call of %s", async (_, plan, continuePendingWork) => {
  await using crashable = await Crashable.start();
  hooks(crashable, HANGS);
  const first = await crashable.connect({ attached: "sdk" });
  const config = { ...crashable.session, sessionId: "one", enableFileHooks: true };
  await first.call("session.create", { ...first.abilities, ...config, hooks: false });
  await first.call("session.send", { sessionId: "one", prompt: promptOf(plan) });
  await expect.poll(() => pidsIn(crashable)).toHaveLength(2);
  await crashable.kill();
  hooks(crashable, "true");
  await crashable.launch();
  const second = await crashable.connect({ attached: "sdk" });
  await second.call("session.resume", { ...second.abilities, ...config, hooks: false, continuePendingWork });
  if (continuePendingWork) {
    await second.until("session.idle");
    await expect.poll(() => existsSync(path.join(crashable.folders.folder, "ran"))).toBe(true);
  }
  await expect.poll(() => pidsIn(crashable).some(isRunning)).toBe(false);
  const { events } = await second.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: "one" });
  const idsOf = (type: string) =>
    events.filter((event) => event.type === type).map(({ data }) => Reflect.get(data, "hookInvocationId"));
  expect(idsOf("hook.start").length).toBe(continuePendingWork ? 2 : 1);
  expect(idsOf("hook.end").sort()).toEqual(idsOf("hook.start").sort());
});
