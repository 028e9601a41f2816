/** Every printer of the command line, with text that tries to steer the terminal or to look like something else. */
import type { PermissionRequest } from "@retinue/protocol";
import { renderTree, type SessionEvent, treeOf } from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { shellPermission } from "../tools/shell/shell-command.ts";
import { lastAnswer, streamedAnswer } from "./answer.ts";
import { askingAt } from "./asking.ts";
import { callWords, oneLine } from "./call-words.ts";
import { conversationWords } from "./conversation-words.ts";
import { permissionWords } from "./permission-words.ts";
import { Progress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";
import { modelWorld } from "./test-world.ts";

const HOSTILE = "a\u001b[2Jb\u202ec\u200bd\u0007e\u{e0041}f\u009bg\rh\u2028i\u2066j";
const IN_TWO_LINES = `${HOSTILE}\nAllow? [y]`;
const SHOWN = "a‹U+001B›[2Jb‹U+202E›c‹U+200B›d‹U+0007›e‹U+E0041›f‹U+009B›g‹U+000D›h‹U+2028›i‹U+2066›j";

/** Nothing of this may reach a screen, apart from line breaks and tabs in texts of several lines. */
const UNSAFE = /[^\P{Cc}\n\t]|[\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/u;

function expectSafe(text: string): void {
  expect(text).toContain(SHOWN);
  expect(text).not.toMatch(UNSAFE);
}

const path = `/projects/${IN_TWO_LINES}`;
const requests: PermissionRequest[] = [
  await shellPermission(IN_TWO_LINES, { intention: "", toolCallId: "c" }),
  { ...(await shellPermission("ls", { intention: "", toolCallId: "c" })), warning: IN_TWO_LINES },
  { kind: "write", fileName: path, diff: `+${IN_TWO_LINES}`, intention: "", canOfferSessionApproval: true },
  {
    kind: "write",
    fileName: "/projects/a",
    resolvedPath: path,
    diff: "",
    intention: "",
    canOfferSessionApproval: true,
  },
  { kind: "read", path, intention: "" },
  {
    kind: "read",
    path: "/",
    paths: [{ path: "/projects/a" }, { path: "/projects/b", resolvedPath: path }],
    intention: "",
  },
  { kind: "url", url: `https://example.com/${IN_TWO_LINES}`, intention: "" },
  { kind: "mcp", serverName: IN_TWO_LINES, toolName: "t", toolTitle: "", readOnly: true, args: { a: HOSTILE } },
  { kind: "mcp", serverName: "s", toolName: IN_TWO_LINES, toolTitle: "", readOnly: true },
  { kind: "custom-tool", toolName: IN_TWO_LINES, toolDescription: "", args: { a: 1 } },
  { kind: "hook", toolName: IN_TWO_LINES, hookMessage: IN_TWO_LINES },
  { kind: "memory", fact: IN_TWO_LINES },
];

test.each(requests)("the words for a permission hide nothing and stay on their lines: %#", (request) => {
  const { what, details, flag, always } = permissionWords(request, "/projects");
  const lines = [what, ...details, flag ?? "", always?.words ?? ""];
  expectSafe(lines.join(" "));
  for (const line of lines) expect(line).not.toContain("\n");
});

test("a command of several lines is shown in one line, and as it is laid out", async () => {
  const request = await shellPermission("ls\nrm x", { intention: "", toolCallId: "c" });
  const { what, details } = permissionWords(request, "/");
  expect(what).toBe("run ls⏎rm x");
  expect(details.slice(0, 2)).toEqual(["ls", "rm x"]);
});

test("a line of a megabyte is shown in part, and the words say how much more there is", () => {
  const args = { a: "\u0000".repeat(1024 * 1024) };
  const { details } = permissionWords({ kind: "custom-tool", toolName: "t", toolDescription: "", args }, "/");
  expect(details.join("\n").length).toBeLessThan(10_000);
  expect(details.join("\n")).toMatch(/ … \d{7} more characters/);
});

describe("at the terminal", () => {
  const screen: string[] = [];
  const terminal: Terminal = {
    canAsk: true,
    isScreen: true,
    isOutScreen: true,
    color: false,
    columns: 80,
    gone: new AbortController().signal,
    out: (text: string) => void screen.push(text),
    note: (line: string) => void screen.push(line),
    status: () => undefined,
    pinned: <T>(work: (at: Terminal) => Promise<T>): Promise<T> => work(terminal),
    flush: async () => undefined,
    ask: async (question: string) => {
      screen.push(question);
      return "n";
    },
  };
  const asking = askingAt({
    terminal,
    signal: new AbortController().signal,
    workingDirectory: () => "/projects",
    location: async () => undefined,
    agentPath: () => IN_TWO_LINES,
  });
  const invocation = { sessionId: "s", childSessionId: "child" };
  const shown = () => screen.splice(0).join("\n");

  test("the name of a sub-agent that asks is safe", async () => {
    const request = await shellPermission("ls", { intention: "", toolCallId: "c" });
    await asking.onPermissionRequest?.(request, invocation);
    expectSafe(shown());
  });

  test("questions and their choices are safe", async () => {
    await asking.onUserInputRequest?.({ question: HOSTILE, choices: [] }, { sessionId: "s" });
    expectSafe(shown());
    await asking.onUserInputRequest?.({ question: "?", choices: [IN_TWO_LINES] }, { sessionId: "s" });
    expectSafe(shown());
  });

  test("forms are safe: who asks, what, and each field", async () => {
    const form = { sessionId: "s", message: "m" };
    const schema = { type: "object" as const, properties: { [IN_TWO_LINES]: { type: "string" as const } } };
    for (const hostile of [
      { message: HOSTILE },
      { elicitationSource: IN_TWO_LINES },
      { url: IN_TWO_LINES },
      { requestedSchema: schema },
    ]) {
      await asking.onElicitationRequest?.({ ...form, ...hostile } as never);
      expectSafe(shown());
    }
  });

  test("a plan is safe", async () => {
    const plan = { summary: "", planContent: HOSTILE, actions: [], recommendedAction: "interactive" };
    await asking.onExitPlanModeRequest?.(plan as never, { sessionId: "s" });
    expectSafe(shown());
  });
});

const event = (type: string, data: object, agentId?: string) =>
  ({ type, data, agentId, id: "e", timestamp: "" }) as unknown as SessionEvent;
const agent = { agentName: IN_TWO_LINES, agentDisplayName: IN_TWO_LINES, agentDescription: HOSTILE, toolCallId: "t" };
const events: SessionEvent[] = [
  event("tool.execution_start", { toolCallId: "c", toolName: HOSTILE, arguments: { command: HOSTILE } }),
  event("tool.execution_start", { toolCallId: "c", toolName: HOSTILE }),
  event("tool.execution_complete", { toolCallId: "c", success: false, error: { message: HOSTILE } }),
  event("subagent.started", agent, "child"),
  event("subagent.completed", agent, "child"),
  event("subagent.failed", { ...agent, error: HOSTILE }, "child"),
];

/** What a run prints of these events where there is no screen. */
function linesOf(given: readonly SessionEvent[]): string {
  const printed: string[] = [];
  const terminal = {
    isScreen: false,
    color: false,
    note: (line: string) => void printed.push(line),
    status: () => undefined,
  };
  using progress = new Progress(terminal as unknown as Terminal, { isQuiet: false });
  for (const each of given) progress.receive(each);
  return printed.join("\n");
}

const ended = (data: object) => event("tool.execution_complete", { toolCallId: "c", ...data });
const failedWith = (message: string) => ended({ success: false, error: { message } });
const started = (name: string, args: object) =>
  event("tool.execution_start", { toolCallId: "c", toolName: name, arguments: args });

test.each([
  [[failedWith(HOSTILE)]],
  [[started(HOSTILE, { command: HOSTILE }), failedWith("x")]],
  [[started(HOSTILE, { command: HOSTILE }), ended({ success: true })]],
  [[event("subagent.started", agent, "child")]],
  [[event("subagent.completed", agent, "child")]],
  [[event("subagent.failed", { ...agent, error: HOSTILE }, "child")]],
  [[event("session.warning", { message: HOSTILE })]],
  [[event("session.info", { infoType: "model_retry", message: HOSTILE })]],
])("a line of progress is safe, and stays one line: %#", (given) => {
  const line = linesOf(given);
  expectSafe(line);
  expect(line).not.toContain("\n");
});

test("the name of a sub-agent before its calls, and the rule that denies one, are safe", () => {
  const denied = { kind: "denied-by-rules", rules: [{ kind: "shell", argument: IN_TWO_LINES }] };
  const lines = linesOf([
    event("subagent.started", agent, "child"),
    event("tool.execution_start", { toolCallId: "c", toolName: "bash" }, "child"),
    event("permission.completed", { requestId: "r", toolCallId: "c", result: denied }),
    event("tool.execution_complete", { toolCallId: "c", success: false, error: { message: "denied" } }, "child"),
  ]).split("\n");
  expect(lines).toHaveLength(2);
  for (const part of (lines[1] ?? "").split("denied by the rule")) expectSafe(part);
});

test("the output of a command and the change of a file are safe; a line that was overwritten says so", () => {
  const output = `first\n${HOSTILE}\n<shellId: 1 completed with exit code 1>`;
  const shell = linesOf([
    started("bash", { command: "x" }),
    ended({ success: true, result: { content: output }, shellExecution: { exitCode: 1 } }),
  ]);
  expect(shell).not.toMatch(UNSAFE);
  expect(shell).toMatch(/ {4}first\n {4}…h‹U\+2028›i‹U\+2066›j$/);
  const diff = `diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+${HOSTILE}\n`;
  const edit = linesOf([
    started("edit", { path: "x" }),
    ended({ success: true, result: { content: "", detailedContent: diff } }),
  ]);
  expectSafe(edit);
});

test.each([
  ...events,
  event("user.message", { content: HOSTILE }),
  event("assistant.message", { content: HOSTILE }),
  event("session.error", { message: HOSTILE }),
  event("session.model_change", { newModel: HOSTILE }),
])("a stored conversation is safe: $type", (each) => {
  expectSafe(conversationWords([each]).join("\n"));
});

test("a call in words is safe, and stays one line when it is cut", () => {
  expectSafe(callWords(HOSTILE, { path: HOSTILE }));
  expect(oneLine("a\nb\tc  d", 100)).toBe("a⏎b⇥c d");
  expect(oneLine("\u202e".repeat(50), 20)).not.toMatch(UNSAFE);
});

test("an answer keeps its lines and has no escape sequences, whole or in pieces, on a screen or in a file", () => {
  const printed: string[] = [];
  const print = (text: string) => void printed.push(text);
  const out = { out: print, note: print };
  lastAnswer(out).end(`one\n\ttwo ${HOSTILE}`);
  const streamed = streamedAnswer(out);
  for (const deltaContent of [HOSTILE, "\u001b", "[2J"])
    streamed.receive(event("assistant.message_delta", { messageId: "m", deltaContent }));
  expectSafe(printed.join(""));
  expect(printed.join("")).toContain("one\n\ttwo ");
});

test("the tree of agents is safe", () => {
  const data = { ...agent, agentDescription: "d", model: "m" };
  expectSafe(renderTree(treeOf([event("subagent.started", data, "child")])));
});

test("the executable prints nothing unsafe of a hostile model and prompt, in a run and afterwards", async () => {
  await using world = await modelWorld([
    call("bash", { command: `echo ${HOSTILE}`, description: "d" }),
    say(`answer ${HOSTILE}`),
  ]);
  const ran = await world.run(["-p", `title ${HOSTILE}`]);
  const list = await world.run(["sessions", "list"]);
  const id = /^([0-9a-f-]{8,})/m.exec(list.stdout)?.[1] ?? "";
  const shown = await world.run(["sessions", "show", id]);
  const found = await world.run(["search", "answer"]);
  for (const text of [ran.stdout, ran.stderr, shown.stdout]) expectSafe(text);
  for (const { stdout, stderr } of [list, found]) expect(stdout + stderr).not.toMatch(UNSAFE);
  expect(list.stdout).toContain("title a‹U+001B›[2Jb");
  expect(found.stdout).toContain("answer");
});
