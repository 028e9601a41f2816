import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { readProcess } from "../processes/process-table.ts";
import { modelWorld } from "./test-world.ts";

describe("retinue --gate", () => {
  test("shows what the gates came to, and ends with 1 when they fail too often", async () => {
    await using world = await modelWorld([say("Done."), say("Really."), say("Sure.")]);
    const gates = ["--gate", "echo nope; exit 3", "--gate", "true", "--max-gate-failures", "1"];
    const { code, stderr } = await world.run(["-p", "go", ...gates]);
    expect(code).toBe(1);
    expect(stderr).toContain("✗ gate echo nope; exit 3 · it ended with exit code 3");
    expect(stderr).toContain("✓ gate true");
    expect(world.model.requests).toHaveLength(2);
    expect(world.model.requests[1]?.prompt).toContain("nope");
  });

  test("takes files and schemas as well, in autopilot too", async () => {
    const answers = ['{"n":"x"}', '{"n":1}'].map((summary) => call("task_complete", { summary }));
    await using world = await modelWorld(answers);
    world.put("n.json", JSON.stringify({ type: "object", properties: { n: { type: "number" } } }));
    const { code, stderr } = await world.run([
      "-p",
      "go",
      "--autopilot",
      "--gate",
      "file:n.json",
      "--gate",
      "schema:n.json",
    ]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^✗ The task is not complete yet: schema `the answer as JSON` failed\.$/m);
    expect(stderr).toContain('✓ Task complete: {"n":1}');
  });

  test("refuses what it cannot read before anything runs", async () => {
    await using world = await modelWorld([]);
    for (const gate of ["file:", "schema:none.json", " "])
      expect((await world.run(["-p", "go", "--gate", gate])).code).toBe(2);
    world.put("bad.json", JSON.stringify({ type: "strng" }));
    expect((await world.run(["-p", "go", "--gate", "schema:bad.json"])).stderr).toContain("schema of a gate");
  });

  test("a runtime that is killed while a stop hook is asked asks it again when it is resumed, and then checks", async () => {
    await using world = await modelWorld([say("Done."), say("Done.")]);
    const bash = "test -e ready || { touch asked; exec sleep 300; }";
    world.put("../home/hooks.json", JSON.stringify({ version: 1, hooks: { agentStop: [{ bash, timeoutSec: 600 }] } }));
    for (const [gates, code] of [[["--gate", "exit 4", "--max-gate-failures", "0"], 1] as const, [[], 0] as const]) {
      const running = world.start(["-p", "go", ...gates]);
      while (!existsSync(join(world.folder, "asked"))) await new Promise((done) => setImmediate(done));
      running.process.kill("SIGKILL");
      await running.ended;
      world.put("ready", "");
      const resumed = await world.run(["--continue"]);
      expect({ code: resumed.code, stderr: resumed.stderr }).toMatchObject({ code });
      for (const file of ["ready", "asked"]) rmSync(join(world.folder, file));
    }
    expect(world.model.requests).toHaveLength(2);
  });

  test("a runtime that is killed during a gate leaves nothing running, and a resume checks again", async () => {
    await using world = await modelWorld([say("Done.")]);
    const command = "test -e ready && exit 0; echo $$ > pid; exec sleep 300";
    const running = world.start(["-p", "go", "--gate", command]);
    const pidFile = join(world.folder, "pid");
    while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "")
      await new Promise((done) => setImmediate(done));
    running.process.kill("SIGKILL");
    await running.ended;
    world.put("ready", "");
    const { code, stderr } = await world.run(["--continue"]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("✓ gate") });
    expect(readProcess(Number(readFileSync(pidFile, "utf8")))?.isDead ?? true).toBe(true);
    expect(world.model.requests).toHaveLength(1);
  });
});
