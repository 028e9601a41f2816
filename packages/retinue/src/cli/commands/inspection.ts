/** `retinue doctor`, `why` and `demo`: commands that show whether it works, and how. */
import { command } from "./command.ts";
import { home, json, provider, rules } from "./shared-fields.ts";
import { folder, optional, text } from "./values.ts";

export const doctor = command({
  name: "doctor",
  summary: "check that everything is in place",
  more: "Each check says ok, warning or problem, and what to do. The exit code is 1 when there is a problem.",
  fields: { provider: { ...provider, about: "check this model provider" }, json, home },
  examples: ["retinue doctor", "retinue doctor --provider anthropic"],
  async run(input, context) {
    const { runDoctor } = await import("../doctor.ts");
    return runDoctor(input, context);
  },
});

export const why = command({
  name: "why",
  summary: "show which rule lets an agent of a session call a tool, or forbids it; without a tool, all of its tools",
  more: "The exit code is 1 when the agent may not, and 2 when there is no such tool.",
  fields: {
    session: { term: "<session>", about: "the beginning of a session's id", is: text },
    agent: {
      term: "<agent>",
      about: "main, the name of an agent, or the id of a sub-agent of the session",
      is: text,
    },
    tool: { term: "[tool]", about: "the name of a tool", is: optional(text) },
    input: {
      term: "[input]",
      about: "what the call is about: a command, a path, an address, or all arguments as JSON",
      is: optional(text),
    },
    allowTool: { ...rules.allowTool, about: "as if this rule were given (repeatable)" },
    denyTool: { ...rules.denyTool, about: "as if this rule were given (repeatable)" },
    allowAllTools: { ...rules.allowAllTools, about: "as if this were given" },
    addDir: { ...rules.addDir, about: "as if this folder were given (repeatable)" },
    json,
    home,
  },
  examples: [
    "retinue why 3f2a explore",
    "retinue why 3f2a main bash 'git push'",
    "retinue why 3f2a explore edit --allow-tool write",
  ],
  async run({ session, agent, tool, input, ...flags }, context) {
    const { runWhy } = await import("../why.ts");
    return runWhy({ session, agent, tool, input }, flags, context);
  },
});

export const demo = command({
  name: "demo",
  summary: "watch a main agent and three sub-agents explore this folder; no key and no network needed",
  fields: {
    provider: { ...provider, about: "a real model instead of the offline one" },
    model: { term: "--model <name>", about: "the model to use with --provider", is: optional(text) },
    home: {
      term: "--home <folder>",
      about: "keep the session in this home folder (default: a throw-away one)",
      is: optional(folder),
    },
  },
  examples: ["retinue demo"],
  async run(input, context) {
    const { runDemo } = await import("../demo.ts");
    return runDemo(input, context);
  },
});
