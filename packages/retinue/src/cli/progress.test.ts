/** What a person sees of a run: on a screen that does what it is told, and as lines where there is none. */
import type { SessionEvent } from "@retinue/sdk";
import { describe, expect, test } from "vitest";
import { Progress } from "./progress.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { TestScreen } from "./test-screen.ts";

let clock = 0;
/** The next event of a run, so many seconds after the one before. */
function event(type: string, data: object = {}, { agent, after = 0 }: { agent?: string; after?: number } = {}) {
  clock += after * 1000;
  return {
    type,
    data,
    id: "e",
    timestamp: new Date(clock).toISOString(),
    ...(agent ? { agentId: agent } : {}),
  } as unknown as SessionEvent;
}
const start = (id: string, name: string, args: object, agent?: string) =>
  event("tool.execution_start", { toolCallId: id, toolName: name, arguments: args }, { agent });
const bash = (id: string, command: string, agent?: string) => start(id, "bash", { command }, agent);
const partial = (id: string, partialOutput: string, after = 0) =>
  event("tool.execution_partial_result", { toolCallId: id, partialOutput }, { after });
const shellEnd = (id: string, exitCode: number, { output = "", after = 0 } = {}) =>
  event(
    "tool.execution_complete",
    {
      toolCallId: id,
      success: true,
      result: { content: `${output}<shellId: ${id} completed with exit code ${exitCode}>` },
      shellExecution: { exitCode },
    },
    { after },
  );
const end = (id: string, data: object, agent?: string) =>
  event("tool.execution_complete", { toolCallId: id, ...data }, { agent });
const helper = (name = "helper") =>
  event(
    "subagent.started",
    { toolCallId: `task-${name}`, agentName: "explore", agentDisplayName: name, agentDescription: "" },
    { agent: name },
  );
const asked = (id: string) =>
  event("permission.requested", { requestId: `ask-${id}`, permissionRequest: { kind: "shell", toolCallId: id } });
const decided = (id: string, result: object, after = 0) =>
  event("permission.completed", { requestId: `ask-${id}`, toolCallId: id, result }, { after });

function watched(options: { columns?: number; rows?: number; isScreen?: boolean; env?: object } = {}) {
  clock = 1_000_000;
  const screen = new TestScreen(options);
  if (options.isScreen === false) Object.assign(screen.streams.stderr, { isTTY: false });
  const terminal = openTerminal(screen.streams);
  const progress = new Progress(terminal, { isQuiet: false, now: () => clock });
  return {
    screen,
    terminal,
    progress,
    /** What is shown after these events. */
    sees(...events: SessionEvent[]): string {
      for (const each of events) progress.receive(each);
      progress.draw();
      return screen.text;
    },
    [Symbol.dispose]: () => progress[Symbol.dispose](),
  };
}

/** A question with words before it that take a moment, as a person is asked. */
function askedAt(terminal: Terminal, words: string): [Promise<void>, Promise<string | undefined>] {
  let isAsked = () => {};
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const answer = terminal.pinned(async (at) => {
    at.note(words);
    await Promise.resolve();
    const typed = at.ask("Allow? ");
    isAsked();
    return typed;
  });
  return [asked, answer];
}

