import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isProcessAlive, startTick } from "../store/holder.ts";
import { openSqlite, type SqliteStore } from "../store/sqlite/store.ts";
import { createShells } from "../tools/shell/shells.ts";
import { ProcessLedger } from "./process-ledger.ts";

async function putShell({ documents }: SqliteStore, key: string, value: object): Promise<void> {
  await documents.write([{ put: { kind: "shell", key, version: 1, json: JSON.stringify(value) } }]);
}

const DEAD = { pid: 2 ** 22 - 1, startedAt: 1 };

test("a shell is in the ledger only while it runs", async () => {
  const store = openSqlite({ path: ":memory:" });
  const folder = mkdtempSync(join(tmpdir(), "ledger-"));
  const shells = createShells({ sessionId: "s", logFolder: folder, family: new ProcessLedger(store).family() });
  const shell = shells.start({ command: "read line", description: "waits", cwd: folder, background: true });
  expect(await store.documents.list("shell", "")).toHaveLength(1);
  await shell.kill();
  await shell.ended;
  await shells.closeAll();
  expect(await store.documents.list("shell", "")).toEqual([]);
  expect(await store.documents.list("process-family", "")).toEqual([]);
  await store.close();
  rmSync(folder, { recursive: true });
});

test("what a dead process left running is ended, with its whole group", async () => {
  const store = openSqlite({ path: ":memory:" });
  const left = spawn("sh", ["-c", "sleep 1000 & wait"], { detached: true, stdio: "ignore" });
  const pid = left.pid ?? 0;
  await putShell(store, `dead/${pid}`, { pid, tick: startTick(pid), owner: DEAD });
  const ended = once(left, "exit");
  expect(await new ProcessLedger(store).reap()).toEqual({ ended: 1, problems: [] });
  await ended;
  expect(isProcessAlive({ pid, startedAt: startTick(pid) })).toBe(false);
  expect(await store.documents.list("shell", "")).toEqual([]);
  await store.close();
});

test("what an ended shell of a dead process left in its group is ended too", async () => {
  const store = openSqlite({ path: ":memory:" });
  const left = spawn("sh", ["-c", "sleep 1000 & echo $!"], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  const pid = left.pid ?? 0;
  const tick = startTick(pid);
  const exited = once(left, "exit");
  const [line] = await once(left.stdout, "data");
  await exited;
  const sleeper = Number(String(line));
  const alive = { pid: sleeper, startedAt: startTick(sleeper) };
  expect(isProcessAlive(alive)).toBe(true);
  await putShell(store, `dead/${pid}`, { pid, tick, owner: DEAD });
  expect(await new ProcessLedger(store).reap()).toEqual({ ended: 1, problems: [] });
  await expect.poll(() => !isRunning(sleeper)).toBe(true);
  await store.close();
});

/** A killed process stays in the process table as a zombie until its parent reaps it. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("a later process with the pid of a lost shell is left alone", async () => {
  const store = openSqlite({ path: ":memory:" });
  await putShell(store, "dead/1", { pid: process.pid, tick: startTick(process.pid) + 1, owner: DEAD });
  expect(await new ProcessLedger(store).reap()).toEqual({ ended: 0, problems: [] });
  expect(await store.documents.list("shell", "")).toEqual([]);
  await store.close();
});

test("shells of a living process are not touched", async () => {
  const store = openSqlite({ path: ":memory:" });
  const owner = { pid: process.pid, startedAt: startTick(process.pid) };
  await putShell(store, "alive/1", { pid: 1, tick: startTick(1), owner });
  expect(await new ProcessLedger(store).reap()).toEqual({ ended: 0, problems: [] });
  expect(await store.documents.list("shell", "")).toHaveLength(1);
  await store.close();
});

test("an entry that cannot be read is named, and the others are processed", async () => {
  const store = openSqlite({ path: ":memory:" });
  await putShell(store, "dead/1", { pid: "none" });
  await putShell(store, "dead/2", { pid: process.pid, tick: startTick(process.pid) + 1, owner: DEAD });
  const { ended, problems } = await new ProcessLedger(store).reap();
  expect([ended, problems]).toEqual([0, [expect.stringContaining("shell dead/1 cannot be read: pid")]]);
  expect((await store.documents.list("shell", "")).map(({ key }) => key)).toEqual(["dead/1"]);
  await store.close();
});
