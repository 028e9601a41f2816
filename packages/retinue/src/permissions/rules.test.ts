import type { PermissionRequest } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { loadGrammar } from "../shell-language/grammar.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import type { DocumentChange } from "../store/store.ts";
import { shellRequest } from "../tools/shell/shell-command.ts";
import { parseRule } from "./policy.ts";
import { Rules } from "./rules.ts";

await loadGrammar();

const shell = (command: string) => shellRequest(command, { intention: "run", toolCallId: "c" });
const tool = (toolName: string): PermissionRequest => ({ kind: "custom-tool", toolName, toolDescription: "" });
const read = (path: string): PermissionRequest => ({ kind: "read", path, intention: "read" });

function world() {
  const store = openSqlite({ path: ":memory:" });
  const keeping = {
    documents: store.documents,
    keep: (change: DocumentChange) => void store.documents.write([change]),
    warn: (message: string) => void warnings.push(message),
  };
  const warnings: string[] = [];
  const rules = (locationKey?: string) => Rules.load({ workingDirectory: "/projects", locationKey }, keeping);
  return { store, rules, warnings, [Symbol.dispose]: () => store.db.close() };
}

describe("the order of rules", () => {
  test("without rules a person is asked", async () => {
    using small = world();
    expect((await small.rules()).decide(shell("ls"))).toEqual({ type: "ask", rule: "no rule" });
  });

  test("a denial wins over an approval of everything, a rule and an answer", async () => {
    using small = world();
    const rules = await small.rules();
    rules.change({
      approveAll: true,
      mode: "allow-all",
      denied: [parseRule("deploy")],
      approved: [parseRule("deploy")],
    });
    rules.answers.forSession({ kind: "custom-tool", toolName: "deploy" });
    expect(rules.decide(tool("deploy"))).toMatchObject({ type: "deny", rule: "deny rule deploy" });
    expect(rules.decide(tool("other"))).toMatchObject({ type: "allow" });
  });

  test("a hook that asks makes a person decide even when everything is approved", async () => {
    using small = world();
    const rules = await small.rules();
    rules.change({ approveAll: true });
    expect(rules.decide({ kind: "hook", toolName: "bash" })).toMatchObject({ type: "ask" });
  });
});

describe("answers", () => {
  test("for the session apply in it, to that kind of request only, until they are reset", async () => {
    using small = world();
    const rules = await small.rules();
    rules.answers.forSession({ kind: "commands", commandIdentifiers: ["git status"] });
    expect(rules.decide(shell("git status"))).toEqual({ type: "allow", rule: "approved for the session: commands" });
    expect(rules.decide(shell("git push"))).toMatchObject({ type: "ask" });
    expect((await small.rules()).decide(shell("git status"))).toMatchObject({ type: "ask" });
    await rules.answers.reset();
    expect(rules.decide(shell("git status"))).toMatchObject({ type: "ask" });
  });

  test("for a folder apply in later sessions there, and in no other folder", async () => {
    using small = world();
    (await small.rules("/repo")).answers.forLocation({ kind: "custom-tool", toolName: "deploy" });
    expect((await small.rules("/repo")).decide(tool("deploy"))).toEqual({
      type: "allow",
      rule: "approved for the location: custom-tool",
    });
    expect((await small.rules("/other")).decide(tool("deploy"))).toMatchObject({ type: "ask" });
    await (await small.rules("/repo")).answers.reset({ includeLocation: true });
    expect((await small.rules("/repo")).decide(tool("deploy"))).toMatchObject({ type: "ask" });
  });

  test("for reads apply inside the allowed folders", async () => {
    using small = world();
    const rules = await small.rules();
    rules.answers.forSession({ kind: "read" });
    expect(rules.decide(read("/projects/a.txt"))).toMatchObject({ type: "allow" });
    expect(rules.decide(read("/projects/../etc/passwd"))).toMatchObject({ type: "ask" });
    rules.places.add("/etc");
    expect(rules.decide(read("/etc/passwd"))).toMatchObject({ type: "allow" });
  });
});

test("a rule is parsed from its text, and a bracket in its argument is part of it", async () => {
  expect(["write", "shell(git push:*)", "url(example.com)", "tool()", "shell(echo (a))"].map(parseRule)).toEqual([
    { kind: "write", argument: null },
    { kind: "shell", argument: "git push:*" },
    { kind: "url", argument: "example.com" },
    { kind: "tool", argument: null },
    { kind: "shell", argument: "echo (a)" },
  ]);
});

