import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { expect, test } from "vitest";
import { MARK, startedWith } from "./left-processes.ts";

test("a process counts as left when whoever started it is gone, and not before", async () => {
  const mark = randomUUID();
  const sleeper = `require("node:child_process").spawn("sleep", ["300"], { detached: true, stdio: "ignore" }).unref()`;
  const starter = spawn(process.execPath, ["-e", sleeper], { env: { ...process.env, [MARK]: mark }, stdio: "ignore" });
  await once(starter, "exit");
  const left = startedWith(mark);
  for (const { pid } of left) process.kill(pid, "SIGKILL");
  expect(left.map(({ command }) => command)).toEqual(["sleep 300 "]);
  await expect.poll(() => startedWith(mark)).toEqual([]); // It is dying.
  const owned = spawn("sleep", ["300"], { env: { ...process.env, [MARK]: mark }, stdio: "ignore" });
  await once(owned, "spawn");
  const found = startedWith(mark);
  owned.kill("SIGKILL");
  await once(owned, "exit");
  expect(found).toEqual([]);
});
