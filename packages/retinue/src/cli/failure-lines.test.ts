/** What each command says when something around it is not as it must be: one line, in words, and an exit code. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { readModelsConfig } from "../models/config.ts";
import { cliWorld, type Ended, modelWorld } from "./test-world.ts";

const executable = fileURLToPath(new URL("../../../../bin/retinue.js", import.meta.url));

const PLUMBING =
  /Request \S+ failed|JSON-?RPC|session\.(create|send|resume)|\n\s+at |undefined|✖|AppError|Zod|\bE[A-Z]{4,}\b/;

function expectOneLine({ code, stdout, stderr }: Ended, expected: { code: number; line: string | RegExp }): void {
  const lines = stderr.trimEnd().split("\n");
  expect({ code, stdout, lines: lines.length }).toEqual({ code: expected.code, stdout: "", lines: 1 });
  expect(lines[0]).toMatch(expected.line);
  expect(stderr).not.toMatch(PLUMBING);
}

test("a model that no provider could have is refused, and the offline rules do not answer in its place", async () => {
  await using world = cliWorld();
  const line = /^retinue: --model nope\/x: no provider is set up .*config\.json\.$/;
  expectOneLine(await world.run(["-p", "hi", "--model", "nope/x"]), { code: 2, line });
  expect((await world.run(["-p", "hi", "--model", "offline", "--quiet"])).code).toBe(0);
});

test("an agent that does not exist is answered with those that do", async () => {
  await using world = cliWorld();
  const none = "retinue: Custom agent 'nobody' not found. There is none besides the built-in ones";
  expectOneLine(await world.run(["-p", "hi", "--agent", "nobody"]), { code: 1, line: none });
  mkdirSync(join(world.home, "agents"), { recursive: true });
  writeFileSync(join(world.home, "agents", "ada.agent.md"), "---\nname: ada\ndescription: counts\n---\nYou count.\n");
  const some = "retinue: Custom agent 'nobody' not found. There are: ada, and the built-in ones";
  expectOneLine(await world.run(["-p", "hi", "--agent", "nobody"]), { code: 1, line: some });
});

test("a session that another process has open is named with what to do", async () => {
  let tell: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    tell = resolve;
  });
  await using world = await modelWorld(({ prompt }) => {
    if (prompt.endsWith("hi")) return say("one");
    tell();
    return new Promise(() => undefined);
  });
  const { stderr } = await world.run(["-p", "hi"]);
  const [, id = ""] = /session ([0-9a-f]{8})/.exec(stderr) ?? [];
  const holding = world.start(["-p", "wait", "--resume", id]);
  await asked;
  const line = new RegExp(`^retinue: Session ${id}\\S* is open in another process \\(pid ${holding.process.pid}\\)\\.`);
  expectOneLine(await world.run(["-p", "me too", "--resume", id]), { code: 1, line });
});

describe("a home", () => {
  test.each([
    ["{bad", /config\.json is not JSON: /],
    ['{"providers":[{"name":"a"}]}', /config\.json is not valid: providers\[0\]\.baseUrl is missing$/],
    ['{"providers":{}}', /config\.json is not valid: providers must be an array$/],
    [
      '{"providers":[{"name":"a","baseUrl":"nowhere"}]}',
      /config\.json is not valid: providers\[0\]\.baseUrl is wrong: /,
    ],
  ])("with the configuration %s is refused by the place in the file", async (text, line) => {
    await using world = cliWorld();
    mkdirSync(world.home);
    writeFileSync(join(world.home, "config.json"), text);
    expect(() => readModelsConfig(world.home)).toThrow(line);
  });

  test("with a configuration that cannot be used ends a prompt with one line", async () => {
    await using world = cliWorld();
    mkdirSync(world.home);
    writeFileSync(join(world.home, "config.json"), '{"providers":[{"name":"a"}]}');
    expectOneLine(await world.run(["-p", "hi"]), { code: 1, line: /^retinue: .*providers\[0\]\.baseUrl is missing$/ });
  });

  test("that is a file, or that can never be made, is refused at once", async () => {
    await using world = cliWorld();
    const file = world.put("a-file", "");
    for (const home of [file, join(file, "below"), "/proc/nowhere/below"])
      expectOneLine(await world.run(["sessions", "list"], { env: { RETINUE_HOME: home } }), {
        code: 1,
        line: /^retinue: Cannot use the home folder .*: [a-z].* Set RETINUE_HOME to a folder that can be written\.$/,
      });
    mkdirSync(world.home);
    writeFileSync(join(world.home, "retinue.db"), "this is no database, whatever its name says");
    const line = /^retinue: Cannot open the store .*retinue\.db: it is damaged, or no database$/;
    expectOneLine(await world.run(["sessions", "list"]), { code: 1, line });
  });
});

test("a port that is taken is named by the daemon too", async () => {
  await using world = cliWorld();
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  try {
    const address = taken.address();
    const port = String(typeof address === "object" ? address?.port : 0);
    const line = `retinue: Cannot listen on 127.0.0.1:${port}: another program uses this port. Give another --port`;
    expectOneLine(await world.run(["daemon", "run", "--port", port]), { code: 1, line });
  } finally {
    await new Promise((resolve) => taken.close(resolve));
  }
});

test("a folder that was removed from under the shell is said to be gone", async () => {
  await using world = cliWorld();
  const gone = world.put("gone/x", "");
  const script = 'cd "$1" && rm -r "$1" && exec "$2" "$3" -p hi';
  const args = ["-c", script, "sh", join(gone, ".."), process.execPath, executable];
  const {
    status: code,
    stdout,
    stderr,
  } = spawnSync("sh", args, { encoding: "utf8", env: { RETINUE_HOME: world.home } });
  expectOneLine({ code, stdout, stderr }, { code: 1, line: "retinue: the current folder does not exist any more" });
});
