import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SmallWorld, smallWorld } from "../tools/small-world.ts";
import type { Outcome } from "../tools/tool.ts";
import { SkillCatalog, skillFolders } from "./catalog.ts";
import { skillContext } from "./skill.ts";
import { skillTool } from "./skill-tool.ts";

let world: SmallWorld;
let root: string;
beforeEach(() => {
  world = smallWorld();
  root = world.folder;
});
afterEach(() => world.close());

function write(folder: string, head: string, body = "Do the thing."): string {
  const file = path.join(root, folder, "SKILL.md");
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `---\n${head}\n---\n${body}\n`);
  return file;
}

function open(more: { enableConfigDiscovery?: boolean; disabledSkills?: string[] } = {}): SkillCatalog {
  const folders = skillFolders({
    skillDirectories: ["skills"],
    home: path.join(root, "home"),
    workingDirectory: root,
    enableConfigDiscovery: more.enableConfigDiscovery ?? false,
    project: more.enableConfigDiscovery ? { folder: root, root: realpathSync(root) } : undefined,
  });
  return new SkillCatalog({ folders, disabledSkills: more.disabledSkills });
}

const call = (skills: SkillCatalog, args: unknown): Promise<Outcome> => world.call(skillTool(skills), args);

describe("discovery", () => {
  test("a skill is shown with what its front matter says", () => {
    const file = write("skills/my-skill", "name: my-skill\ndescription: does a thing\nargument-hint: '<file>'");
    expect(open().list()).toEqual([
      {
        name: "my-skill",
        commandName: "my-skill",
        description: "does a thing",
        source: "custom",
        userInvocable: true,
        enabled: true,
        path: file,
        argumentHint: "<file>",
      },
    ]);
  });

  test.each(["[file]", "[version] [channel]", '[a "b"]'])(
    "a hint in brackets is text, as Claude Code has it: %s",
    (hint) => {
      write("skills/a", `description: Cut a release: bump, then tag\nargument-hint: ${hint}\nallowed-tools: Read`);
      const skills = open();
      expect(skills.problems.errors).toEqual([]);
      expect(skills.list()).toMatchObject([{ name: "a", argumentHint: hint }]);
    },
  );

  test("the folder gives the name where the file does not, and a folder may be a skill itself", () => {
    write("skills/unnamed", "description: d");
    write("skills", "name: top\ndescription: d");
    expect(
      open()
        .list()
        .map((skill) => skill.name),
    ).toEqual(["top", "unnamed"]);
  });

  test("user and project folders count only with config discovery, after the host's", () => {
    write("skills/a", "description: from the host");
    write(".github/skills/a", "description: from the project");
    write(".github/skills/b", "description: d");
    write(".claude/skills/c", "description: d");
    write("home/skills/d", "description: d");
    expect(
      open()
        .list()
        .map((skill) => skill.name),
    ).toEqual(["a"]);
    const all = open({ enableConfigDiscovery: true });
    expect(all.list().map((skill) => [skill.name, skill.source])).toEqual([
      ["a", "custom"],
      ["d", "personal-copilot"],
      ["b", "project"],
      ["c", "project"],
    ]);
    expect(all.problems.warnings).toEqual([expect.stringContaining("the name a is taken by")]);
  });

  test("a skill of the project never takes the name of a user's skill, nor one that looks the same", () => {
    write("home/skills/deploy", "name: deploy\ndescription: from the user");
    write(".github/skills/a", "name: deploy\ndescription: from the project");
    write(".github/skills/b", "name: Ｄｅｐｌｏｙ\ndescription: from the project");
    write(".github/skills/c", 'name: "dep\\u200bloy"\ndescription: from the project');
    const skills = open({ enableConfigDiscovery: true });
    expect(skills.list().map(({ name, description }) => [name, description])).toEqual([["deploy", "from the user"]]);
    expect(skills.problems.warnings).toHaveLength(2);
    expect(skills.problems.errors).toEqual([
      expect.stringContaining("dep‹U+200B›loy has characters that cannot be seen"),
    ]);
  });

  test("a skill of the project that is a pipe or leads out of it is not read, also when it is loaded later", () => {
    const file = write(".github/skills/good", "description: d");
    const secret = write("../elsewhere/secret", "description: d", "secret");
    mkdirSync(path.join(root, ".github/skills/pipe"));
    execFileSync("mkfifo", [path.join(root, ".github/skills/pipe/SKILL.md")]);
    symlinkSync(path.dirname(secret), path.join(root, ".github/skills/link"));
    const skills = open({ enableConfigDiscovery: true });
    expect(skills.list().map(({ name }) => name)).toEqual(["good"]);
    expect(skills.problems.errors).toEqual([
      expect.stringContaining("link/SKILL.md was not read: it is a link that leads out of the project"),
      expect.stringContaining("pipe/SKILL.md was not read: it is a named pipe"),
    ]);
    rmSync(file);
    symlinkSync(secret, file);
    expect(() => skills.load("good")).toThrow("leads out of the project");
  });

  test("a field that is misspelt is named with its line, and fields of other programs are left alone", () => {
    const file = write("skills/a", "description: d\nlicense: MIT\nmetadata: {}\ndisable_model_invocation: true");
    expect(open().problems.warnings).toEqual([
      `${file}:5: there is no field 'disable_model_invocation', so it has no effect. Did you mean disable-model-invocation?`,
    ]);
  });

  test("folders without a skill do not keep skills from being found", () => {
    for (let at = 0; at < 150; at++) mkdirSync(path.join(root, `skills/a${at}`), { recursive: true });
    write("skills/z", "description: d");
    const skills = open();
    expect(skills.list().map(({ name }) => name)).toEqual(["z"]);
    expect(skills.problems.errors).toEqual([]);
  });

  test("a skill of a plugin does not look like one of the user's either", () => {
    write("home/skills/deploy", "name: deploy\ndescription: from the user");
    write("kit/skills/b", "name: Ｄｅｐｌｏｙ\ndescription: from the plugin");
    write("kit/skills/c", 'name: "dep\\u200bloy"\ndescription: from the plugin');
    const plugins = [{ source: "plugin" as const, path: path.join(root, "kit/skills"), plugin: "kit" }];
    const folders = skillFolders({
      home: path.join(root, "home"),
      workingDirectory: root,
      enableConfigDiscovery: true,
      plugins,
    });
    const skills = new SkillCatalog({ folders });
    expect(skills.list().map(({ name }) => name)).toEqual(["deploy"]);
    expect(skills.problems.errors).toEqual([expect.stringContaining("has characters that cannot be seen")]);
  });

  test("a broken file is an error with its line and hides nothing else", () => {
    write("skills/bad", "name: bad\nuser-invocable: 3");
    write("skills/good", "description: d");
    const skills = open();
    expect(skills.list().map((skill) => skill.name)).toEqual(["good"]);
    expect(skills.problems.errors).toEqual([expect.stringContaining("bad/SKILL.md:3: user-invocable")]);
  });

  test("a link in a circle, or to nowhere, is an error and hides nothing else", () => {
    for (const [name, target] of [
      ["circle", "SKILL.md"],
      ["nowhere", "gone.md"],
    ] as const) {
      mkdirSync(path.join(root, "skills", name), { recursive: true });
      symlinkSync(target, path.join(root, "skills", name, "SKILL.md"));
    }
    symlinkSync("folder", path.join(root, "skills/folder"));
    write("skills/good", "description: d");
    const skills = open();
    expect(skills.list().map((skill) => skill.name)).toEqual(["good"]);
    expect(skills.problems.errors).toEqual([
      expect.stringMatching(/circle.SKILL\.md was not read: ELOOP/),
      expect.stringMatching(/folder.SKILL\.md was not read: ELOOP/),
      expect.stringMatching(/nowhere.SKILL\.md was not read: it is a link that leads nowhere/),
    ]);
  });

  test("reload finds new skills and keeps what is switched off", () => {
    write("skills/a", "description: d");
    const skills = open();
    skills.disable("a");
    write("skills/b", "description: d");
    skills.reload();
    expect(skills.list().map((skill) => [skill.name, skill.enabled])).toEqual([
      ["a", false],
      ["b", true],
    ]);
  });
});