const NOBODY = "denied-no-approval-rule-and-could-not-request-from-user";

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}\n`).join("");

describe("on a screen", () => {
  test("a running command shows its time and its last lines, and is replaced by what became of it", () => {
    using seen = watched();
    expect(seen.sees(bash("c", "npm test"), partial("c", lines(1, 12), 3))).toBe(
      "● bash npm test · 3s\n    line 8\n    line 9\n    line 10\n    line 11\n    line 12",
    );
    expect(seen.sees(shellEnd("c", 1, { output: `${lines(1, 12)}broken\n\n`, after: 1.2 }))).toBe(
      "✗ bash npm test · exit code 1 · 4.2s\n    line 9\n    line 10\n    line 11\n    line 12\n    broken",
    );
    expect(
      seen
        .sees(bash("d", "true"), shellEnd("d", 0, { output: "fine\n" }))
        .split("\n")
        .at(-1),
    ).toBe("✓ bash true · 0.0s");
  });

  test("a long command is cut so that its outcome stays in the line, however narrow the screen is", () => {
    using seen = watched({ columns: 40 });
    const command = "echo 日本語 and many words more than forty columns can hold";
    expect(seen.sees(bash("c", command)).split("\n")).toEqual([expect.stringMatching(/^● bash echo 日本語 .*… · 0s$/)]);
    expect(seen.sees(shellEnd("c", 2)).split("\n")).toEqual([
      expect.stringMatching(/^✗ bash echo .*… · exit code 2 · 0.0s$/),
    ]);
    expect(seen.screen.rows.filter((row) => row !== "")).toHaveLength(1);
  });

  test("of a failed command whose output was too long for the model the end of the output is shown", () => {
    using seen = watched();
    const content = "Output too large to read at once (4.8 MB).\n<shellId: c completed with exit code 1>";
    const contents = [{ type: "shell_exit", outputTruncated: true }];
    const cut = { success: true, result: { content, contents }, shellExecution: { exitCode: 1 } };
    expect(seen.sees(bash("c", "x"), partial("c", "a\nb\n"), end("c", cut))).toBe(
      "✗ bash x · exit code 1 · 0.0s\n    a\n    b",
    );
  });

  test("of many calls at once the first ones are shown, and how many more there are", () => {
    using seen = watched();
    const calls = Array.from({ length: 9 }, (_, at) => bash(`c${at}`, `sleep ${at}`));
    expect(
      seen
        .sees(...calls)
        .split("\n")
        .slice(-2),
    ).toEqual(["● bash sleep 3 · 0s", "  … 5 more calls"]);
  });

  test("the time in which somebody was asked is not counted as the command's own", () => {
    using seen = watched();
    seen.sees(bash("c", "make"), asked("c"), decided("c", { kind: "approved" }, 60));
    expect(seen.sees(shellEnd("c", 0, { after: 2 }))).toBe("✓ bash make · 2.0s");
  });

  test("a silent model is told by a line that counts, and goes when it speaks or calls", () => {
    using seen = watched();
    expect(seen.sees(event("user.message", { content: "go" }))).toBe("");
    clock += 12_000;
    expect(seen.sees()).toBe("· thinking… 12s");
    clock += 100_000;
    expect(seen.sees()).toBe("· thinking… 1m 52s");
    expect(seen.sees(event("assistant.message_delta", { messageId: "m", deltaContent: "Hi" }))).toBe("");
    clock += 5000;
    expect(seen.sees()).toBe("");
    seen.sees(event("assistant.turn_start", { turnId: "2" }));
    clock += 5000;
    expect(seen.sees(bash("c", "ls"))).toBe("● bash ls · 0s");
    expect(seen.sees(shellEnd("c", 0), event("session.idle"))).toBe("✓ bash ls · 0.0s");
  });

  test("the tree stays above a question and is not drawn over it, and goes on below the answer", async () => {
    using seen = watched({ columns: 100 });
    seen.terminal.note("before");
    seen.sees(event("assistant.turn_start", { turnId: "1" }), helper(), bash("c", "git push", "helper"), asked("c"));
    const [isAsked, answer] = askedAt(seen.terminal, "\nThe sub-agent helper wants to run git push");
    await isAsked;
    clock += 60_000;
    seen.progress.draw();
    seen.progress.receive(helper("second"));
    seen.terminal.note("meanwhile");
    expect(seen.screen.text.split("\n")).toEqual([
      "before",
      expect.stringMatching(/^● main {2}running · 0.0s/),
      expect.stringMatching(/^└─ ◌ helper \(explore\) {2}waits for permission: shell/),
      "",
      "The sub-agent helper wants to run git push",
      "Allow?",
    ]);
    seen.screen.type("y");
    expect(await answer).toBe("y");
    expect(seen.sees(decided("c", { kind: "approved" })).split("\n")).toEqual([
      "before",
      "",
      "The sub-agent helper wants to run git push",
      "Allow? y",
      "meanwhile",
      expect.stringMatching(/^● main {2}running · 60.0s/),
      expect.stringMatching(/^├─ ● helper \(explore\) {2}runs bash/),
      expect.stringMatching(/^└─ ● second \(explore\) {2}running/),
      expect.stringMatching(/^· thinking… 1m 00s|^· thinking… 60s/),
    ]);
  });

  test("a refused call of a sub-agent is a line that says who refused it; its other calls are left to the tree", () => {
    using seen = watched({ columns: 100 });
    const rules = [{ kind: "shell", argument: "rm" }];
    const denied = { success: false, error: { message: "denied", code: "denied" } };
    seen.sees(
      helper(),
      bash("a", "rm x", "helper"),
      decided("a", { kind: "denied-by-rules", rules }),
      end("a", denied, "helper"),
    );
    seen.sees(
      bash("b", "make", "helper"),
      asked("b"),
      decided("b", { kind: "denied-interactively-by-user" }),
      end("b", denied, "helper"),
    );
    seen.sees(bash("e", "ls", "helper"), asked("e"), decided("e", { kind: NOBODY }), end("e", denied, "helper"));
    const byHook = { success: false, error: { message: "No deploys on Friday.", code: "denied" } };
    seen.sees(bash("c", "deploy", "helper"), end("c", byHook, "helper"));
    seen.sees(bash("d", "false", "helper"), end("d", { success: false, error: { message: "failed" } }, "helper"));
    expect(seen.screen.text.split("\n").filter((line) => line.startsWith("✗"))).toEqual([
      "✗ helper: bash rm x · denied by the rule shell(rm)",
      "✗ helper: bash make · you said no",
      "✗ helper: bash ls · nobody answered",
      "✗ helper: bash deploy · 0.0s · No deploys on Friday.",
    ]);
  });

  test("what an interrupted run had begun is told as stopped, and nothing moves afterwards", () => {
    using seen = watched();
    seen.sees(
      bash("a", "sleep 1"),
      bash("b", "sleep 2"),
      end("a", { success: false, error: { message: "interrupted", code: "interrupted" } }),
    );
    seen.progress.end("0123456789");
    expect(seen.screen.text).toBe(
      "⊘ bash sleep 1 · stopped · 0.0s\n⊘ bash sleep 2 · stopped · 0.0s\n· 0.0s · 0 turns · 2 calls · session 01234567",
    );
  });

  test("a Ctrl-C that the terminal shows leaves nothing of the lines that moved", () => {
    using seen = watched();
    seen.sees(bash("c", "make"), partial("c", "one\n"));
    seen.screen.print("^C");
    expect(seen.sees(shellEnd("c", 0))).toBe("✓ bash make · 0.0s");
  });

  test("a call that an earlier process had begun is told as that", () => {
    using seen = watched();
    expect(seen.sees(end("c", { success: false, error: { message: "interrupted", code: "failure" } }))).toBe(
      "⊘ a call of an earlier process · stopped",
    );
  });

  test("moving lines leave no trace when the screen becomes narrower", () => {
    using seen = watched({ columns: 60, rows: 12 });
    seen.terminal.note("stays");
    seen.sees(bash("c", "make"), partial("c", `${"x".repeat(55)}\n${lines(1, 30)}${"y".repeat(50)}\n`));
    seen.screen.resize(20);
    expect(seen.sees(partial("c", lines(1, 2)))).toBe("stays\n● bash make · 0s\n    line 1\n    line 2");
    expect(seen.sees(shellEnd("c", 0))).toBe("stays\n✓ bash make · 0.0s");
  });
});

describe("a file that was changed", () => {
  const diff = (added: number) =>
    [
      "diff --git a/w/a.txt b/w/a.txt",
      "--- a/w/a.txt",
      "+++ b/w/a.txt",
      `@@ -1 +1,${added} @@`,
      "-old",
      ...Array.from({ length: added }, (_, at) => `+new ${at}`),
      "",
    ].join("\n");
  const edited = (added: number) => ({ success: true, result: { content: "Edited.", detailedContent: diff(added) } });

  test("without anybody having been asked is shown as a short diff, whichever agent changed it", () => {
    using seen = watched();
    expect(seen.sees(start("c", "edit", { path: "a.txt" }), end("c", edited(52)))).toBe(
      [
        "✓ edit a.txt · 0.0s",
        "    @@ -1 +1,52 @@",
        "    -old",
        ...Array.from({ length: 18 }, (_, at) => `    +new ${at}`),
        "    … 34 more lines",
      ].join("\n"),
    );
    expect(
      seen.sees(helper(), start("d", "edit", { path: "a.txt" }, "helper"), end("d", edited(1), "helper")),
    ).toContain("✓ helper: edit a.txt · 0.0s\n    @@ -1 +1,1 @@\n    -old\n    +new 0\n");
  });

  test("is coloured, and nothing is with NO_COLOR", () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
    const colours = /\u001b\[\d+m/;
    const run = (env: object) => {
      using seen = watched({ env });
      const calls = [start("c", "edit", { path: "a.txt" }), end("c", edited(1)), bash("d", "x"), partial("d", "y")];
      seen.sees(event("user.message", { content: "" }), ...calls);
      return seen.screen.raw;
    };
    expect(run({ NO_COLOR: "" })).toContain("\u001b[31m-old\u001b[0m\n    \u001b[32m+new 0\u001b[0m\n");
    expect(run({ NO_COLOR: "1" })).not.toMatch(colours);
  });

  test("with somebody's consent is not shown again", () => {
    using seen = watched();
    seen.sees(start("c", "edit", { path: "a.txt" }), asked("c"), decided("c", { kind: "approved" }));
    expect(seen.sees(end("c", edited(3)))).toBe("✓ edit a.txt · 0.0s");
  });
});

test("where there is no screen each call is a line when it ends, with the agent that made it, and nothing moves", () => {
  using seen = watched({ isScreen: false });
  expect(seen.sees(event("user.message", { content: "go" }), bash("c", "npm test"), partial("c", lines(1, 9), 3))).toBe(
    "",
  );
  expect(seen.sees(shellEnd("c", 1, { output: lines(1, 9) }))).toBe(
    "✗ bash npm test · exit code 1 · 3.0s\n    line 5\n    line 6\n    line 7\n    line 8\n    line 9",
  );
  const printed = seen.sees(helper(), bash("d", "ls", "helper"), end("d", { success: true }, "helper"));
  expect(printed.split("\n").slice(-2)).toEqual([
    "▸ helper (explore) starts",
    "✓ helper: bash ls · in the background · 0.0s",
  ]);
});

test("a quiet run prints nothing, on a screen too", () => {
  clock = 0;
  const screen = new TestScreen();
  using progress = new Progress(openTerminal(screen.streams), { isQuiet: true, now: () => clock });
  for (const each of [bash("c", "ls"), shellEnd("c", 1, { output: "x\n" })]) progress.receive(each);
  progress.end("0123456789");
  expect(screen.text).toBe("");
});
