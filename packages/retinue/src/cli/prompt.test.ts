import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { cliWorld, modelWorld } from "./test-world.ts";

const bash = (command: string) => call("bash", { command, description: "try it" });

test("a server in the background does not hold the answer, and what is stopped at the end is named", async () => {
  const serve = call("bash", { command: "exec sleep 300", description: "serve", mode: "async", shellId: "dev" });
  await using world = await modelWorld([serve, say("It runs.")]);
  const { code, stdout, stderr } = await world.run(["-p", "start the server", "--allow-all-tools"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "It runs.\n" });
  expect(stderr).toContain('Stopped what still ran in the background: dev ("exec sleep 300").');
});

describe("an answer", () => {
  test("goes to standard output, and progress to standard error", async () => {
    await using world = await modelWorld([
      { text: "I look first.", ...call("view", { path: "a.txt" }) },
      say("It says hello."),
    ]);
    world.put("a.txt", "hello");
    const { code, stdout, stderr } = await world.run(["-p", "what does a.txt say?"]);
    expect(stdout).toBe("I look first.\n\nIt says hello.\n");
    expect(stderr).toContain("view a.txt");
    expect(stderr).toMatch(/2 turns · 1 call .*session [0-9a-f]{8}/);
    expect(code).toBe(0);
    expect(world.leftovers()).toEqual([]);
  });

  test.each([
    ["-p -", ["-p", "-", "--quiet"]],
    ["a pipe", ["--quiet"]],
  ])("is given to a prompt that comes by %s", async (_, args) => {
    await using world = await modelWorld([say("ok")]);
    const { code, stdout, stderr } = await world.run(args, { input: "the question\n" });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "ok\n", stderr: "" });
    expect(world.model.requests[0]?.prompt).toContain("the question");
  });

  test("is only the last message with --no-stream", async () => {
    await using world = await modelWorld([
      { text: "First I look.", ...call("glob", { pattern: "*" }) },
      say("Nothing here."),
    ]);
    expect((await world.run(["-p", "look", "--no-stream"])).stdout).toBe("Nothing here.\n");
  });

  test("comes as one event per line with --output-format json, and a result at the end", async () => {
    await using world = await modelWorld([call("glob", { pattern: "*" }), say("Nothing here.")]);
    const { code, stdout, stderr } = await world.run(["-p", "look", "--output-format", "json"]);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events[0].type).toBe("session.start");
    expect(events.map(({ type }) => type)).toContain("session.idle");
    expect(events.at(-2).type).toBe("session.shutdown");
    expect(events.at(-1).type).toBe("result");
    expect(events.filter(({ type }) => type === "assistant.message").at(-1).data.content).toBe("Nothing here.");
    expect(stderr).toBe("");
    expect(code).toBe(0);
  });

  test("that fails ends with code 1 and says why", async () => {
    await using world = await modelWorld([]);
    const { code, stdout, stderr } = await world.run(["-p", "hello", "--quiet"]);
    expect(stdout).toBe("");
    expect(stderr).toContain("unexpected call");
    expect(code).toBe(1);
  });

  test("of nothing is a failure", async () => {
    await using world = await modelWorld([say("")]);
    expect((await world.run(["-p", "hello", "--quiet"])).code).toBe(1);
  });

  test("that nobody reads any more stops the run", async () => {
    let isGone = () => {};
    const gone = new Promise<void>((resolve) => {
      isGone = resolve;
    });
    await using world = await modelWorld(async ({ results }) => {
      if (results.length === 0) return { text: "Here.", ...call("glob", { pattern: "*" }) };
      await gone;
      return { text: "More, and yet more.", ...bash("sleep 600") };
    });
    const running = world.start(["-p", "go", "--allow-tool", "shell"]);
    running.process.stdout?.once("data", () => running.process.stdout?.destroy()).once("close", isGone);
    const { code } = await running.ended;
    expect(code).not.toBe(0);
    expect(processesIn(world.root)).toEqual([]);
  });
});

