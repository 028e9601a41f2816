import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isProcessAlive, startTick, thisProcess } from "./holder.ts";

test("this process is alive, and one with its pid that was started at another time is not", () => {
  expect(isProcessAlive(thisProcess())).toBe(true);
  expect(isProcessAlive({ ...thisProcess(), startedAt: 1 })).toBe(false);
});

test("a process that was killed is not alive, although its parent has not asked what became of it", async () => {
  // The shell becomes a program that never asks for the end of its child.
  const parent = spawn("sh", ["-c", "sleep 300 & echo $!; exec sleep 300"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [chunk] = await once(parent.stdout, "data");
    const pid = Number(String(chunk).trim());
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    while (readFileSync(`/proc/${parent.pid}/comm`, "utf8").trim() !== "sleep") await turn(); // A shell would ask.
    const child = { pid, startedAt: startTick(pid) };
    expect(isProcessAlive(child)).toBe(true);
    process.kill(pid, "SIGKILL");
    while (!readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ")) await turn();
    expect(isProcessAlive(child)).toBe(false);
  } finally {
    parent.kill("SIGKILL");
  }
});
