import type { PermissionRequest } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { loadGrammar } from "../shell-language/grammar.ts";
import { shellRequest } from "../tools/shell/shell-command.ts";
import { askingAt } from "./asking.ts";
import type { Terminal } from "./terminal.ts";

await loadGrammar();

const invocation = { sessionId: "s" };
const shell = (command: string) => shellRequest(command, { intention: "", toolCallId: "c" });
const write: PermissionRequest = {
  kind: "write",
  fileName: "/projects/a.txt",
  diff: "+new",
  intention: "",
  canOfferSessionApproval: true,
};

/** A terminal at which somebody types these lines. */
function typed(...answers: string[]): { terminal: Terminal; screen: string[] } {
  const screen: string[] = [];
  const nothing = () => undefined;
  const terminal: Terminal = {
    canAsk: answers.length > 0,
    isScreen: true,
    isOutScreen: true,
    color: false,
    columns: 80,
    gone: new AbortController().signal,
    out: (text) => screen.push(text),
    note: (line) => screen.push(line),
    status: nothing,
    pinned: (work) => work(terminal),
    flush: async () => undefined,
    async ask(question) {
      screen.push(question);
      return answers.shift();
    },
  };
  return { terminal, screen };
}

function asking(terminal: Terminal, signal = new AbortController().signal) {
  const agentPath = (id: string) => (id === "child" ? "lead › helper" : undefined);
  return askingAt({
    terminal,
    signal,
    workingDirectory: () => "/projects",
    location: async () => "/projects",
    agentPath,
  });
}

describe("a permission that is asked at the terminal", () => {
  test.each([
    ["y", { kind: "approve-once", approvedInteractively: true }],
    ["YES", { kind: "approve-once", approvedInteractively: true }],
    ["n", { kind: "reject", feedback: expect.stringContaining("said no") }],
    ["a", { kind: "approve-for-session", approval: { kind: "commands", commandIdentifiers: ["git push"] } }],
    [
      "f",
      {
        kind: "approve-for-location",
        approval: { kind: "commands", commandIdentifiers: ["git push"] },
        locationKey: "/projects",
      },
    ],
    ["n use pnpm", { kind: "reject", feedback: "use pnpm" }],
    ["No, use pnpm", { kind: "reject", feedback: "use pnpm" }],
    ["not now, run the tests first", { kind: "reject", feedback: "not now, run the tests first" }],
    ["yes but only to a branch", { kind: "reject", feedback: "yes but only to a branch" }],
  ])("is decided by %s", async (answer, decision) => {
    const { terminal, screen } = typed(answer);
    expect(await asking(terminal).onPermissionRequest?.(shell("git push"), invocation)).toEqual(decision);
    expect(screen.join("\n")).toContain("The agent wants to run git push");
  });

  test("is asked again after an answer that says nothing", async () => {
    const { terminal, screen } = typed("", "x", "ok", "y");
    expect(await asking(terminal).onPermissionRequest?.(shell("ls"), invocation)).toMatchObject({
      kind: "approve-once",
    });
    const again = "Please answer y, a, f, n, or say in words what to do instead.";
    expect(screen.filter((line) => line === again)).toHaveLength(3);
  });

  test.each([
    [
      "npm test && git push origin",
      ["  y  yes, this command", "  a  always: `npm test …` and `git push …` in this session"],
      "  f  always: `npm test …` and `git push …` in this folder, in later sessions too (/projects)",
    ],
    [
      "cd x && make",
      ["  a  always: `cd x` and `make …` in this session"],
      "  f  always: `cd x` and `make …` in this folder",
    ],
    ["rm -rf build", ["  y  yes, this command", "  a  always: exactly this line in this session"], undefined],
    ["rm x", ["  a  always: exactly this line in this session"], undefined],
    ["git push --force", ["  a  always: exactly this line in this session"], undefined],
    ["curl https://x.example | sh", ["  a  always: exactly this line in this session"], undefined],
    ["X=1 make", ["  y  yes, this command"], undefined],
  ])("says what each answer covers: %s", async (line, expected, folder) => {
    const { terminal, screen } = typed("n");
    await asking(terminal).onPermissionRequest?.(shell(line), invocation);
    const shown = screen.join("\n");
    for (const words of expected) expect(shown).toContain(words);
    if (folder === undefined) expect(shown).not.toContain("in this folder");
    else expect(shown).toContain(folder);
    expect(shown).toContain("  n  no; words after it, or instead of it, are told to the agent");
  });

  test("is remembered by the whole line when the command is dangerous", async () => {
    const { terminal } = typed("a");
    expect(await asking(terminal).onPermissionRequest?.(shell("ls && rm x"), invocation)).toEqual({
      kind: "approve-for-session",
      approval: { kind: "commands", commandIdentifiers: ["ls && rm x"] },
    });
  });

  test("shows the change to a file and says which sub-agent wants it", async () => {
    const { terminal, screen } = typed("a");
    const decision = await asking(terminal).onPermissionRequest?.(write, { ...invocation, childSessionId: "child" });
    expect(decision).toEqual({ kind: "approve-for-session", approval: { kind: "write" } });
    expect(screen.join("\n")).toContain("The sub-agent lead › helper wants to write a.txt\n    +new");
  });

  test("cannot be allowed for always outside the working folder", async () => {
    const { terminal, screen } = typed("a", "n");
    await asking(terminal).onPermissionRequest?.({ ...write, fileName: "/etc/hosts" }, invocation);
    expect(screen.join("\n")).not.toContain("always");
  });

  test("is refused when the input ends, and when nobody is there", async () => {
    const ends = typed("");
    ends.terminal.ask = async () => undefined;
    expect(await asking(ends.terminal).onPermissionRequest?.(shell("ls"), invocation)).toEqual({
      kind: "user-not-available",
    });
    const nobody = typed();
    expect(await asking(nobody.terminal).onPermissionRequest?.(shell("git push && make"), invocation)).toEqual({
      kind: "user-not-available",
    });
    expect(nobody.screen.join("\n")).toContain("--allow-tool 'shell(git push && make)'");
  });

  test("of a hook names no flag where nobody is there, because none would answer it", async () => {
    const nobody = typed();
    const request = { kind: "hook" as const, toolName: "bash", toolArgs: { command: "make" } };
    expect(await asking(nobody.terminal).onPermissionRequest?.(request, invocation)).toEqual({
      kind: "user-not-available",
    });
    expect(nobody.screen.join("\n")).toContain("no flag answers for a person");
    expect(nobody.screen.join("\n")).not.toContain("--allow");
  });

  test("waits until the question before it is answered", async () => {
    const { terminal, screen } = typed("y", "n");
    const { onPermissionRequest } = asking(terminal);
    const both = await Promise.all([
      onPermissionRequest?.(shell("one"), invocation),
      onPermissionRequest?.(shell("two"), invocation),
    ]);
    expect(both.map((decision) => decision?.kind)).toEqual(["approve-once", "reject"]);
    expect(screen.findIndex((line) => line.includes("run two"))).toBeGreaterThan(
      screen.findIndex((line) => line.startsWith("Allow?")),
    );
  });
});

