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
  const rules = (locationKey?: string) => new Rules({ store, workingDirectory: "/projects", locationKey });
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
    expect(rules.decide(read("/projects/a.txt"))).toMatchObject({ type: "allow" });
    expect(rules.decide(read("/projects/../etc/passwd"))).toMatchObject({ type: "ask" });
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

test("a session that moves to another folder takes up the answers that were given there, and leaves them with it", () => {
  using small = world();
  small.rules("/other").approveForLocation({ kind: "custom-tool", toolName: "lookup" });
  const rules = small.rules("/projects");
  expect(rules.useLocation("/projects").changed).toBe(false);
  expect(rules.useLocation("/other")).toMatchObject({ changed: true, approvals: [{ toolName: "lookup" }] });
  expect(rules.decide(tool("lookup")).type).toBe("allow");
  rules.useLocation("/projects");
  expect(rules.decide(tool("lookup")).type).toBe("ask");
});

test("an answer that is kept for another folder is one for this session too, unless it is only kept", () => {
  using small = world();
  const rules = small.rules("/projects");
  rules.approveForLocation({ kind: "custom-tool", toolName: "lookup" }, "/other");
  rules.keepForLocation({ kind: "custom-tool", toolName: "kept" }, "/other");
  expect(["lookup", "kept"].map((name) => rules.decide(tool(name)).type)).toEqual(["allow", "ask"]);
  expect(["lookup", "kept"].map((name) => small.rules("/other").decide(tool(name)).type)).toEqual(["allow", "allow"]);
});

test("rules come and go by their text, and those of a folder stay for later sessions", () => {
  using small = world();
  const rules = small.rules("/projects");
  rules.modify({ add: [parseRule("lookup"), parseRule("shell(ls)")] });
  rules.modify({ remove: [parseRule("shell(ls)")] });
  expect([rules.decide(tool("lookup")).rule, rules.decide(shell("ls")).type]).toEqual(["allow rule lookup", "ask"]);
  rules.modify({ removeAll: true });
  expect(rules.decide(tool("lookup")).type).toBe("ask");
  rules.modifyLocation({ add: [parseRule("lookup")] });
  expect(small.rules("/projects").decide(tool("lookup")).type).toBe("allow");
  rules.resetApprovals({ includeLocation: true });
  expect(small.rules("/projects").decide(tool("lookup")).type).toBe("ask");
});

test("an address that is allowed for good is allowed in every folder, with all under it and nothing beside it", () => {
  using small = world();
  const page = (url: string): PermissionRequest => ({ kind: "url", url, intention: "" });
  small.rules("/projects").allowDomain("example.com", { isPermanent: true });
  small.rules("/projects").allowDomain("once.org");
  const later = small.rules("/other");
  const urls = ["https://docs.example.com/x", "https://badexample.com/x", "https://once.org", "example.com"];
  expect(urls.map((url) => later.decide(page(url)).type)).toEqual(["allow", "ask", "ask", "ask"]);
});

test("the working folder can be changed and others added, each once", () => {
  using small = world();
  const rules = small.rules();
  const before = rules.directories.length;
  rules.addDirectory("/more");
  rules.addDirectory("/more");
  rules.setPrimary("/new");
  expect(rules.directories).toHaveLength(before + 1);
  expect(["/new/a", "/more/a", "/projects/a", "/newer"].map((path) => rules.isPathAllowed(path))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([rules.isInWorkspace("/new/a"), rules.isInWorkspace("/more/a")]).toEqual([true, false]);
});
