import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Message, ModelRequest, ToolSpec } from "../provider.ts";
import { collect } from "../wire/loopback.ts";
import notice from "./notice.md";
import { offline } from "./offline.ts";

type Run = (args: Record<string, string>) => string;
type Toolbox = Record<string, Run>;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "offline-"));
  put("README.md", "# Lantern\n\nA lamp that answers.\n");
  put(
    "package.json",
    JSON.stringify(
      { name: "lantern", description: "Answers in light.", scripts: { build: "tsc", test: "vitest" } },
      null,
      2,
    ),
  );
  put("src/lamp.ts", "export function light() {\n  return 1; // TODO dim\n}\n");
  put("src/switch.ts", "export class Switch {}\nexport function flip() {}\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

function put(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

function filesIn(place = "."): string[] {
  return readdirSync(join(folder, place)).flatMap((name) => {
    const path = place === "." ? name : `${place}/${name}`;
    return statSync(join(folder, path)).isDirectory() ? filesIn(path) : [path];
  });
}

/** The three tools that look at files, over a real folder, with the result forms that the runtime's tools have. */
const FILE_TOOLS: Toolbox = {
  view: ({ path = "" }) => {
    const at = join(folder, path);
    return statSync(at).isDirectory() ? readdirSync(at).join("\n") : readFileSync(at, "utf8");
  },
  glob: ({ pattern = "" }) => {
    const shape = new RegExp(`${pattern.replace("**/", "").replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
    return (
      filesIn()
        .filter((name) => shape.test(name))
        .join("\n") || "No file matches the pattern."
    );
  },
  grep: ({ pattern = "", output_mode: mode }) => {
    const shape = new RegExp(pattern, "i");
    const lines = filesIn().map((name) => ({
      name,
      found: readFileSync(join(folder, name), "utf8")
        .split("\n")
        .flatMap((line, at) => (shape.test(line) ? [`${at + 1}:${line}`] : [])),
    }));
    const matching = lines.filter(({ found }) => found.length > 0);
    if (mode === "count") return matching.map(({ name, found }) => `${name}:${found.length}`).join("\n");
    return (
      matching.flatMap(({ name, found }) => found.map((line) => `${name}:${line}`)).join("\n") || "No matches found."
    );
  },
};

interface Played {
  answer: string;
  calls: { name: string; args: Record<string, unknown> }[];
  rounds: number;
}

async function play(prompt: string, tools: Toolbox = FILE_TOOLS, more: Partial<ModelRequest> = {}): Promise<Played> {
  const messages: Message[] = [
    ...(more.messages ?? []),
    { role: "user", content: `<current_datetime>now</current_datetime>\n\n${prompt}` },
  ];
  const specs = Object.keys(tools).map(
    (name): ToolSpec => ({ name, description: "", parameters: PARAMETERS[name] ?? {} }),
  );
  const played: Played = { answer: "", calls: [], rounds: 0 };
  for (let round = 0; round < 12; round++) {
    const request = { model: "offline", system: "", tools: specs, stream: true, ...more, messages };
    const parts = await collect(offline().stream(request, { signal: new AbortController().signal }));
    const text = parts.map((part) => (part.type === "text" ? part.delta : "")).join("");
    const calls = parts.filter((part) => part.type === "call");
    played.rounds++;
    messages.push({ role: "assistant", text, calls });
    if (calls.length === 0) return { ...played, answer: text };
    for (const call of calls) {
      const args = JSON.parse(call.arguments);
      played.calls.push({ name: call.name, args });
      messages.push({ role: "tool", callId: call.id, ...outcome(tools[call.name], args) });
    }
    if (calls.some((call) => call.name === "task_complete")) return { ...played, answer: text };
  }
  throw new Error("the offline model did not come to an end");
}

const PARAMETERS: Record<string, Record<string, unknown>> = {
  task: {
    type: "object",
    properties: { name: { type: "string" }, agent_type: { type: "string", enum: ["task", "explore"] } },
  },
};

function outcome(run: Run | undefined, args: Record<string, string>): { text: string; failed?: boolean } {
  if (!run) throw new Error("a tool was called that is not offered");
  try {
    return { text: run(args) };
  } catch (error) {
    return { text: String(error), failed: true };
  }
}

describe("the offline model", () => {
  test.each([
    ["What is here?", "holds 3 entries", "README.md"],
    ["list the files in src", "the folder `src` holds 2 entries", "lamp.ts"],
    ['Where is "flip" used?', '"flip" is in 1 line of 1 file', "src/switch.ts:2:export function flip() {}"],
    ["find the Switch class", '"Switch" is in 1 line', "export class Switch"],
    ["find lamp", "Files whose name holds it", "src/lamp.ts"],
    ["explore the codebase", "The working folder has 3 entries", "A lamp that answers."],
    ["search for nothingatall", "I found no match", "nothingatall"],
    ["show package.json", "`package.json` has", '"name": "lantern"'],
    ["please explain src/lamp.ts", "`src/lamp.ts` has", "export function light()"],
    ["read lamp.ts", "`src/lamp.ts` has", "TODO dim"],
    ["open missing.txt", "I could not read `missing.txt`", "ENOENT"],
    ["How many *.ts files are there?", "2 files matched `**/*.ts`", "src/lamp.ts"],
    ['count "TODO"', '"TODO" is in 1 line of 1 file', "src/lamp.ts:1"],
  ])("answers %j from real results", async (prompt, first, second) => {
    const { answer } = await play(prompt);
    expect(answer.toLowerCase()).toContain(first.toLowerCase());
    expect(answer).toContain(second);
  });

  test("explores a project: lists it, reads what describes it, looks for code, and quotes what it found", async () => {
    const { answer, calls } = await play("Summarise this project for me.");
    expect(calls.map(({ name, args }) => `${name} ${args.path ?? ""}`.trim())).toEqual([
      "view .",
      "view README.md",
      "view package.json",
      "view src",
      "grep",
    ]);
    expect(answer).toContain("A lamp that answers.");
    expect(answer).toContain('`lantern` ("Answers in light."), with the scripts build, test');
    expect(answer).toContain("`src/switch.ts` (2)");
  });

  test.each(["hello", "write me a poem", "show package.json", "explore"])(
    "says in its answer to %j that it is no language model",
    async (prompt) => {
      const { answer } = await play(prompt);
      expect(answer.endsWith(notice.trim())).toBe(true);
      expect(answer).toContain("No language model is configured");
    },
  );

  test("does the same for the same messages", async () => {
    expect(await play("explore this project")).toEqual(await play("explore this project"));
  });

  test("streams its answer in small pieces and ends once", async () => {
    const request = {
      model: "",
      system: "",
      messages: [{ role: "user", content: "hi" }],
      tools: [],
      stream: true,
    } as const;
    const parts = await collect(offline().stream(request, { signal: new AbortController().signal }));
    expect(parts.filter((part) => part.type === "text").length).toBeGreaterThan(5);
    expect(parts.filter((part) => part.type === "end")).toEqual([parts.at(-1)]);
  });

  test("runs a command only when asked to, and only when a shell is offered", async () => {
    const bash = { ...FILE_TOOLS, bash: ({ command }: Record<string, string>) => `ran ${command}` };
    expect((await play("run `npm test`", bash)).calls).toMatchObject([{ name: "bash", args: { command: "npm test" } }]);
    for (const words of ["run the command: npm test", "Execute the shell command npm test."]) {
      expect((await play(words, bash)).calls).toMatchObject([{ name: "bash", args: { command: "npm test" } }]);
    }
    expect((await play("run `npm test`")).answer).toContain("No shell is offered");
    for (const prompt of ["explore this project", "find npm", "what is here"]) {
      expect((await play(prompt, bash)).calls.map((call) => call.name)).not.toContain("bash");
    }
  });

  test("uses only what is offered", async () => {
    const { view } = FILE_TOOLS;
    if (!view) throw new Error("no view");
    expect((await play("explore this project", { view })).calls.every((call) => call.name === "view")).toBe(true);
    expect((await play("how many files", { view })).answer).toContain("I would need `glob`");
  });

  test("ends an autopilot run with task_complete", async () => {
    const { calls } = await play("what is here", { ...FILE_TOOLS, task_complete: () => "ok" });
    expect(calls.at(-1)).toMatchObject({
      name: "task_complete",
      args: { summary: expect.stringContaining("README.md") },
    });
  });

  test("without tools sums up what was said", async () => {
    const messages: Message[] = [
      { role: "user", content: "what is here" },
      { role: "assistant", text: "Three things.", calls: [] },
    ];
    const { answer } = await play("Write a summary.", FILE_TOOLS, { messages, toolChoice: "none" });
    expect(answer).toContain("- what is here");
    expect(answer).toContain("- Three things.");
  });
});

describe("the offline model with sub-agents", () => {
  /** Sub-agents that are offline models themselves would need the runtime; here they answer with what they were asked. */
  function agents(): Toolbox {
    const reads = ["running", "idle", "idle"];
    return {
      ...FILE_TOOLS,
      task: ({ mode, name, prompt }) =>
        mode === "background" ? "Agent started in background with agent_id: a-1." : `${name}: ${prompt}\n\n${notice}`,
      read_agent: ({ agent_id }) =>
        `Agent. agent_id: ${agent_id}, status: ${reads.shift()}, total_turns: 1\n\n[Turn 0]\nfound it`,
      write_agent: () => "Message delivered to agent a-1.",
    };
  }

  test("starts several at once, one of them in the background, follows that one up and reports all", async () => {
    const { calls, answer } = await play("Explore this project with sub-agents.", agents());
    const tasks = calls.filter((call) => call.name === "task");
    expect(tasks.map(({ args }) => args.mode)).toEqual(["sync", "sync", "background"]);
    expect(tasks.every(({ args }) => args.agent_type === "explore" && args.prompt && args.description)).toBe(true);
    expect(calls.slice(3).map((call) => call.name)).toEqual(["read_agent", "read_agent", "write_agent", "read_agent"]);
    expect(calls[3]?.args).toMatchObject({ agent_id: "a-1", wait: true });
    expect(answer).toContain("3 sub-agents looked into it");
    expect(answer).toContain("layout: Explore this project");
    expect(answer).toContain("found it");
    expect(answer.split("No language model is configured")).toHaveLength(2);
  });

  test("starts as many as are asked for, and gives the first one the question", async () => {
    const { calls } = await play('Delegate to two sub-agents: where is "flip"?', agents());
    const tasks = calls.filter((call) => call.name === "task");
    expect(tasks).toHaveLength(2);
    expect(tasks[0]?.args.prompt).toBe('Search for "flip" in the files.');
  });

  test("its own task texts make a sub-agent look for itself, not delegate again", async () => {
    const { calls } = await play("Explore this project with 6 sub-agents.", agents());
    const prompts = calls.flatMap((call) => (call.name === "task" ? [String(call.args.prompt)] : []));
    expect(prompts).toHaveLength(6);
    for (const prompt of prompts) {
      const inside = await play(prompt, agents());
      expect(inside.calls.length).toBeGreaterThan(0);
      expect(inside.calls.map((call) => call.name)).not.toContain("task");
    }
  });

  test("does the work itself where no sub-agents are offered", async () => {
    const { calls } = await play("Explore this project with sub-agents.");
    expect(calls[0]).toMatchObject({ name: "view", args: { path: "." } });
  });

  test("reports an agent that failed", async () => {
    const failing = {
      ...agents(),
      task: () => {
        throw new Error("Maximum sub-agent depth of 6 reached.");
      },
    };
    expect((await play("Explore with sub-agents", failing)).answer).toContain(
      "This one failed: Error: Maximum sub-agent depth",
    );
  });

  test("reads what an agent found when it is told that the agent is idle", async () => {
    const told = '<system_notification>\nAgent is idle: agent_id "a-1"\n</system_notification>';
    const { calls, answer } = await play(told, agents());
    expect(calls).toMatchObject([{ name: "read_agent", args: { agent_id: "a-1" } }]);
    expect(answer).toContain("reports:");
  });

  test("news of an agent that comes while it works does not make it forget the prompt", async () => {
    const call = { id: "c-1", name: "task", arguments: JSON.stringify({ name: "x", mode: "background" }) };
    const asked: Message[] = [
      { role: "user", content: "Explore this project with sub-agents." },
      { role: "assistant", text: "", calls: [call] },
      { role: "tool", callId: "c-1", text: "Agent started in background with agent_id: a-1." },
    ];
    const told = '<system_notification>\nThe agent is idle: agent_id "a-1"\n</system_notification>';
    const { calls, answer } = await play(told, agents(), { messages: asked });
    expect(calls.map(({ name }) => name)).toContain("write_agent");
    expect(answer).toContain("looked into it");
  });

  test("what it inherits from its parent does not make a sub-agent delegate again or look elsewhere", async () => {
    const inherited = "## Inherited from Parent Session\n\nRecent context:\n  User: Explore src with sub-agents";
    const { calls } = await play(`${inherited}\n\nRead README.md and explain it.`, agents());
    expect(calls).toMatchObject([{ name: "view", args: { path: "README.md" } }]);
  });
});
