import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Shell, ShellService } from "../tool.ts";
import { createShells } from "./shells.ts";

let folder: string;
let shells: ShellService;
const never = new AbortController().signal;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "shells-"));
  shells = createShells({ sessionId: "s1", logFolder: path.join(folder, "logs"), graceMs: 300 });
});

afterEach(async () => {
  await shells.closeAll();
  await Promise.all(shells.list().map((shell) => shell.kill()));
  rmSync(folder, { recursive: true, force: true });
});

const start = (command: string, more: Partial<Parameters<ShellService["start"]>[0]> = {}) =>
  shells.start({ command, description: "d", cwd: folder, ...more });

/** Resolves when the output has this text. */
function said(shell: Shell, text: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!shell.output().includes(text)) return;
      off();
      resolve();
    };
    const off = shell.onOutput(look);
    look();
  });
}

function isRunning(pid: number): boolean {
  const state = execFileSync("sh", ["-c", `ps -o stat= -p ${pid} || true`], { encoding: "utf8" }).trim();
  return state !== "" && !state.startsWith("Z");
}

describe("running", () => {
  test("stdout and stderr come in the order in which they were written", async () => {
    const shell = start("for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done");
    expect(await shell.ended).toEqual({ exitCode: 0 });
    expect(shell.output()).toBe("o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n");
    expect(shell.status).toBe("completed");
  });

  test("the exit code is the command's, and an exit by signal n is 128 + n", async () => {
    expect(await start("exit 3").ended).toEqual({ exitCode: 3 });
    expect(await start("kill -KILL $$").ended).toEqual({ exitCode: 137 });
  });

  test("the environment is ours, with the session's id and without pagers", async () => {
    const shell = start(
      'echo "$RETINUE_SESSION_ID $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $EXTRA"; test -n "$PATH" && echo path',
      {
        env: { EXTRA: "more" },
      },
    );
    await shell.ended;
    expect(shell.output()).toBe("s1 cat cat 0 more\npath\n");
  });

  test("a folder that does not exist is an end with 127 and a reason", async () => {
    const shell = start("echo hi", { cwd: path.join(folder, "nope") });
    expect(await shell.ended).toEqual({ exitCode: 127 });
    expect(shell.output()).toContain("nope");
  });

  test("quotes, unicode, new lines and NUL-free binary arrive as written", async () => {
    const shell = start(`printf '%s\\n' "ünïcode 漢字 🎉" 'it'"'"'s' "\\$1"; echo "$#"`);
    await shell.ended;
    expect(shell.output()).toBe("ünïcode 漢字 🎉\nit's\n$1\n0\n");
  });

  test("what is left in the background does not hold up the end of the command", async () => {
    const shell = start("sleep 60 & echo started");
    await shell.ended;
    expect(shell.output()).toBe("started\n");
  });

  test("without interactive the command reads an end of file, and writing is refused", async () => {
    const shell = start("cat; echo done");
    await shell.ended;
    expect(shell.output()).toBe("done\n");
    expect(shell.write("x")).toBe(false);
  });

  test("an interactive command reads what is written", async () => {
    const shell = start("read name; echo hello $name", { interactive: true });
    expect(shell.write("you\n")).toBe(true);
    await shell.ended;
    expect(shell.output()).toBe("hello you\n");
  });

  test("an interactive command does not run the user's start-up file first", async () => {
    writeFileSync(path.join(folder, ".bashrc"), "echo from the start-up file\n");
    const shell = start("echo from the command", { interactive: true, env: { HOME: folder, SHLVL: "0" } });
    await shell.ended;
    expect(shell.output()).toBe("from the command\n");
  });

  test("writing to a command that has closed its input breaks nothing", async () => {
    const shell = start("exec 0<&-; echo closed; sleep 0.2", { interactive: true });
    await said(shell, "closed");
    shell.write("x".repeat(200_000));
    expect(await shell.ended).toEqual({ exitCode: 0 });
  });
});

describe("killing", () => {
  test("takes the grandchildren along", async () => {
    const shell = start("sh -c 'sleep 300 & echo pid $!; wait' & wait");
    await said(shell, "pid");
    const grandchild = Number(/pid (\d+)/.exec(shell.output())?.[1]);
    expect(isRunning(grandchild)).toBe(true);
    await shell.kill();
    expect(isRunning(grandchild)).toBe(false);
    expect(shell.status).toBe("cancelled");
    expect(shell.exitCode).toBe(143);
  });

  test("a process that ignores the polite signal is killed after the grace period", async () => {
    const shell = start("trap '' TERM; echo ready; while true; do sleep 0.05; done");
    await said(shell, "ready");
    await shell.kill();
    expect(shell.exitCode).toBe(137);
    expect(isRunning(Number(shell.pid))).toBe(false);
  });

  test("a command may clean up when it is asked to end", async () => {
    const shell = start("trap 'echo bye; exit 5' TERM; echo ready; while true; do sleep 0.05; done");
    await said(shell, "ready");
    await shell.kill();
    expect(shell.output().endsWith("bye\n")).toBe(true);
    expect(shell.exitCode).toBe(5);
  });

  test("a second kill and a kill after the end do nothing", async () => {
    const shell = start("true");
    await shell.ended;
    await shell.kill();
    await shell.kill();
    expect(shell.status).toBe("completed");
  });
});