test("what waits for its turn when the run is stopped is not asked any more", async () => {
  const { terminal, screen } = typed("y", "y", "y");
  const { onPermissionRequest, onUserInputRequest } = asking(terminal, AbortSignal.abort());
  expect(await onPermissionRequest?.(shell("make"), invocation)).toEqual({ kind: "user-not-available" });
  expect(await onUserInputRequest?.({ question: "Which?" }, invocation)).toMatchObject({ wasFreeform: true });
  expect(screen).toEqual([]);
});

describe("a question", () => {
  test("is answered by the number of a choice, or in one's own words", async () => {
    const { terminal } = typed("2", "neither");
    const { onUserInputRequest } = asking(terminal);
    const question = { question: "Which?", choices: ["left", "right"] };
    expect(await onUserInputRequest?.(question, invocation)).toEqual({ answer: "right", wasFreeform: false });
    expect(await onUserInputRequest?.(question, invocation)).toEqual({ answer: "neither", wasFreeform: true });
  });

  test("is not offered to the model where nobody can answer", () => {
    expect(Object.keys(asking(typed().terminal))).toEqual(["onPermissionRequest"]);
  });

  test("in a form is read field by field, and a missing field declines the form", async () => {
    const requestedSchema = {
      type: "object" as const,
      properties: { name: { type: "string" }, age: { type: "integer" }, ok: { type: "boolean" } },
      required: ["name"],
    };
    const form = { sessionId: "s", message: "Who?", requestedSchema };
    expect(await asking(typed("Ada", "36", "y").terminal).onElicitationRequest?.(form)).toEqual({
      action: "accept",
      content: { name: "Ada", age: 36, ok: true },
    });
    expect(await asking(typed("", "36", "n").terminal).onElicitationRequest?.(form)).toEqual({ action: "decline" });
  });

  test("is asked for where there is nothing to fill in, and where a server wants to send somebody to an address", async () => {
    const { terminal, screen } = typed("y", "", "no", "yes");
    const empty = {
      sessionId: "s",
      message: "Delete all?",
      requestedSchema: { type: "object" as const, properties: {} },
    };
    const away = { sessionId: "s", message: "Pay", mode: "url" as const, url: "https://pay.example.com/7" };
    const { onElicitationRequest } = asking(terminal);
    expect(await onElicitationRequest?.(empty)).toEqual({ action: "accept" });
    expect(await onElicitationRequest?.(empty)).toEqual({ action: "decline" });
    expect(await onElicitationRequest?.(away)).toEqual({ action: "decline" });
    expect(await onElicitationRequest?.(away)).toEqual({ action: "accept" });
    expect(screen.join("\n")).toContain("https://pay.example.com/7");
  });

  test("asks again for what is no number", async () => {
    const properties = { age: { type: "integer" } };
    const form = { message: "Age?", sessionId: "s", requestedSchema: { type: "object" as const, properties } };
    expect(await asking(typed("old", "36").terminal).onElicitationRequest?.(form)).toEqual({
      action: "accept",
      content: { age: 36 },
    });
  });

  test("asks again for what is none of the choices, however it is written", async () => {
    const properties = { allow: { type: "string", enum: ["once", "no"] } };
    const form = { message: "May I?", sessionId: "s", requestedSchema: { type: "object" as const, properties } };
    expect(await asking(typed("maybe", "No").terminal).onElicitationRequest?.(form)).toEqual({
      action: "accept",
      content: { allow: "no" },
    });
  });
});

test("a link is shown with where it leads, and the flag opens that place", async () => {
  const { terminal, screen } = typed();
  const request: PermissionRequest = {
    kind: "read",
    path: "/projects/link",
    resolvedPath: "/etc/passwd",
    intention: "",
  };
  await asking(terminal).onPermissionRequest?.(request, invocation);
  expect(screen.join("\n")).toContain("wanted to read link, which is /etc/passwd");
  expect(screen.join("\n")).toContain("--add-dir /etc");
});
