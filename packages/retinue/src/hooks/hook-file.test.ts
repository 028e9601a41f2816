import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandLine, hookIdentity, matcherOf } from "./file-hook.ts";
import { answerOf } from "./hook-answer.ts";
import { parseHookFile } from "./hook-file.ts";
import { hookPlaces } from "./hook-places.ts";
import { readHooks } from "./hook-reader.ts";

const parsed = (content: unknown) =>
  parseHookFile(typeof content === "string" ? content : JSON.stringify(content), "f.json");
const one = (entry: object, event = "preToolUse") => {
  const [hook] = parsed({ hooks: { [event]: [entry] } }).hooks;
  if (!hook) throw new Error("it has no hook");
  return hook;
};

describe("a file of hooks", () => {
  test.each([
    ["no JSON", "{", "it is not JSON"],
    ["a list", "[]", "none of its hooks run"],
    ["another version", { version: 2, hooks: { preToolUse: [{ bash: "x" }] } }, "version"],
    ["an event that is no list", { hooks: { preToolUse: { bash: "x" } } }, "preToolUse must be a list"],
    ["an event that is misspelt", { hooks: { pretooluse: [] } }, "Did you mean preToolUse?"],
    ["an event of another program", { hooks: { TeammateIdle: [] } }, "there is no event TeammateIdle here"],
    ["an entry without a command", { hooks: { preToolUse: [{ matcher: "bash" }] } }, "it names no command"],
    ["a matcher that is no pattern", { hooks: { preToolUse: [{ matcher: "(", bash: "x" }] } }, "does not run"],
    ["a limit below zero", { hooks: { preToolUse: [{ bash: "x", timeoutSec: -1 }] } }, "timeoutSec"],
    ["an environment of numbers", { hooks: { preToolUse: [{ bash: "x", env: { A: 1 } }] } }, "env.A"],
    ["a hook that asks a model", { hooks: { Stop: [{ hooks: [{ type: "prompt", prompt: "p" }] }] } }, "not prompt"],
  ])("with %s says what is wrong, and has no hook there", (_, content, words) => {
    const { hooks, problems } = parsed(content);
    expect(hooks).toEqual([]);
    expect(problems.join("\n")).toContain(words);
  });

  test("keeps the entries beside a wrong one, and says which field nobody reads", () => {
    const { hooks, problems } = parsed({ hooks: { preToolUse: [{ exec: 7 }, { bash: "ok", timeoutSecs: 3 }] } });
    expect(hooks.map(commandLine)).toEqual(["ok"]);
    expect(problems).toEqual([
      expect.stringContaining("entry 1 of preToolUse does not run"),
      expect.stringContaining("timeoutSecs has no effect. Did you mean timeoutSec?"),
    ]);
  });

  test("says of a hook that nobody waits for that it decides nothing before a call", () => {
    const entries = [{ bash: "x", async: true }, { bash: "y" }];
    const { hooks, problems } = parsed({ hooks: { preToolUse: entries, postToolUse: entries } });
    expect(hooks).toHaveLength(4);
    expect(problems).toEqual([expect.stringContaining("entry 1 of preToolUse: it cannot deny a call")]);
  });

  test("has no more hooks than somebody can read", () => {
    const entries = Array.from({ length: 500 }, (_, n) => ({ bash: `echo ${n}` }));
    const { hooks, problems } = parsed({ hooks: { preToolUse: entries } });
    expect([hooks.length, problems.length]).toEqual([100, 1]);
  });

  test("decides by the spelling of an event whose rules hold", () => {
    expect(one({ bash: "x" })).toMatchObject({ form: "own", isGuard: true, limitMs: 30_000 });
    expect(one({ command: "x" }, "PreToolUse")).toMatchObject({ form: "claude", isGuard: false, limitMs: 60_000 });
    expect(one({ command: "x", onError: "deny", timeout: 5 }, "PreToolUse")).toMatchObject({
      isGuard: true,
      limitMs: 5000,
    });
  });
});

test("consent is for one hook: a change of any part is another one", () => {
  const hooks = [{}, { matcher: "m" }, { cwd: "d" }, { env: { A: "1" } }, { timeoutSec: 9 }, { onError: "ignore" }];
  const identities = hooks.map((more) => hookIdentity(one({ bash: "x", ...more })));
  expect(new Set([...identities, hookIdentity(one({ bash: "x" }, "postToolUse"))]).size).toBe(hooks.length + 1);
  expect(hookIdentity(one({ bash: "x" }))).toBe(identities[0]);
});

