/** `retinue -p "…"`: prompt mode, the command without a name. */

import { choice, wholeNumber } from "./checked-values.ts";
import { command } from "./command.ts";
import { home, provider, rules } from "./shared-fields.ts";
import { flag, optional, otherwise, text, unlessTurnedOff, words } from "./values.ts";

export const prompt = command({
  name: "retinue",
  summary: "run one prompt and print the answer",
  fields: {
    prompt: {
      term: "-p, --prompt <text>",
      about:
        'run one prompt, or a slash command such as "/help", and print the answer; "-" reads it from standard input; @path names a file or folder',
      is: optional(text),
    },
    attach: {
      term: "--attach <path>",
      about:
        'send a file, an image or a folder with the prompt (repeatable); "-" is standard input, however long it takes',
      is: words,
      repeats: true,
    },
    model: { term: "--model <name>", about: "the model, or provider/model", is: optional(text) },
    provider,
    ...rules,
    pluginDir: {
      term: "--plugin-dir <folder>",
      about: "use the plugin in this folder (repeatable)",
      is: words,
      repeats: true,
    },
    resume: {
      term: "--resume <id>",
      about: "continue a session, by the beginning of its id; without a prompt, only what it has left open",
      is: optional(text),
      conflicts: "--continue",
    },
    continue: { term: "--continue", about: "continue the last session of this folder", is: flag },
    agent: {
      term: "--agent <name>",
      about: "let this agent answer: one of yours, or a built-in one",
      is: optional(text),
    },
    mode: {
      term: "--mode <mode>",
      about: "interactive, plan (only plan) or autopilot (work until the task is done)",
      is: optional(choice("interactive", "plan", "autopilot")),
    },
    autopilot: {
      term: "--autopilot",
      about: "the same as --mode autopilot",
      is: flag,
      conflicts: "--mode",
    },
    maxAutopilotContinues: {
      term: "--max-autopilot-continues <n>",
      about: "how many times autopilot reminds a model that stops before the task is complete (default: 5)",
      is: optional(wholeNumber({ from: 0, to: 1000 })),
    },
    gate: {
      term: "--gate <command>",
      about:
        "what must hold before the work counts as done (repeatable): a command that exits with 0, file:<path> that exists, schema:<path> that the answer fits",
      is: words,
      repeats: true,
    },
    maxGateFailures: {
      term: "--max-gate-failures <n>",
      about: "how many times a gate that failed goes back to the model (default: 3)",
      is: optional(wholeNumber({ from: 0, to: 100 })),
    },
    askUser: {
      term: "--no-ask-user",
      about: "the model asks no questions, and decides by itself",
      is: unlessTurnedOff,
    },
    reasoningEffort: {
      term: "--reasoning-effort <level>",
      about:
        "how hard the model thinks, for models that have this setting: none, minimal, low, medium, high, xhigh, max",
      is: optional(choice("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    },
    outputFormat: {
      term: "--output-format <format>",
      about: "text, or json: one event per line, and a result at the end (default: text)",
      is: otherwise("text", choice("text", "json")),
    },
    stream: {
      term: "--no-stream",
      about: "print only the last message, when it is complete",
      is: unlessTurnedOff,
    },
    quiet: { term: "--quiet", about: "print no progress", is: flag },
    silent: { term: "--silent", about: "print only the answer, when it is complete, and errors", is: flag },
    home,
  },
  more: "What comes by a pipe or from a file on standard input belongs to the prompt.",
  examples: [
    'retinue -p "Explain @src/main.ts"',
    'git diff | retinue -p "Review this" --quiet',
    'retinue -p "What is wrong in this picture?" --attach screen.png',
    'retinue -p "/review main..HEAD"',
    "retinue --resume 3f2a",
    'retinue -p "Bring package.json up to date" --autopilot --gate file:package.json --allow-all-tools',
  ],
  async run(input, context) {
    const { runPromptMode } = await import("../prompt-mode.ts");
    return runPromptMode(input, context);
  },
});
