import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { isProcessAlive, openSqlite, startTick } from "../../store/sqlite.ts";
import { createShells } from "../../tools/shell/shells.ts";
import { ShellLedger } from "./shell-ledger.ts";

const DEAD = { pid: 2 ** 22 - 1, startedAt: 1 };

test("a shell is in the ledger while it runs and no longer", async () => {
  const store = openSqlite({ path: ":memory:" });
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const shells = new ShellLedger(store).watch(createShells({ sessionId: "s", logFolder: folder }));
  const shell = shells.start({ command: "read line", description: "waits", cwd: folder, background: true });
  expect(store.list("shell", "")).toHaveLength(1);
  await shell.kill();
  await shell.ended;
  expect(store.list("shell", "")).toEqual([]);
  store.close();
  rmSync(folder, { recursive: true });
});

test("what a dead process left running is ended, with its whole group", async () => {
  const store = openSqlite({ path: ":memory:" });
  const left = spawn("sh", ["-c", "sleep 1000 & wait"], { detached: true, stdio: "ignore" });
  const pid = left.pid ?? 0;
  store.put("shell", `dead/${pid}`, JSON.stringify({ pid, tick: startTick(pid), owner: DEAD }));
  const ended = once(left, "exit");
  expect(new ShellLedger(store).reap()).toBe(1);
  await ended;
  expect(isProcessAlive({ pid, startedAt: startTick(pid) })).toBe(false);
  expect(store.list("shell", "")).toEqual([]);
  store.close();
});

test("what an ended shell of a dead process left in its group is ended too", async () => {
  const store = openSqlite({ path: ":memory:" });
  const left = spawn("sh", ["-c", "sleep 1000 & echo $!"], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const pid = left.pid ?? 0;
  const tick = startTick(pid);
  const [line] = await once(left.stdout, "data");
  await once(left, "exit");
  const sleeper = Number(String(line));
  const alive = { pid: sleeper, startedAt: startTick(sleeper) };
  expect(isProcessAlive(alive)).toBe(true);
  store.put("shell", `dead/${pid}`, JSON.stringify({ pid, tick, owner: DEAD }));
  expect(new ShellLedger(store).reap()).toBe(1);
  await vi.waitUntil(() => !isRunning(sleeper));
  store.close();
});

/** A killed process stays in the table, as a zombie, until its parent has looked. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("a later process that got the pid of a lost shell is left alone", () => {
  const store = openSqlite({ path: ":memory:" });
  store.put("shell", "dead/1", JSON.stringify({ pid: process.pid, tick: startTick(process.pid) + 1, owner: DEAD }));
  expect(new ShellLedger(store).reap()).toBe(0);
  expect(store.list("shell", "")).toEqual([]);
  store.close();
});

test("shells of a living process are not touched", () => {
  const store = openSqlite({ path: ":memory:" });
  const owner = { pid: process.pid, startedAt: startTick(process.pid) };
  store.put("shell", "alive/1", JSON.stringify({ pid: 1, tick: startTick(1), owner }));
  expect(new ShellLedger(store).reap()).toBe(0);
  expect(store.list("shell", "")).toHaveLength(1);
  store.close();
});
