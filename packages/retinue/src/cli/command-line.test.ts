import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { askForSessions, cliWorld } from "./test-world.ts";

describe("wrong usage ends with code 2 and one line that says what to do", () => {
  test.each([
    [["search", "x", "--limit", "abc"], '--limit must be a whole number from 1 to 100, not "abc"'],
    [["search", "x", "--limti", "5"], "Did you mean --limit?"],
    [["search", "x", "--since", "nonsense"], "--since must be a day such as 2026-11-01"],
    [["search"], "missing required argument 'query'. See: retinue search --help"],
    [["transcript"], "See: retinue transcript --help"],
    [["transcript", "s", "--after", "-1"], "--after must be a whole number, 0 or more"],
    [["checkpoint", "s"], "the summary is empty"],
    [["connect", "codx"], "harness must be one of claude-code, opencode, openclaw, codex"],
    [["disconnect"], "See: retinue disconnect --help"],
    [["daemon"], "daemon needs a command: start, stop, status, logs, run"],
    [["daemon", "strat"], 'Did you mean "retinue daemon start"?'],
    [["daemon", "strat", "--help"], 'Did you mean "retinue daemon start"?'],
    [["daemon", "run", "--port", "99999"], "--port must be a whole number from 0 to 65535"],
    [["daemon", "status", "now"], "too many arguments"],
    [["daemon", "logs", "--lines", "few"], "--lines must be a whole number"],
    [["serve", "--port", "99999"], "--port must be a whole number from 0 to 65535"],
    [["serve", "--prot", "5"], "Did you mean --port?"],
    [["serve", "--token", "5"], "unknown option '--token'. See: retinue serve --help"],
    [["--headless", "--port", "99999"], "--port must be a whole number from 0 to 65535"],
    [["op", "sesion_list"], "Did you mean session_list?"],
    [["op", "session_list", "{"], "input must be a JSON object"],
    [["mcp", "--home", ""], "--home must name a folder"],
    [["sessions"], "sessions needs a command: list, show, tree, delete"],
    [["sessions", "list", "--limit", "0"], "--limit must be a whole number, 1 or more"],
    [["why", "s"], "See: retinue why --help"],
    [["help", "serch"], 'Did you mean "retinue search"?'],
    [["frobnicate", "--help"], "there is no command frobnicate"],
    [["--model", "x", "doctor"], "--model is not for retinue doctor"],
  ])("%j", async (args, words) => {
    await using world = cliWorld();
    const { code, stdout, stderr } = await world.run(args);
    expect(stderr).toContain(words);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });

  test.each([[["hook"]], [["hook", "claude-code", "--frob"]], [["hook", "claude-code", "--home", ""]]])(
    "but with code 1 for a hook, because 2 would block what the harness is about to do: %j",
    async (args) => {
      await using world = cliWorld();
      const { code, stderr } = await world.run(args);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
      expect(code).toBe(1);
    },
  );
});

describe("a runtime that an SDK client starts", () => {
  test.each([
    [["--headless", "--no-auto-update", "--log-level", "error", "--stdio", "--no-auto-login"]],
    [
      [
        "--headless",
        "--no-auto-update",
        "--stdio",
        "--auth-token-env",
        "TOKEN",
        "--session-idle-timeout",
        "5",
        "--remote",
      ],
    ],
    [["some", "words", "--headless", "--from-the-future", "--with", "value", "--stdio"]],
  ])("answers on %j", async (args) => {
    await using world = cliWorld();
    const { code, stdout } = await askForSessions(world, args);
    expect(stdout).toContain('"protocolVersion":3');
    expect(code).toBe(0);
  });

  test("prints the help of serve when it is asked, flags of the future or not", async () => {
    await using world = cliWorld();
    const { code, stdout } = await world.run(["--headless", "--from-the-future", "--help"]);
    expect(stdout).toContain("Usage: retinue serve");
    expect(code).toBe(0);
  });
});

describe("what stands before a command", () => {
  test("counts when the command has that option, and what stands after the command wins", async () => {
    await using world = cliWorld();
    const home = async (...args: string[]) => {
      const checks: { name: string; text: string }[] = JSON.parse((await world.run(args)).stdout);
      return checks.find(({ name }) => name === "home")?.text;
    };
    const [first, second] = [join(world.root, "first"), join(world.root, "second")];
    expect(await home("--home", first, "doctor", "--json")).toContain(first);
    expect(await home("--home", first, "doctor", "--json", "--home", second)).toContain(second);
  });

  test("works for the commands of the short way too", async () => {
    await using world = cliWorld();
    const home = join(world.root, "other");
    expect((await askForSessions(world, ["--home", home, "serve", "--stdio"])).stdout).toContain('"protocolVersion":3');
    expect(await world.run(["--home", home, "hook", "claude-code"], { input: "{}" })).toMatchObject({
      code: 0,
      stdout: "",
    });
  });
});

test("Ctrl-C ends daemon run in order", async () => {
  await using world = cliWorld();
  const { process: child, ended } = world.start(["daemon", "run"]);
  if (child.stdout) await once(child.stdout, "data");
  expect(JSON.parse(readFileSync(join(world.home, "daemon.json"), "utf8"))).toMatchObject({ pid: child.pid });
  child.kill("SIGINT");
  const { code, stdout } = await ended;
  expect(stdout).toMatch(/serving on 127\.0\.0\.1:\d+\n.* ended\n$/);
  expect(code).toBe(0);
});

test("a reader that goes away does not make a command fail", async () => {
  await using world = cliWorld();
  const { process: child, ended } = world.start(["--help"]);
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

test("connect changes nothing when nobody answers, and does not end as if it had been done", async () => {
  await using world = cliWorld();
  const env = { CODEX_HOME: join(world.root, "codex") };
  const { code, stderr } = await world.run(["connect", "codex"], { env });
  expect(stderr).toContain("nobody answered: add --yes");
  expect(code).toBe(2);
  const declined = await world.run(["connect", "codex"], { env, input: "n\n" });
  expect(declined).toMatchObject({ code: 0, stdout: expect.stringContaining("Nothing done: declined.") });
});