test("what became of each call is a line on standard error, with the end of a failed one and the change of a file", async () => {
  await using world = await modelWorld([
    bash("printf 'a\\nb\\033[2J\\n'; exit 3"),
    call("create", { path: "new.txt", file_text: "made\n" }),
    call("edit", { path: "new.txt", old_str: "lost", new_str: "found" }),
    bash("true"),
    bash("seq 100000; echo the end; exit 4"),
    say("done"),
  ]);
  const { code, stdout, stderr } = await world.run(["-p", "go", "--allow-tool", "shell", "--allow-tool", "write"]);
  const lines = stderr.replaceAll(/\d+\.\ds/g, "0s").split("\n");
  expect(
    lines.slice(
      lines.findIndex((line) => line.startsWith("✗")),
      -2,
    ),
  ).toEqual([
    expect.stringMatching(/^✗ bash printf .* · exit code 3 · 0s$/),
    "    a",
    "    b‹U+001B›[2J",
    "✓ create new.txt · 0s",
    "    @@ -0,0 +1,1 @@",
    "    +made",
    "✗ edit new.txt · 0s · No match found",
    "✓ bash true · 0s",
    "✗ bash seq 100000; echo the end; exit 4 · exit code 4 · 0s",
    ...[99997, 99998, 99999, 100000, "the end"].map((line) => `    ${line}`),
  ]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "done\n" });
});

describe("permissions", () => {
  test("files of the working folder are read without a question, others are refused with the flag that would help", async () => {
    await using world = await modelWorld([
      call("view", { path: "in.txt" }),
      call("view", { path: "../out/out.txt" }),
      say("done"),
    ]);
    world.put("in.txt", "inside");
    const outside = world.put("../out/out.txt", "outside");
    const { code, stderr } = await world.run(["-p", "read both"]);
    expect(world.model.requests[1]?.results.at(-1)).toContain("inside");
    expect(world.model.requests[2]?.results.at(-1)).toContain("Nobody could allow this call");
    expect(stderr).toContain(`refused: The agent wanted to read ${outside}`);
    expect(stderr).toContain(`--add-dir ${join(world.root, "out")}`);
    expect(code).toBe(0);
  });

  test("--add-dir opens another folder", async () => {
    await using world = await modelWorld([call("view", { path: "../out/out.txt" }), say("done")]);
    world.put("../out/out.txt", "outside");
    await world.run(["-p", "read it", "--add-dir", "../out"]);
    expect(world.model.requests[1]?.results[0]).toContain("outside");
  });

  test("a command is refused unless a rule allows it", async () => {
    await using world = await modelWorld([
      bash("ls"),
      bash("printf one"),
      say("refused"),
      bash("printf one"),
      say("allowed"),
    ]);
    world.put("note.txt", "x");
    const { stderr } = await world.run(["-p", "run it"]);
    expect(stderr).toContain("--allow-tool 'shell(printf)'");
    expect(world.model.requests[1]?.results[0]).toContain("note.txt"); // It only reads.
    await world.run(["-p", "run it", "--allow-tool", "shell(printf)"]);
    expect(world.model.requests[4]?.results[0]).toContain("one");
  });

  test("--deny-tool wins over --allow-all-tools", async () => {
    await using world = await modelWorld([bash("touch made"), bash("echo fine"), say("done")]);
    await world.run(["-p", "run both", "--allow-all-tools", "--deny-tool", "shell(touch)"]);
    expect(world.model.requests[1]?.results[0]).toContain("denied by the deny rule shell(touch)");
    expect(world.model.requests[2]?.results[1]).toContain("fine");
  });

  test("--allow-tool write lets files be written", async () => {
    await using world = await modelWorld([call("create", { path: "new.txt", file_text: "made\n" }), say("done")]);
    expect((await world.run(["-p", "make it", "--allow-tool", "write"])).code).toBe(0);
    expect(readFileSync(join(world.folder, "new.txt"), "utf8")).toBe("made\n");
  });

  test("a refusal names the sub-agent that asked", async () => {
    await using world = await modelWorld(({ prompt, results }) => {
      if (prompt.includes("CHILD")) return results.length === 0 ? bash("touch x") : say("could not");
      if (results.length > 0) return say("done");
      return call("task", { name: "helper", agent_type: "general-purpose", description: "helps", prompt: "CHILD" });
    });
    const { code, stdout, stderr } = await world.run(["-p", "delegate"]);
    expect(stderr).toContain("▸ helper (general-purpose) starts");
    expect(stderr).toContain("refused: The sub-agent helper wanted to run touch x");
    expect(stderr).toContain("✓ helper is done");
    expect(stdout).toBe("done\n");
    expect(code).toBe(0);
  });
});

