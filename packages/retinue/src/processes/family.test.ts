import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { thisProcess } from "../store/holder.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import { createShells } from "../tools/shell/shells.ts";
import { makeControlGroup, membersOf, removeControlGroup } from "./control-group.ts";
import { ProcessFamily } from "./family.ts";
import { MARK_VARIABLE, withMark, withoutMarks } from "./mark.ts";
import { ProcessLedger } from "./process-ledger.ts";
import { readProcess } from "./process-table.ts";
import { endStrays } from "./strays.ts";

const folder = mkdtempSync(path.join(tmpdir(), "family-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A command that starts what it is given in a session of its own, and ends when the pid of that is known. */
async function strayOf(shells: ReturnType<typeof createShells>, words: string): Promise<number> {
  const file = path.join(folder, `pid-${files++}`);
  const command = `setsid ${words.replaceAll("FILE", file)} >/dev/null 2>&1 & while [ ! -s ${file} ]; do sleep 0.02; done`;
  await shells.start({ command, description: "", cwd: folder }).ended;
  return Number(readFileSync(file, "utf8"));
}

const SLEEPER = "sh -c 'echo $$ > FILE; exec sleep 1000'";
const isRunning = (pid: number): boolean => readProcess(pid)?.isDead === false;

describe("the shells of an agent", () => {
  test("take what left their process group with them, with a chance to end by itself", async () => {
    const shells = createShells({ sessionId: "s", logFolder: folder });
    const said = path.join(folder, "said");
    const polite = `sh -c 'trap "echo bye > ${said}; exit" TERM; echo $$ > FILE; while :; do sleep 0.05; done'`;
    const pids = [await strayOf(shells, SLEEPER), await strayOf(shells, polite)];
    expect(pids.map(isRunning)).toEqual([true, true]);
    await shells.closeAll();
    expect(pids.map(isRunning)).toEqual([false, false]);
    expect(readFileSync(said, "utf8")).toBe("bye\n");
  });

  test("take also a child that has cleared its environment, below a parent that has not", async () => {
    const shells = createShells({ sessionId: "s", logFolder: folder, graceMs: 200 });
    const parent = `sh -c 'env -i setsid sh -c "echo \\$\\$ > FILE; exec sleep 1000" & exec sleep 1000'`;
    const pid = await strayOf(shells, parent);
    await shells.closeAll();
    expect(isRunning(pid)).toBe(false);
  });

  test("leave those of another agent alone", async () => {
    const [one, other] = [1, 2].map(() => createShells({ sessionId: "s", logFolder: folder }));
    if (!one || !other) throw new Error("no shells");
    const [mine, theirs] = [await strayOf(one, SLEEPER), await strayOf(other, SLEEPER)];
    await one.closeAll();
    expect([mine, theirs].map(isRunning)).toEqual([false, true]);
    await other.closeAll();
    expect(isRunning(theirs)).toBe(false);
  });

  test("take only what one of them has started when that one is stopped", async () => {
    const shells = createShells({ sessionId: "s", logFolder: folder, graceMs: 200 });
    const other = await strayOf(shells, SLEEPER);
    const file = path.join(folder, "stopped");
    const command = `setsid sh -c 'echo $$ > ${file}; exec sleep 1000' & sleep 1000`;
    const shell = shells.start({ command, description: "", cwd: folder, background: true });
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8") !== "").toBe(true);
    const own = Number(readFileSync(file, "utf8"));
    await shell.kill();
    expect([own, other].map(isRunning)).toEqual([false, true]);
    await shells.closeAll();
    expect(isRunning(other)).toBe(false);
  });

  test("leave nothing when this process exits early", () => {
    const file = path.join(folder, "early");
    const program = `
      const { createShells } = await import(${JSON.stringify(pathToFileURL(path.join(import.meta.dirname, "../tools/shell/shells.ts")).href)});
      const shells = createShells({ sessionId: "s", logFolder: ${JSON.stringify(folder)} });
      await shells.start({ command: "setsid sh -c 'echo $$ > ${file}; exec sleep 1000' & while [ ! -s ${file} ]; do sleep 0.02; done", description: "", cwd: "/" }).ended;
      process.exit(0);
    `;
    execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program]);
    const pid = Number(readFileSync(file, "utf8"));
    // The signal was sent; the process ends a moment later.
    while (isRunning(pid));
  });
});