describe("closeAll", () => {
  test("ends everything that is not detached, also what an ended and removed shell left behind", async () => {
    const running = start("sleep 300");
    const left = start("sleep 300 & echo pid $!");
    await left.ended;
    const orphan = Number(/pid (\d+)/.exec(left.output())?.[1]);
    shells.remove(left.id);
    const detached = start("sleep 300", { detached: true });
    expect(isRunning(orphan)).toBe(true);

    await shells.closeAll();
    expect(isRunning(orphan)).toBe(false);
    expect(isRunning(Number(running.pid))).toBe(false);
    expect(isRunning(Number(detached.pid))).toBe(true);
  });
});

describe("detached", () => {
  test("writes into its log, which is read in pieces", async () => {
    const shell = start("echo one; echo two >&2", { detached: true });
    await shell.ended;
    expect(shell.read()).toBe("one\ntwo\n");
    expect(shell.read()).toBe("");
    expect(readFileSync(String(shell.logPath), "utf8")).toBe("one\ntwo\n");
  });

  test("is stopped by kill like any other", async () => {
    const shell = start("sleep 300", { detached: true });
    await shell.kill();
    expect(isRunning(Number(shell.pid))).toBe(false);
  });
});

describe("output", () => {
  test("a small output has no log file", async () => {
    const shell = start("echo hi");
    await shell.ended;
    expect(shell.logPath).toBeUndefined();
    expect(existsSync(path.join(folder, "logs"))).toBe(false);
  });

  test("10 MB: the beginning and the end are kept, the whole is in the log", async () => {
    const shell = start("echo first; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last");
    await shell.ended;
    const text = shell.output();
    expect(text.startsWith("first\nxxx")).toBe(true);
    expect(text.endsWith("xxx\nlast\n")).toBe(true);
    expect(text.length).toBeLessThan(300_000);
    expect(text).toContain(String(shell.logPath));
    expect(statSync(String(shell.logPath)).size).toBe(10_000_012);
    expect(shell.outputBytes).toBe(10_000_012);
  });

  test("read gives what is new since the last read", async () => {
    const shell = start("echo a; read x; echo b", { interactive: true });
    await said(shell, "a");
    expect(shell.read()).toBe("a\n");
    shell.write("\n");
    await shell.ended;
    expect(shell.read()).toBe("b\n");
    expect(shell.read()).toBe("");
    expect(shell.output()).toBe("a\nb\n");
  });

  test("a character that is split between two pieces of the output stays whole", async () => {
    const shell = start("printf '\\xe6\\xbc'; sleep 0.1; printf '\\xa2\\n'");
    await shell.ended;
    expect(shell.output()).toBe("漢\n");
  });
});

describe("waiting", () => {
  test("says whether the end, the time, an abort or a promotion came first", async () => {
    expect(await start("true").wait({ ms: 10_000, signal: never })).toBe("ended");
    const long = start("sleep 300");
    expect(await long.wait({ ms: 1, signal: never })).toBe("timeout");
    expect(await long.wait({ ms: 10_000, signal: AbortSignal.abort() })).toBe("aborted");
    const waiting = long.wait({ ms: 10_000, signal: never });
    long.promote();
    expect(await waiting).toBe("promoted");
    expect(long.background).toBe(true);
  });

  test("an end that somebody waited for is announced as awaited, another one is not", async () => {
    const ends: [string, boolean][] = [];
    shells.onEnded((shell, { awaited }) => ends.push([shell.id, awaited]));
    await start("true", { shellId: "a" }).wait({ ms: 10_000, signal: never });
    await start("true", { shellId: "b" }).ended;
    await Promise.resolve();
    expect(ends).toEqual([
      ["a", true],
      ["b", false],
    ]);
  });

  test("a shell that starts or goes to the background is announced once", () => {
    const seen: string[] = [];
    shells.onBackground((shell) => seen.push(shell.id));
    start("sleep 300", { shellId: "a", background: true }).promote();
    const other = start("sleep 300", { shellId: "b" });
    other.promote();
    other.promote();
    expect(seen).toEqual(["a", "b"]);
  });
});

describe("ids", () => {
  test("count from 0 and leave out an id in use; a removed one is remembered as reclaimed", async () => {
    start("true", { shellId: "1" });
    expect([start("true").id, start("true").id]).toEqual(["0", "2"]);
    shells.remove("0");
    shells.remove("never");
    expect(shells.get("0")).toBeUndefined();
    expect([shells.wasReclaimed("0"), shells.wasReclaimed("never")]).toEqual([true, false]);
    expect(shells.list().map((shell) => shell.id)).toEqual(["1", "2"]);
  });
});