describe("sessions", () => {
  test("--continue goes on with the last one of this folder, --resume with any by the beginning of its id", async () => {
    await using world = await modelWorld([say("first"), say("second"), say("third")]);
    const missing = await world.run(["-p", "go on", "--continue"]);
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toContain("no session of this folder");
    const { stderr } = await world.run(["-p", "my name is Ada"]);
    const [, id = ""] = /session ([0-9a-f]{8})/.exec(stderr) ?? [];
    expect((await world.run(["-p", "go on", "--continue"])).stdout).toBe("second\n");
    expect((await world.run(["-p", "and on", "--resume", id])).stdout).toBe("third\n");
    expect(JSON.stringify(world.model.requests[2]?.body)).toContain("my name is Ada");
  });

  test("--resume of what is not there fails in one line", async () => {
    await using world = await modelWorld([]);
    const { code, stderr } = await world.run(["-p", "x", "--resume", "nope"]);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stderr).toContain("There is no session nope");
    expect(code).toBe(1);
  });

  test("--agent lets an agent of the project answer, once the folder is trusted", async () => {
    await using world = await modelWorld([say("aye")]);
    world.put(
      ".retinue/agents/pirate.agent.md",
      "---\nname: pirate\ndescription: talks like one\ntools: [view]\n---\nYou are a pirate.\n",
    );
    const refused = await world.run(["-p", "hello", "--agent", "pirate"]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Custom agent 'pirate' not found") });
    expect(refused.stderr).toContain("is not trusted, so this was left out of it: 1 agent (pirate)");
    await world.run(["trust", "add"]);
    expect((await world.run(["-p", "hello", "--agent", "pirate"])).stdout).toBe("aye\n");
    expect(world.model.requests[0]?.system).toContain("You are a pirate.");
    expect(world.model.requests[0]?.tools).not.toContain("bash");
  });

  test("--mode plan lets no file be written", async () => {
    await using world = await modelWorld([call("create", { path: "x.txt", file_text: "x" }), say("planned")]);
    const { code } = await world.run(["-p", "plan it", "--mode", "plan", "--allow-all-tools"]);
    expect(world.model.requests[1]?.results[0]).toContain("Plan mode");
    expect(code).toBe(0);
  });

  test("--model and --reasoning-effort reach the model", async () => {
    await using world = await modelWorld([say("ok")]);
    await world.run(["-p", "hello", "--model", "other", "--reasoning-effort", "high"]);
    expect(world.model.requests[0]?.body.model).toBe("other");
  });
});

describe("being stopped", () => {
  test("Ctrl-C during a running shell leaves no process, and the session can be continued", async () => {
    await using world = await modelWorld([bash("touch started; sleep 600"), say("again")]);
    const running = world.start(["-p", "wait", "--allow-tool", "shell"]);
    await expect.poll(() => processesIn(world.root).some((line) => line.includes("sleep"))).toBe(true);
    running.process.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/⊘ bash touch started; sleep 600 · stopped · \d+\.\ds\n/);
    expect(stderr).toContain("Stopped.");
    expect(processesIn(world.root)).toEqual([]);
    expect((await world.run(["-p", "go on", "--continue"])).stdout).toBe("again\n");
  });

  test("Ctrl-C ends sub-agents and their shells too", async () => {
    await using world = await modelWorld(({ prompt }) =>
      prompt.includes("CHILD")
        ? bash("sleep 600")
        : call("task", { name: "c", agent_type: "task", description: "c", prompt: "CHILD" }),
    );
    const running = world.start(["-p", "delegate", "--allow-all-tools"]);
    await expect.poll(() => processesIn(world.root).some((line) => line.includes("sleep"))).toBe(true);
    running.process.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    expect(processesIn(world.root)).toEqual([]);
  });

  test("a second Ctrl-C does not wait for a shell that will not end", async () => {
    await using world = await modelWorld([bash("trap '' TERM INT; sleep 600; sleep 601")]);
    const running = world.start(["-p", "wait", "--allow-tool", "shell"]);
    await expect.poll(() => processesIn(world.root).some((line) => line.includes("sleep"))).toBe(true);
    running.process.kill("SIGINT");
    await running.says("Stopping.");
    running.process.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    await expect.poll(() => processesIn(world.root).length === 0).toBe(true);
  });

  test("a model that does not answer can be stopped", async () => {
    await using world = await modelWorld(() => new Promise(() => undefined));
    const running = world.start(["-p", "hello"]);
    await expect.poll(() => world.model.requests.length > 0).toBe(true);
    running.process.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
  });
});

