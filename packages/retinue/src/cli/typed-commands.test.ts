/** Slash commands after -p. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { type CliWorld, modelWorld } from "./test-world.ts";

function repository({ folder }: CliWorld): (...args: string[]) => void {
  const git = (...args: string[]) =>
    void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: folder });
  git("init", "--quiet", "--initial-branch=main");
  return git;
}

describe("a line that begins with a slash", () => {
  test.each([
    ["/help", "/review [a range such as main..HEAD, what to look at]: Review the changes"],
    ["/HELP", "/help: List the commands"],
    ["/context", "[#"],
    ["/usage", "Session usage"],
    ["/sessions", "Sessions of "],
    ["/tasks", "Tasks\n\nNone."],
    ["/agent", "explore: "],
    ["/model", "The model is scripted"],
    ["/autopilot", "The mode is autopilot"],
    ["/plan", "The mode is plan"],
  ])("is a command: %s prints its text and asks no model", async (line, text) => {
    await using world = await modelWorld([]);
    const { code, stdout, stderr } = await world.run(["-p", line, "--quiet"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(text);
    expect(world.model.requests).toHaveLength(0);
  });

  test.each([
    ["/revew", "Unknown slash command: /revew. Did you mean /review?"],
    ["/研究 something", "Unknown slash command: /研究. Try /help."],
    ["/", "A slash alone is no command. Try /help."],
    ["/research", "/research needs a question"],
    ["/fleet", "/fleet needs the work: nothing was said or planned in this session yet"],
    ["/allow-all no", '/allow-all takes on, off or show, not "no"'],
    ["/usage of yesterday", '/usage takes no words, not "of yesterday"'],
    ["/subconscious now", '/subconscious takes run, not "now"'],
  ])("%j is wrong usage that says what to do", async (line, text) => {
    await using world = await modelWorld([]);
    const { code, stdout, stderr } = await world.run(["-p", line, "--quiet"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(text);
  });

  test.each([
    ["/etc/hosts is wrong", "/etc/hosts is wrong"],
    ["/tmp is full", "/tmp is full"],
    ["//help is a word", "/help is a word"],
    [" /help me", " /help me"],
  ])("%j is a prompt", async (line, prompt) => {
    await using world = await modelWorld([say("I see.")]);
    expect(await world.run(["-p", line, "--quiet"])).toMatchObject({ code: 0, stdout: "I see.\n" });
    expect(world.model.requests[0]?.prompt.endsWith(prompt)).toBe(true);
  });

  test("/autopilot with anything but on and off is a task for autopilot, with its limit", async () => {
    await using world = await modelWorld([say("One step."), say("Another.")]);
    const run = await world.run(["-p", "/autopilot maybe", "--quiet", "--max-autopilot-continues", "1"]);
    expect(run).toMatchObject({ code: 3, stderr: expect.stringContaining("after 1 of 1 reminders") });
    expect(world.model.requests[0]?.prompt).toContain("maybe");
  });

  test("twice switches autopilot on and off again, in the same session", async () => {
    await using world = await modelWorld([]);
    expect((await world.run(["-p", "/autopilot", "--quiet"])).stdout).toBe("The mode is autopilot\n");
    expect((await world.run(["--continue", "-p", "/autopilot", "--quiet"])).stdout).toBe("The mode is interactive\n");
  });
});

describe("/review", () => {
  test("says when there is nothing to review", async () => {
    await using world = await modelWorld([]);
    const review = async (line: string) => (await world.run(["-p", line, "--quiet"])).stdout;
    expect(await review("/review")).toContain("is in no git repository");
    const git = repository(world);
    world.put("a.txt", "one\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "first");
    expect(await review("/review")).toContain("nothing has changed since the last commit");
    expect(await review("/review main..HEAD")).toContain("main..HEAD changes no file");
    expect(await review("/review nowhere..HEAD")).toContain("git does not know the range nowhere..HEAD");
    git("branch", "fix#12-für");
    expect(await review("/review fix#12-für..HEAD")).toContain("fix#12-für..HEAD changes no file");
    world.put("a.txt", "two\n");
    expect(await world.run(["-p", "/review --output=b.txt"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("/review has no options, so --output=b.txt means nothing"),
    });
    world.put(".git/HEAD", "nonsense");
    for (const line of ["/review", "/review main..HEAD"])
      expect((await world.run(["-p", line])).stderr).toContain("and git says: fatal: not a git repository");
    expect(world.model.requests).toHaveLength(0);
  });

  test.each([
    ["/review", "the changes that are not committed yet"],
    ["/review HEAD~1..HEAD the locks", "`git diff HEAD~1..HEAD`. Look especially at: the locks"],
  ])("%s lets the code-review agent look at what changed", async (line, what) => {
    await using world = await modelWorld(({ prompt, results }) => {
      if (prompt.includes("LOOK")) return say("No problems found.");
      return results.length === 0
        ? call("task", { name: "r", agent_type: "code-review", description: "Review", prompt: "LOOK", mode: "sync" })
        : say(`It says: ${results.at(-1)}`);
    });
    const git = repository(world);
    for (const text of ["one\n", "two\n"]) {
      world.put("a.txt", text);
      git("add", ".");
      git("commit", "--quiet", "-m", "change");
    }
    world.put("b.txt", "new\n");
    const { code, stdout } = await world.run(["-p", line, "--quiet"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "It says: No problems found.\n" });
    expect(world.model.requests[0]?.prompt).toContain(what);
  });
});

describe("/research", () => {
  const task = (prompt: string, more: object = {}) => ({
    name: "task",
    arguments: { name: "r", agent_type: "research", description: "Find out", prompt, mode: "sync", ...more },
  });

  test("leads researchers, keeps to its tools, and tells where the report is", async () => {
    let report = "";
    const answers: string[] = [];
    let turn = 0;
    await using world = await modelWorld(({ prompt, results, tools }) => {
      if (prompt.includes("THREAD")) {
        expect(tools).toContain("grep"); // A researcher has its own tools.
        return say("found in a.txt:1");
      }
      report = /`([^`]+\.md)`/.exec(prompt)?.[1] ?? "";
      expect([...tools].sort()).toEqual(["create", "report_intent", "task", "view"]);
      answers.splice(0, answers.length, ...results);
      turn++;
      if (turn === 1)
        return { calls: [task("THREAD one"), task("THREAD two", { mode: undefined }), task("THREAD three")] };
      if (turn === 2)
        return { calls: [task("THREAD four", { mode: "background" }), task("THREAD five", { agent_type: "explore" })] };
      if (turn === 3) return call("grep", { pattern: "x" });
      if (turn === 4) return call("create", { path: join(dirname(report), "../../elsewhere.md"), file_text: "# R" });
      if (turn === 5) return call("create", { path: report, file_text: "# Report\n\nIt is so [1]." });
      return say("It is so.");
    });
    const { code, stdout, stderr } = await world.run(["-p", "/research Wer schließt die Datei?", "--quiet"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "It is so.\n" });
    expect(stderr).toBe(`The report of /research is in ${report}\n`);
    expect(report).toMatch(/\/research\/wer-schließt-die-datei\.md$/);
    expect(readFileSync(report, "utf8")).toContain("It is so [1].");
    expect(answers.slice(0, 3)).toEqual(["found in a.txt:1", "found in a.txt:1", "found in a.txt:1"]);
    expect(answers[3]).toContain('mode of task is "sync"');
    expect(answers[4]).toContain('agent_type of task is "research"');
    expect(answers[5]).toContain("Tool 'grep' does not exist. Available tools: ");
    expect(answers[6]).toContain("create is only for files in");
  });

  test("without a tool for the network says so to the user and to the model, and works with what is there", async () => {
    await using world = await modelWorld([say("Only what is here.")]);
    const { code, stderr } = await world.run(["-p", "/research the thing", "--quiet", "--deny-tool", "web_fetch"]);
    expect(code).toBe(0);
    expect(stderr).toContain("There is no tool for the network here");
    expect(stderr).toContain("/research has ended without its report");
    expect(world.model.requests[0]?.prompt).toContain("only the network could have settled");
  });

  test("has at most ten researchers, five at once", async () => {
    const said: string[] = [];
    let turn = 0;
    await using world = await modelWorld(({ prompt, results }) => {
      if (prompt.includes("THREAD")) return say("found");
      said.splice(0, said.length, ...results);
      turn++;
      if (turn <= 3) return { calls: Array.from({ length: 6 }, (_, at) => task(`THREAD ${turn}.${at}`)) };
      return say("enough");
    });
    await world.run(["-p", "/research much", "--quiet"]);
    expect(said.filter((text) => text === "found")).toHaveLength(10);
    expect(said.filter((text) => text.includes("5 calls of task at the same time"))).toHaveLength(1);
    expect(said.filter((text) => text.includes("10 calls of task in all"))).toHaveLength(7);
  });
});

describe("a command in a file", () => {
  test("of a trusted project, of the user or in a folder becomes the prompt, with what was typed", async () => {
    await using world = await modelWorld(() => say("ok"));
    world.put(
      ".claude/commands/greet.md",
      "---\ndescription: Greets\nargument-hint: who\nallowed-tools: Bash\n---\nGreet $1 of $ARGUMENTS!",
    );
    world.put(".retinue/commands/git/tidy.md", "Tidy the branches. !`touch pwned`");
    world.put(".github/prompts/plan-it.prompt.md", "Plan it.");
    world.put(".claude/commands/hint.md", "---\ndescription: Hints\nargument-hint: [who] [when]\n---\nHint.");
    world.put(".retinue/commands/review.md", "My own review.");
    world.put(".retinue/commands/Help.md", "Not the help.");
    world.put("../home/commands/mine.md", "Mine.");
    const run = (line: string) => world.run(["-p", line, "--quiet"]);
    expect(await run("/greet Ada")).toMatchObject({ code: 2 });
    await world.run(["trust", "add"]);
    expect(await run("/greet Ada Lovelace")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("allowed-tools"),
    });
    for (const line of ["/help", "/Help"])
      expect(await run(line)).toMatchObject({ stdout: expect.stringContaining("/hint [who] [when]: Hints\n") });
    for (const line of ["/git:tidy", "/plan-it", "/project:review", "/mine and yours"])
      expect(await run(line)).toMatchObject({ code: 0, stdout: "ok\n" });
    const prompts = world.model.requests.map(({ prompt }) => prompt.split("\n\n").slice(1).join("\n\n"));
    expect(prompts).toEqual([
      "Greet Ada of Ada Lovelace!",
      "Tidy the branches. !`touch pwned`",
      "Plan it.",
      "My own review.",
      "Mine.\n\nand yours",
    ]);
    expect(existsSync(join(world.folder, "pwned"))).toBe(false);
    expect((await run("/help")).stdout).toContain("/greet [who]: Greets");
  });

  test("that leads out of the project, is too large, empty or has no name is left out with a warning", async () => {
    await using world = await modelWorld([say("ok")]);
    world.put(".retinue/commands/fine.md", "Fine.");
    world.put(".retinue/commands/large.md", "x".repeat(5_000_000));
    world.put(".retinue/commands/...md", "dots");
    world.put(".retinue/commands/empty.md", "---\ndescription: Nothing\n---\n");
    world.put("../secret.md", "secret");
    symlinkSync(join(world.root, "secret.md"), join(world.folder, ".retinue/commands/link.md"));
    mkdirSync(join(world.folder, ".claude"));
    symlinkSync(world.root, join(world.folder, ".claude/commands"));
    await world.run(["trust", "add"]);
    expect(readdirSync(join(world.folder, ".retinue/commands"))).toHaveLength(5);
    const { code, stderr } = await world.run(["-p", "/fine"]);
    expect(code).toBe(0);
    for (const words of ["large.md", "link.md", "empty.md", "its name is none that could be typed", ".claude/commands"])
      expect(stderr).toContain(words);
    expect((await world.run(["-p", "/link", "--quiet"])).code).toBe(2);
  });
});

describe("/fleet", () => {
  test("plans, lets agents work the plan off, and prints the main agent's last word", async () => {
    const query =
      "INSERT INTO todos (id, title) VALUES ('walls', 'Walls'), ('roof', 'Roof'); INSERT INTO todo_deps VALUES ('roof', 'walls')";
    const lead = [call("sql", { query }), say("Planned."), say("The house is finished.")];
    await using world = await modelWorld(({ prompt }) => {
      const todo = /Yours is the todo `(\w+)`/.exec(prompt)?.[1];
      return todo === undefined ? (lead.shift() ?? say("?")) : say(`The ${todo} stand.`);
    });
    const { code, stdout } = await world.run(["-p", "/fleet build a house", "--allow-all-tools", "--quiet"]);
    expect(code).toBe(0);
    expect(stdout).toContain("The house is finished.");
    expect(lead).toEqual([]);
  });

  test("with --worktree the agents write apart from each other, and what they wrote is in the working tree afterwards", async () => {
    const query = "INSERT INTO todos (id, title) VALUES ('walls', 'Walls'), ('roof', 'Roof')";
    const lead = [call("sql", { query }), say("Planned."), say("Merged.")];
    const asked = new Map<string, number>();
    const folders = new Set<string>();
    await using world = await modelWorld(({ prompt, system }) => {
      const todo = /Yours is the todo `(\w+)`/.exec(prompt)?.[1];
      if (todo === undefined) return lead.shift() ?? say("?");
      folders.add(/[^\s"'`<>]*\/worktrees\/[\w-]+/.exec(system)?.[0] ?? "");
      asked.set(todo, (asked.get(todo) ?? 0) + 1);
      if (asked.get(todo) === 1) return call("create", { path: `${todo}.txt`, file_text: `the ${todo}` });
      return say(existsSync(join(world.folder, `${todo}.txt`)) ? "too early" : "apart");
    });
    repository(world);
    const { code, stdout } = await world.run(["-p", "/fleet --worktree build a house", "--allow-all-tools", "--quiet"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Merged.") });
    for (const part of ["walls", "roof"])
      expect(readFileSync(join(world.folder, `${part}.txt`), "utf8")).toBe(`the ${part}`);
    expect([...folders].filter(Boolean)).toHaveLength(2);
    expect([...folders].filter((each) => existsSync(each))).toEqual([]);
  });

  test.each([
    ["/fleet --worktree build", 1, "is not in a git repository"],
    ["/fleet --woktree build", 2, "/fleet knows the option --worktree, not --woktree"],
  ])("%j is refused in words outside a repository", async (line, exit, text) => {
    await using world = await modelWorld([]);
    const { code, stdout, stderr } = await world.run(["-p", line, "--quiet"]);
    expect({ code, stdout }).toEqual({ code: exit, stdout: "" });
    expect(stderr).toContain(text);
  });
});