describe("loading", () => {
  test("gives the text as it is now, with the tools that it allows", () => {
    write("skills/a", "description: d\nallowed-tools: view, bash", "old");
    const skills = open();
    write("skills/a", "description: d\nallowed-tools: view, bash", "new");
    expect(skills.load("a")).toMatchObject({ content: "new", allowedTools: ["view", "bash"] });
  });

  test("allows nothing by its allowed-tools, which is said once for all skills, with the rule that would", () => {
    write("skills/a", "description: d\nallowed-tools: Bash(git add:*), Read");
    write("skills/b", "description: d\nallowed-tools: [view]");
    const skills = open();
    expect(skills.load("a").allowedTools).toEqual(["Bash(git add:*)", "Read"]);
    expect(skills.problems.warnings).toEqual([
      "allowed-tools of the skills a, b allows nothing here, since a file gives no permission. A rule does, such as --allow-tool 'Bash(git add:*)'",
    ]);
  });

  test("is noticed when a file has changed, and nothing is read again otherwise", () => {
    write("skills/a", "description: d");
    const skills = open();
    expect(skills.follow()).toBe(false);
    write("skills/a", "description: another one");
    expect(skills.follow()).toBe(true);
    expect(skills.offered()[0]?.description).toBe("another one");
  });

  test("leaves out a link in a circle", () => {
    mkdirSync(path.join(root, "skills/a"), { recursive: true });
    symlinkSync("SKILL.md", path.join(root, "skills/a/SKILL.md"));
    symlinkSync("..", path.join(root, "skills/a/up"));
    symlinkSync(".", path.join(root, "skills/itself"));
    expect(open().list()).toEqual([]);
  });

  test("a skill that is unknown or switched off is not found", () => {
    write("skills/a", "description: d");
    const skills = open({ disabledSkills: ["a"] });
    expect(() => skills.load("a")).toThrow("Skill not found: a");
    expect(() => skills.load("b")).toThrow("Skill not found: b");
    expect(() => skills.enable("b")).toThrow("Skill not found: b");
    skills.enable("a");
    expect(skills.load("a").content).toBe("Do the thing.");
  });

  test("the block names the skill and its base folder", () => {
    const file = write("skills/a", 'name: the "a"\ndescription: d');
    expect(skillContext(open().load('the "a"'))).toBe(
      `<skill-context name="the &quot;a&quot;">\nBase folder of this skill: ${path.dirname(file)}\n\nDo the thing.\n</skill-context>`,
    );
  });

  test("a text without end is cut, and a file without end is refused", () => {
    write("skills/long", "description: d", "x".repeat(300_000));
    write("skills/huge", "description: d", "x".repeat(2_000_000));
    const skills = open();
    expect(skills.load("long").content.length).toBeLessThan(101_000);
    expect(skills.load("long").content).toContain("[Cut after 100000 characters.");
    expect(skills.problems.errors).toEqual([expect.stringContaining("huge/SKILL.md was not read: it is larger than")]);
  });
});

