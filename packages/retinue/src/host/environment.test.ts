import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import { realWorld } from "../world.ts";

/** Another program may have the processor for a while. */
const patient = { gitLimitMs: 60_000 };
let today = 17;
const world = { ...realWorld, now: () => new Date(2026, 10, today, 9).getTime() };
beforeEach(() => {
  today = 17;
});
afterEach(() => void vi.unstubAllEnvs());

const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd, stdio: "pipe" });

function makeRepository(folder: string): void {
  git(folder, "init", "--quiet", "--initial-branch=trunk");
  git(folder, "commit", "--quiet", "--allow-empty", "-m", "first");
}

const answers = (count: number) => Array.from({ length: count }, () => [say("ok")]);
const environmentIn = (system: string | undefined) => /# Environment[^#]*/.exec(system ?? "")?.[0];

test("the prompt names date, branch and state of the tree as they were at first, also after both changed and after a resume", async () => {
  await inSmallWorld(
    answers(4),
    async ({ folder, create, send, provider, restart }) => {
      makeRepository(folder);
      const sessionId = await create();
      await send(sessionId, "first");
      const first = environmentIn(provider.requests[0]?.system);
      expect(first).toContain(`${folder}, on the branch trunk, with nothing changed when this session began`);
      expect(first).toContain("- Date: 2026-11-17, when this session began");

      writeFileSync(join(folder, "new.txt"), "changed");
      git(folder, "checkout", "--quiet", "-b", "other");
      today = 19;
      await send(sessionId, "second");
      const { client } = await restart();
      await client.call("session.resume", { sessionId, workingDirectory: folder });
      await client.call("session.send", { sessionId, prompt: "third" });
      await client.received("session.idle");
      expect(provider.requests.map(({ system }) => environmentIn(system))).toEqual([first, first, first]);

      const { sessionId: fork } = await client.call("sessions.fork", { sessionId });
      await client.call("session.resume", { sessionId: fork, workingDirectory: folder });
      const after = client.events.length;
      await client.call("session.send", { sessionId: fork, prompt: "fourth" });
      await client.received("session.idle", { after });
      expect(environmentIn(provider.requests[3]?.system)).toContain("2026-11-17");
    },
    { isOnDisk: true, world, config: patient },
  );
});

test("another working folder is looked at anew, and keeps the date", async () => {
  await inSmallWorld(
    answers(2),
    async ({ folder, create, send, provider, client }) => {
      const sessionId = await create();
      await send(sessionId, "first");
      expect(environmentIn(provider.requests[0]?.system)).not.toContain("branch");
      const other = join(folder, "other");
      mkdirSync(other);
      makeRepository(other);
      writeFileSync(join(other, "new.txt"), "changed");
      today = 19;
      await client.call("session.metadata.setWorkingDirectory", { sessionId, workingDirectory: other });
      await send(sessionId, "second");
      const text = environmentIn(provider.requests[1]?.system);
      expect(text).toContain("on the branch trunk, with changes that are not committed when this session began");
      expect(text).toContain("2026-11-17");
    },
    { world, config: patient },
  );
});

test("a git that does not answer is not waited for, and the prompt says nothing about the tree", async () => {
  await inSmallWorld(answers(1), async ({ folder, home, create, send, provider }) => {
    makeRepository(folder);
    mkdirSync(join(home, "bin"));
    writeFileSync(join(home, "bin", "git"), "#!/bin/sh\nexec sleep 60\n");
    chmodSync(join(home, "bin", "git"), 0o755);
    vi.stubEnv("PATH", `${join(home, "bin")}:${process.env.PATH}`);
    await send(await create(), "first");
    expect(environmentIn(provider.requests[0]?.system)).toContain(`${folder}, on the branch trunk\n`);
  });
});