describe("a family", () => {
  test("that could not be written down lets nothing run", async () => {
    const { documents } = { documents: { write: () => Promise.reject(new Error("disk full")) } };
    const store = openSqlite({ path: ":memory:" });
    const ledger = new ProcessLedger({ documents: { ...store.documents, ...documents } });
    const shells = createShells({ sessionId: "s", logFolder: folder, family: ledger.family(), graceMs: 200 });
    const shell = shells.start({ command: "sleep 1000", description: "", cwd: folder });
    await shell.ended;
    expect(shell.status).toBe("cancelled");
    await shells.closeAll();
    await store.close();
  });

  test("is written down before its first process starts, and nothing is when nothing was started", async () => {
    const store = openSqlite({ path: ":memory:" });
    const family = new ProcessLedger(store).family();
    await family.end({ graceMs: 0 });
    expect(await store.documents.list("process-family", "")).toEqual([]);
    family.member();
    expect(await store.documents.list("process-family", "")).toHaveLength(1);
    await family.end({ graceMs: 0 });
    expect(await store.documents.list("process-family", "")).toEqual([]);
    await store.close();
  });

  test("of a dead runtime is ended by the next one, and one of a living runtime is not", async () => {
    const store = openSqlite({ path: ":memory:" });
    const marks = { dead: "d".repeat(24), alive: "a".repeat(24) };
    const start = (mark: string) =>
      spawn("sleep", ["1000"], { detached: true, stdio: "ignore", env: withMark(process.env, `${mark}.0`) });
    const [dead, alive] = [start(marks.dead), start(marks.alive)];
    const put = (mark: string, owner: object) => ({
      put: { kind: "process-family", key: mark, version: 1, json: JSON.stringify({ mark, owner }) },
    });
    const gone = { pid: 2 ** 22 - 1, startedAt: 1 };
    await store.documents.write([put(marks.dead, gone), put(marks.alive, thisProcess())]);
    expect(await new ProcessLedger(store).reap()).toEqual({ ended: 1, problems: [] });
    expect([dead, alive].map(({ pid = 0 }) => isRunning(pid))).toEqual([false, true]);
    expect((await store.documents.list("process-family", "")).map(({ key }) => key)).toEqual([marks.alive]);
    alive.kill("SIGKILL");
    await store.close();
  });
});

describe("looking for strays", () => {
  test("never ends the process that looks, nor one that it was started by", async () => {
    const program = `
      const { endStrays } = await import(${JSON.stringify(pathToFileURL(path.join(import.meta.dirname, "strays.ts")).href)});
      const { isClean, ended } = await endStrays({ marks: new Set(["${"c".repeat(24)}"]), since: 0, groups: [] }, 0);
      console.log(isClean, ended);
    `;
    // The shell and the program in it both carry the mark that the program looks for.
    const output = execFileSync(
      "sh",
      ["-c", '"$@"; echo survived', "sh", process.execPath, "--import", "tsx", "--input-type=module", "-e", program],
      {
        encoding: "utf8",
        env: withMark(process.env, "c".repeat(24)),
      },
    );
    expect(output).toBe("true 0\nsurvived\n");
  });

  test("finds nothing that is older than the runtime that made the mark", async () => {
    const mark = "e".repeat(24);
    const child = spawn("sleep", ["1000"], { stdio: "ignore", env: withMark(process.env, mark) });
    const tick = readProcess(child.pid ?? 0)?.tick ?? 0;
    expect(await endStrays({ marks: new Set([mark]), since: tick + 1, groups: [] }, 0)).toEqual({
      ended: 0,
      isClean: true,
    });
    expect(isRunning(child.pid ?? 0)).toBe(true);
    expect(await endStrays({ marks: new Set([mark]), since: tick, groups: [] }, 0)).toEqual({
      ended: 1,
      isClean: true,
    });
  });
});

describe("the mark", () => {
  test("is added to the marks of a runtime further out, and can be taken off for good", () => {
    vi.stubEnv(MARK_VARIABLE, "outer.3");
    expect(withMark({ A: "1" }, "inner.0")).toEqual({ A: "1", [MARK_VARIABLE]: "outer.3,inner.0" });
    vi.unstubAllEnvs();
    expect(withoutMarks({ A: "1", [MARK_VARIABLE]: "x" })).toEqual({ A: "1" });
  });

  test("of a detached shell is missing, so that it outlives its session", async () => {
    const shells = createShells({ sessionId: "s", logFolder: folder });
    const file = path.join(folder, "detached");
    const command = `env > ${file}.part; mv ${file}.part ${file}; exec sleep 1000`;
    const shell = shells.start({ command, description: "", cwd: folder, detached: true });
    await expect.poll(() => existsSync(file)).toBe(true);
    await shells.closeAll();
    expect(readFileSync(file, "utf8")).not.toContain(MARK_VARIABLE);
    expect(isRunning(shell.pid ?? 0)).toBe(true);
    await shell.kill();
  });
});

describe("a control group", () => {
  /** Where the system lets this user make one. */
  const probe = makeControlGroup("f".repeat(24));
  if (probe) removeControlGroup(probe.folder);

  test.runIf(probe)(
    "holds also what cleared its environment and lost its parents, and is gone afterwards",
    async () => {
      const family = new ProcessFamily();
      const shells = createShells({ sessionId: "s", logFolder: folder, graceMs: 200, family });
      const pid = await strayOf(shells, `sh -c '(env -i setsid sh -c "echo \\$\\$ > FILE; exec sleep 1000" &)'`);
      const [group = ""] = family.wanted.groups;
      expect(membersOf(group)).toContain(pid);
      await shells.closeAll();
      expect(isRunning(pid)).toBe(false);
      expect(existsSync(group)).toBe(false);
    },
  );

  test("is never looked into under another name", () => {
    expect(membersOf("/sys/fs/cgroup")).toEqual([]);
    expect(membersOf("/sys/fs/cgroup/unified")).toEqual([]);
  });
});
