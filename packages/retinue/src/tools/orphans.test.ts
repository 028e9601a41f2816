import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { endOrphans } from "./orphans.ts";

const sleeper = (env: Record<string, string>) =>
  spawn("sleep", ["60"], { env: { ...process.env, ...env }, stdio: "ignore" });

test.runIf(process.platform === "linux")(
  "ends the processes of the named sessions, and neither those of others nor detached ones",
  async () => {
    const lost = sleeper({ RETINUE_SESSION_ID: "orphans-lost" });
    const other = sleeper({ RETINUE_SESSION_ID: "orphans-other" });
    const detached = sleeper({ RETINUE_SESSION_ID: "orphans-lost", RETINUE_DETACHED: "1" });
    await Promise.all([lost, other, detached].map((child) => once(child, "spawn")));

    expect(endOrphans(new Set(["orphans-lost"]))).toBe(1);
    await once(lost, "exit");
    expect(lost.signalCode).toBe("SIGKILL");
    expect([other.exitCode, other.signalCode, detached.exitCode, detached.signalCode]).toEqual([
      null,
      null,
      null,
      null,
    ]);

    for (const child of [other, detached]) child.kill();
    await Promise.all([other, detached].map((child) => once(child, "exit")));
  },
);