test("a session that moves to another folder uses the answers of that folder until it leaves", async () => {
  using small = world();
  (await small.rules("/other")).answers.forLocation({ kind: "custom-tool", toolName: "lookup" });
  const rules = await small.rules("/projects");
  expect((await rules.answers.useLocation("/projects")).changed).toBe(false);
  expect(await rules.answers.useLocation("/other")).toMatchObject({
    changed: true,
    approvals: [{ toolName: "lookup" }],
  });
  expect(rules.decide(tool("lookup")).type).toBe("allow");
  await rules.answers.useLocation("/projects");
  expect(rules.decide(tool("lookup")).type).toBe("ask");
});

test("an answer that is kept for another folder also applies to this session, unless it is only stored", async () => {
  using small = world();
  const rules = await small.rules("/projects");
  rules.answers.forLocation({ kind: "custom-tool", toolName: "lookup" }, "/other");
  rules.answers.keep({ kind: "custom-tool", toolName: "kept" }, "/other");
  expect(["lookup", "kept"].map((name) => rules.decide(tool(name)).type)).toEqual(["allow", "ask"]);
  const other = await small.rules("/other");
  expect(["lookup", "kept"].map((name) => other.decide(tool(name)).type)).toEqual(["allow", "allow"]);
});

test("rules are added and removed by their text, and those of a folder stay for later sessions", async () => {
  using small = world();
  const rules = await small.rules("/projects");
  rules.modify({ add: [parseRule("lookup"), parseRule("shell(ls)")] });
  rules.modify({ remove: [parseRule("shell(ls)")] });
  expect([rules.decide(tool("lookup")).rule, rules.decide(shell("ls")).type]).toEqual(["allow rule lookup", "ask"]);
  rules.modify({ removeAll: true });
  expect(rules.decide(tool("lookup")).type).toBe("ask");
  rules.answers.modifyRules({ add: [parseRule("lookup")] });
  expect((await small.rules("/projects")).decide(tool("lookup")).type).toBe("allow");
  await rules.answers.reset({ includeLocation: true });
  expect((await small.rules("/projects")).decide(tool("lookup")).type).toBe("ask");
});

test("a permanently allowed address is allowed in every folder, with everything below it and nothing else", async () => {
  using small = world();
  const page = (url: string): PermissionRequest => ({ kind: "url", url, intention: "" });
  (await small.rules("/projects")).allowDomain("example.com", { isPermanent: true });
  (await small.rules("/projects")).allowDomain("once.org");
  const later = await small.rules("/other");
  const urls = ["https://docs.example.com/x", "https://badexample.com/x", "https://once.org", "example.com"];
  expect(urls.map((url) => later.decide(page(url)).type)).toEqual(["allow", "ask", "ask", "ask"]);
});

test("the working folder can be changed and others added, each once", async () => {
  using small = world();
  const rules = await small.rules();
  const before = rules.policy.directories.length;
  rules.places.add("/more");
  rules.places.add("/more");
  rules.places.primary = "/new";
  expect(rules.policy.directories).toHaveLength(before + 1);
  expect(["/new/a", "/more/a", "/projects/a", "/newer"].map((path) => rules.places.isAllowed(path))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([rules.places.isInWorkspace("/new/a"), rules.places.isInWorkspace("/more/a")]).toEqual([true, false]);
});

test("two sessions that answer for one folder at the same time keep both answers", async () => {
  using small = world();
  const [one, two] = [await small.rules("/projects"), await small.rules("/projects")];
  one.answers.forLocation({ kind: "custom-tool", toolName: "lookup" });
  two.answers.forLocation({ kind: "custom-tool", toolName: "deploy" });
  const later = await small.rules("/projects");
  expect(["lookup", "deploy"].map((name) => later.decide(tool(name)).type)).toEqual(["allow", "allow"]);
});

test("an answer that cannot be read does not count, and is named in a warning", async () => {
  using small = world();
  const broken = { kind: "folder-approval", key: "/projects\nx", version: 1, json: '{"kind":"custom-tool"}' };
  const newer = { kind: "folder-approval", key: "/projects\ny", version: 9, json: '{"kind":"write"}' };
  await small.store.documents.write([{ put: broken }, { put: newer }]);
  const rules = await small.rules("/projects");
  expect(rules.decide(tool("lookup")).type).toBe("ask");
  expect(small.warnings).toEqual([
    expect.stringMatching(/folder-approval \/projects\nx cannot be read: toolName/),
    expect.stringMatching(/folder-approval \/projects\ny cannot be read: it is from a newer version of Retinue \(9\)/),
  ]);
});
