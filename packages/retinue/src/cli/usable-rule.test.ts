import { describe, expect, test } from "vitest";
import { KIND_WORDS, TOOL_WORDS } from "../permissions/rule-words.ts";
import { builtinTools } from "../tools/catalog.ts";
import { allowRule, denyRule, unknownNameNote } from "./usable-rule.ts";

const both = [allowRule, denyRule];
const complaint = (read: () => unknown): string => {
  try {
    return `accepted: ${JSON.stringify(read())}`;
  } catch (error) {
    return String(error);
  }
};

describe("a rule that is not understood", () => {
  test.each([
    ["shel(rm)", "Did you mean shell(rm)?"],
    ["Shell(rm)", "Did you mean shell(rm)?"],
    ["sehll", "Did you mean shell?"],
    ["wirte(src)", "Did you mean write(src)?"],
    ["web_fecth", "Did you mean web_fetch?"],
    ["shell(rm", "no closing bracket. Did you mean shell(rm)?"],
    ["shell rm)", "a closing bracket and no opening one"],
    ["shell(rm) x", "something follows its closing bracket"],
    ["shell(rm))", "one closing bracket too many"],
    ["(rm)", "Did you mean shell(rm)?"],
    ["shell()", "nothing in its brackets. Did you mean shell?"],
    ["shell( )", "nothing in its brackets. Did you mean shell?"],
    ["shell(*)", "Did you mean shell, which is every command?"],
    ["shell(:*)", "Did you mean shell, which is every command?"],
    ["shell(touch *)", "Did you mean shell(touch:*)?"],
    ["shell(git *)", "Did you mean shell(git:*)?"],
    ["Bash(git * main:*)", "Did you mean shell(git:*)?"],
    ["shell(rm),shell(mv)", "more than one rule"],
    ["write,shell", "'write,shell' is no name of a kind or a tool"],
    ["git push", "shell(git push)"],
    ["rm", "a command is named like this: shell(rm)"],
    ["curl(example.com)", "a command is named like this: shell(curl example.com)"],
    ["server(*)", "Did you mean mcp(server)?"],
    ["mcp(a)(b)", "its brackets do not match"],
    ["task(explore)", "a rule for task has nothing in brackets"],
    ["Task(explore)", "a rule for task has nothing in brackets"],
    ["Read(**/.env)", "* is no pattern there"],
    ["WebFetch(domain:)", "nothing in its brackets"],
    ["", "it is empty"],
  ])("is refused with the nearest form: %s", (typed, words) => {
    for (const read of both) expect(complaint(() => read(typed))).toContain(words);
  });

  test.each([
    ["shell(rm -rf)", "Did you mean shell(rm -rf:*)?"],
    ["shell(sudo:*)", "sudo can run any other command"],
    ["shell(bash)", "bash can run any other command"],
    ["shell(python3:*)", "such as shell(python3 build.js:*)"],
    ["shell(find . -delete:*)", "can run any other command"],
    ["shell(echo hi > f:*)", "one plain command"],
    ["*", "--allow-all-tools allows everything"],
  ])("is refused where it could never allow anything: %s", (typed, words) => {
    expect(complaint(() => allowRule(typed))).toContain(words);
  });

  test.each([
    ["shell(curl x | sh)", "Name each command in a rule of its own"],
    ["shell(rm *)", "Did you mean shell(rm:*)?"],
    ["shell(rm -rf *)", "Did you mean shell(rm -rf:*)?"],
    ["shell(X=1 rm)", "begins with an assignment"],
  ])("is refused where it would deny less than it seems to: %s", (typed, words) => {
    expect(complaint(() => denyRule(typed))).toContain(words);
  });
});

describe("a rule of another agent program", () => {
  test.each([
    ["Bash", "shell", null],
    ["Bash(*)", "shell", null],
    ["Bash(rm)", "shell", "rm"],
    ["Bash(git push:*)", "shell", "git push:*"],
    ["Bash(npm run *)", "shell", "npm run:*"],
    ["Edit", "write", null],
    ["Write(src/**)", "write", "src"],
    ["MultiEdit(./docs/**)", "write", "./docs"],
    ["Read(//etc/hosts)", "read", "/etc/hosts"],
    ["Read(~/.ssh/**)", "read", "~/.ssh"],
    ["Read(**)", "read", null],
    ["Grep", "read", null],
    ["Glob", "read", null],
    ["WebFetch", "url", null],
    ["WebFetch(domain:example.com)", "url", "example.com"],
    ["Task", "task", null],
    ["mcp__tracker", "mcp", "tracker"],
    ["mcp__tracker__*", "mcp", "tracker"],
    ["mcp__tracker__find_issue", "tracker", "find_issue"],
  ])("is understood, to allow and to deny: %s", (typed, kind, argument) => {
    for (const read of both) expect(read(typed)).toEqual({ kind, argument });
  });
});

test("rules that cover one line, a command with its options, or a tool of somebody else stay possible", () => {
  const allowed = [
    ...[
      "shell(X=1 make)",
      "shell(make test > log)",
      "shell(sudo ls)",
      "shell(find *)",
      "shell(ls -la)",
      "shell(echo (a))",
    ],
    ...["shell(node build.js:*)", "shell(rm -rf:*)", "server(tool)", "server-tool", "my_tool", "custom-tool(shel)"],
  ];
  for (const typed of allowed) expect(complaint(() => allowRule(typed))).toContain("accepted");
  const denied = ["shell(rm -rf)", "shell(sudo)", "shell(bash:*)", "shell(git push --force)", "server/*", "my_tool"];
  for (const typed of denied) expect(complaint(() => denyRule(typed))).toContain("accepted");
});

test("a name that only a server or a tool from outside can have is noted, and none of our own", () => {
  expect(unknownNameNote(denyRule("deploy"))).toContain("'deploy' is no kind of permission and no built-in tool");
  expect(["shell", "read(a)", "sql", "mcp(x)"].map((typed) => unknownNameNote(denyRule(typed)))).toEqual(
    Array(4).fill(undefined),
  );
});

test("every built-in tool is a word of a rule", () => {
  const words = [...KIND_WORDS, ...TOOL_WORDS];
  const tools = builtinTools({ askUser: "legacy", autopilot: true }).map(({ name }) => name);
  expect(tools.filter((name) => !words.includes(name))).toEqual([]);
});
