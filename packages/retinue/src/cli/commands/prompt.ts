/** `retinue -p "…"`: prompt mode, which has no word of its own. */
import help from "../help.md";
import { noteOldNode } from "../old-node.ts";
import { readPrompt } from "../prompt-input.ts";
import quickStart from "../quick-start.md";
import { command } from "./command.ts";
import { home, provider, rules } from "./shared-fields.ts";
import { choice, flag, optionalText, unlessTurnedOff } from "./values.ts";

export const prompt = command({
  name: "retinue",
  summary: "An agent runtime: a main agent with a retinue of sub-agents.",
  more: help.trim(),
  fields: {
    prompt: {
      term: "-p, --prompt <text>",
      about: 'run one prompt and print the answer; "-" reads it from standard input',
      is: optionalText,
    },
    model: { term: "--model <name>", about: "the model, or provider/model", is: optionalText },
    provider,
    ...rules,
    resume: {
      term: "--resume <id>",
      about: "go on with a session, by the beginning of its id",
      is: optionalText,
      conflicts: "--continue",
    },
    continue: { term: "--continue", about: "go on with the last session of this folder", is: flag },
    agent: { term: "--agent <name>", about: "let this agent of yours answer", is: optionalText },
    mode: {
      term: "--mode <mode>",
      about: "interactive, plan (only plan) or autopilot (go on until the task is done)",
      is: () => choice("interactive", "plan", "autopilot").optional(),
    },
    reasoningEffort: {
      term: "--reasoning-effort <level>",
      about: "how hard the model thinks, for models that can be told",
      is: optionalText,
    },
    outputFormat: {
      term: "--output-format <format>",
      about: "text, or json: one event per line (default: text)",
      is: () => choice("text", "json").default("text"),
    },
    stream: {
      term: "--no-stream",
      about: "print only the last message, when it is complete",
      is: unlessTurnedOff,
    },
    quiet: { term: "--quiet", about: "print no progress", is: flag },
    home,
  },
  examples: [],
  async run({ prompt: given, ...flags }, context) {
    const { terminal } = context;
    if (given === undefined && process.stdin.isTTY) {
      terminal.out(quickStart);
      return 0;
    }
    const { runPrompt } = await import("../prompt.ts");
    const words = await readPrompt(given, process.stdin);
    if (!flags.quiet && flags.outputFormat === "text") noteOldNode(terminal);
    return runPrompt(words, flags, context);
  },
});
