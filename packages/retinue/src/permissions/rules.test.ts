import type { PermissionRequest } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { openSqlite } from "../store/sqlite.ts";
import { parseRule } from "./policy.ts";
import { Rules } from "./rules.ts";

const shell = (command: string): PermissionRequest => ({
  kind: "shell",
  fullCommandText: command,
  intention: "run",
  commands: [{ identifier: command, readOnly: false }],
  commandSegments: [{ identifier: command.split(" ")[0] ?? "", fullCommandText: command }],
  possiblePaths: [],
  possibleUrls: [],
  hasWriteFileRedirection: false,
  canOfferSessionApproval: true,
});
const tool = (toolName: string): PermissionRequest => ({ kind: "custom-tool", toolName, toolDescription: "" });
const read = (path: string): PermissionRequest => ({ kind: "read", path, intention: "read" });

function world() {
  const store = openSqlite({ path: ":memory:" });
  const rules = (locationKey?: string) => new Rules({ store, workingDirectory: "/work", locationKey });
  return { store, rules, [Symbol.dispose]: () => store.close() };
}

describe("the order of rules", () => {
  test("without any, a person is asked", () => {
    using small = world();
    expect(small.rules().decide(shell("ls"))).toEqual({ type: "ask", rule: "no rule" });
  });

  test("a denial wins over an approval for all, a rule and an answer", () => {
    using small = world();
    const rules = small.rules();
    rules.change({
      approveAll: true,
      mode: "allow-all",
      denied: [parseRule("deploy")],
      approved: [parseRule("deploy")],
    });
    rules.approveForSession({ kind: "custom-tool", toolName: "deploy" });
    expect(rules.decide(tool("deploy"))).toMatchObject({ type: "deny", rule: "deny rule deploy" });
    expect(rules.decide(tool("other"))).toMatchObject({ type: "allow" });
  });

  test("a question of a hook is put to a person even when everything is approved", () => {
    using small = world();
    const rules = small.rules();
    rules.change({ approveAll: true });
    expect(rules.decide({ kind: "hook", toolName: "bash" })).toMatchObject({ type: "ask" });
  });
});

describe("answers", () => {
  test("for the session hold in it, for that sort of request only, until they are reset", () => {
    using small = world();
    const rules = small.rules();
    rules.approveForSession({ kind: "commands", commandIdentifiers: ["git status"] });
    expect(rules.decide(shell("git status"))).toEqual({ type: "allow", rule: "approved for the session: commands" });
    expect(rules.decide(shell("git push"))).toMatchObject({ type: "ask" });
    expect(small.rules().decide(shell("git status"))).toMatchObject({ type: "ask" });
    rules.resetApprovals();
    expect(rules.decide(shell("git status"))).toMatchObject({ type: "ask" });
  });

  test("for a folder hold in later sessions there, and in no other folder", () => {
    using small = world();
    small.rules("/repo").approveForLocation({ kind: "custom-tool", toolName: "deploy" });
    expect(small.rules("/repo").decide(tool("deploy"))).toEqual({
      type: "allow",
      rule: "approved for the location: custom-tool",
    });
    expect(small.rules("/other").decide(tool("deploy"))).toMatchObject({ type: "ask" });
    small.rules("/repo").resetApprovals({ includeLocation: true });
    expect(small.rules("/repo").decide(tool("deploy"))).toMatchObject({ type: "ask" });
  });

  test("for reads hold inside the allowed folders", () => {
    using small = world();
    const rules = small.rules();
    rules.approveForSession({ kind: "read" });
    expect(rules.decide(read("/work/a.txt"))).toMatchObject({ type: "allow" });
    expect(rules.decide(read("/work/../etc/passwd"))).toMatchObject({ type: "ask" });
    rules.addDirectory("/etc");
    expect(rules.decide(read("/etc/passwd"))).toMatchObject({ type: "allow" });
  });
});

test("a rule is read from its text, and a bracket in its argument is part of it", () => {
  expect(["write", "shell(git push:*)", "url(example.com)", "tool()", "shell(echo (a))"].map(parseRule)).toEqual([
    { kind: "write", argument: null },
    { kind: "shell", argument: "git push:*" },
    { kind: "url", argument: "example.com" },
    { kind: "tool", argument: null },
    { kind: "shell", argument: "echo (a)" },
  ]);
});