describe("the skill tool", () => {
  test("answers one line, and the instructions follow as a message of their own", async () => {
    write("skills/a", "description: d");
    const skills = open();
    const outcome = await call(skills, { skill: "a" });
    expect(outcome).toMatchObject({ resultType: "success", followUps: [skillContext(skills.load("a"))] });
    expect(outcome.text).not.toContain("\n");
  });

  test("records which text was given", async () => {
    const file = write("skills/a", "description: d\nallowed-tools: [view]");
    expect((await call(open(), { skill: "a" })).events).toEqual([
      {
        type: "skill.invoked",
        data: {
          name: "a",
          path: file,
          content: "Do the thing.",
          description: "d",
          source: "custom",
          trigger: "agent-invoked",
          allowedTools: ["view"],
          disableModelInvocation: false,
        },
      },
    ]);
  });

  test("refuses an unknown skill with the ones that exist, and a missing argument by name", async () => {
    write("skills/a", "description: d");
    expect(await call(open(), { skill: "nope" })).toMatchObject({
      resultType: "failure",
      error: "Skill not found: nope",
      text: "Skill not found: nope. Skills that can be loaded: a.",
    });
    expect(await call(open(), {})).toMatchObject({ resultType: "failure", text: '"skill": Required' });
  });

  test("lists what the model may load and keeps the rest from it", async () => {
    write("skills/a", `description: ${"long ".repeat(200)}`);
    write("skills/b", "description: d\ndisable-model-invocation: true");
    write("skills/c", "description: d");
    const skills = open({ disabledSkills: ["c"] });
    const { description } = skillTool(skills);
    expect(description.match(/^- \w+:/gm)).toEqual(["- a:"]);
    expect(description.length).toBeLessThan(1200);
    expect(await call(skills, { skill: "b" })).toMatchObject({ resultType: "failure", error: "Skill not found: b" });
    expect(skills.load("b").name).toBe("b");
  });

  test("says so when the file went away", async () => {
    const file = write("skills/a", "description: d");
    const skills = open();
    rmSync(file);
    expect(await call(skills, { skill: "a" })).toMatchObject({
      resultType: "failure",
      text: expect.stringContaining("cannot be read"),
    });
  });
});