describe("wrong usage ends with code 2 and one line", () => {
  test.each([
    [["--modle", "x"], "--model"],
    [["sesions"], 'Did you mean "retinue sessions"?'],
    [["frobnicate"], "There are: init, models"],
    [["-p"], "argument missing"],
    [["-p", " "], "the prompt is empty"],
    [["-p", "x", "--mode", "wild"], "plan, autopilot"],
    [["-p", "x", "--output-format", "xml"], "text, json"],
    [["-p", "x", "--add-dir", "nowhere"], "there is no folder"],
    [["-p", "x", "--deny-tool", "read(*.env)"], "the rule read(*.env) cannot be used"],
    [["-p", "x", "--deny-tool", "shel(rm)"], "the rule shel(rm) cannot be used: there is no kind"],
    [["why", "x", "main", "bash", "--deny-tool", "shel(rm)"], "Did you mean shell(rm)?"],
    [["-p", "x", "--resume", "a", "--continue"], "cannot be used with"],
    [["sessions", "lst"], "list"],
    [["-p", "x", "--autopilot", "--max-autopilot-continues", "-1"], 'a whole number from 0 to 1000, not "-1"'],
    [["-p", "x", "--autopilot", "--max-autopilot-continues", "1e9"], 'a whole number from 0 to 1000, not "1e9"'],
    [["-p", "x", "--autopilot", "--max-autopilot-continues", "NaN"], 'a whole number from 0 to 1000, not "NaN"'],
    [["-p", "x", "--max-gate-failures", "1"], "--max-gate-failures has no effect without --gate"],
    [["-p", "x", "--agent", " "], "--agent: name an agent"],
  ])("%j", async (args, words) => {
    await using world = cliWorld();
    const { code, stdout, stderr } = await world.run(args);
    expect(stderr).toContain(words);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(stdout).toBe("");
    expect(code).toBe(2);
  });
});

describe("the rest", () => {
  test("a home that is a file is told in one line", async () => {
    await using world = cliWorld();
    const home = join(world.root, "file");
    writeFileSync(home, "");
    const { code, stderr } = await world.run(["-p", "hello"], { env: { RETINUE_HOME: home } });
    expect(stderr).toContain("Set RETINUE_HOME to a folder that can be written");
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(code).toBe(1);
  });

  test("a provider that does not exist is told with those that do", async () => {
    await using world = cliWorld();
    const { code, stderr } = await world.run(["-p", "hello", "--provider", "nobody"]);
    expect(stderr).toContain("There is no provider nobody. Known are: offline.");
    expect(code).toBe(1);
  });

  test("without a model the offline one answers", async () => {
    await using world = cliWorld();
    world.put("note.md", "# A note\n");
    const { code, stdout } = await world.run(["-p", "what is here?"]);
    expect(stdout).toContain("note.md");
    expect(stdout).toContain("No language model is configured");
    expect(code).toBe(0);
  });

  test("--version and --help print to standard output", async () => {
    await using world = cliWorld();
    expect(await world.run(["--version"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    const { code, stdout } = await world.run(["--help"]);
    for (const words of ["--allow-tool <rule>", "Examples:", "RETINUE_HOME", "Exit codes:", "sessions", "doctor"])
      expect(stdout).toContain(words);
    expect(code).toBe(0);
  });
});

/** Processes that work in a folder or below it. */
function processesIn(root: string): string[] {
  return execFileSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => {
      const [pid = "", state = ""] = line.trim().split(/\s+/);
      return !state.startsWith("Z") && workingFolder(pid)?.startsWith(root);
    })
    .filter((line) => !line.includes("retinue.js"));
}

function workingFolder(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined; // It ended while we were looking, or belongs to somebody else.
  }
}