test("a matcher is about the whole name", () => {
  const own = matcherOf({ form: "own", matcher: "bash|edit" });
  expect(["bash", "edit", "read_bash", "Bash"].map(own)).toEqual([true, true, false, false]);
  const claude = matcherOf({ form: "claude", matcher: "mcp__.*" });
  expect(["mcp__a__b", "Bash"].map(claude)).toEqual([true, false]);
});

describe("an answer", () => {
  const end = (stdout: string, code = 0) => ({ code, stdout, stderr: "" });

  test("in the words of Claude Code is understood, with its names of arguments", () => {
    const said = {
      hookSpecificOutput: { permissionDecision: "allow", updatedInput: { file_path: "/a", old_string: "x" } },
    };
    const hook = one({ command: "x" }, "PreToolUse");
    expect(answerOf(hook, end(JSON.stringify(said)), { toolName: "edit" })).toMatchObject({
      permissionDecision: "allow",
      modifiedArgs: { path: "/a", old_str: "x" },
    });
    expect(answerOf(hook, end('{"decision":"block","reason":"r"}'), {})).toMatchObject({
      permissionDecision: "deny",
      permissionDecisionReason: "r",
    });
    expect(answerOf(hook, end('{"continue":false,"stopReason":"halt"}'), {})).toMatchObject({
      permissionDecision: "deny",
      permissionDecisionReason: "halt",
    });
  });

  test("may go over several lines", () => {
    const said = JSON.stringify({ decision: "block", reason: "more" }, null, 2);
    expect(answerOf(one({ bash: "x" }, "agentStop"), end(said), {})).toEqual({ decision: "block", reason: "more" });
  });

  test("that refuses where nothing can be refused is a failure", () => {
    expect(() => answerOf(one({ bash: "x" }, "sessionEnd"), end("", 2), {})).toThrow("exit code 2");
  });
});

describe("files of hooks are read", () => {
  function inFolder(files: Readonly<Record<string, object | string>>, look: (root: string) => void): void {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "retinue-hooks-")));
    try {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(root, name)), { recursive: true });
        writeFileSync(join(root, name), typeof content === "string" ? content : JSON.stringify(content));
      }
      look(root);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  }
  const all = { isTrusted: true, mayStart: () => true };
  const hook = (bash: string) => ({ hooks: { sessionStart: [{ bash }] } });
  const read = (root: string) => {
    const project = { folder: join(root, "project"), root: join(root, "project") };
    return readHooks(
      hookPlaces({ home: join(root, "home"), userFolder: join(root, "user"), project, plugins: [] }),
      all,
    );
  };

  test("in one order: the user's first, then the project's", () => {
    const files = {
      "project/.claude/settings.json": hook("4"),
      "project/.github/hooks/b.json": hook("3"),
      "project/.github/hooks/a.json": hook("2"),
      "home/hooks.json": hook("1"),
    };
    inFolder(files, (root) =>
      expect(read(root).hooks.map((found) => commandLine(found.hook))).toEqual(["1", "2", "3", "4"]),
    );
  });

  test("but not through a link that leads out of the project", () => {
    inFolder({ "elsewhere.json": hook("x"), "project/.github/hooks/a.txt": "" }, (root) => {
      symlinkSync(join(root, "elsewhere.json"), join(root, "project/.github/hooks/a.json"));
      const { hooks, problems } = read(root);
      expect(hooks).toEqual([]);
      expect(problems).toEqual([expect.stringContaining("leads out of the project")]);
    });
  });

  test("as many of a folder as somebody can look at, and the rest is named", () => {
    const files = Object.fromEntries(
      Array.from({ length: 150 }, (_, n) => [`project/.github/hooks/${String(n).padStart(3, "0")}.json`, hook(`${n}`)]),
    );
    inFolder(files, (root) => {
      const { hooks, problems } = read(root);
      expect(hooks).toHaveLength(100);
      expect(problems).toEqual([expect.stringContaining("only the first 100 of 150 files")]);
    });
  });

  test("without what connects Claude Code to us, which would tell us of our own sessions", () => {
    const command = "node /opt/bin/retinue.js hook claude-code --home /h";
    const settings = { hooks: { SessionStart: [{ hooks: [{ type: "command", command }] }] } };
    inFolder({ "user/.claude/settings.json": settings }, (root) => expect(read(root).hooks).toEqual([]));
  });

  test("and a project can switch off its own hooks, but not the user's", () => {
    const files = {
      "home/hooks.json": hook("mine"),
      "project/.claude/settings.json": { disableAllHooks: true },
      "project/.retinue/hooks.json": hook("theirs"),
    };
    inFolder(files, (root) =>
      expect(read(root).hooks.map((found) => [commandLine(found.hook), found.state])).toEqual([
        ["mine", "runs"],
        ["theirs", "off"],
      ]),
    );
  });
});
