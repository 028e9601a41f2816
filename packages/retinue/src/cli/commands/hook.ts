/** `retinue hook`: what a connected harness runs for each of its hooks, and waits for. */
import { text as textOf } from "node:stream/consumers";
import { homeFolder } from "../../host/home.ts";
import type { ProcessContext } from "../cli-context.ts";
import { command } from "./command.ts";
import { home } from "./shared-fields.ts";
import { text } from "./values.ts";

export const hook = command({
  name: "hook",
  summary: "handle a hook of another agent program: payload on standard input, answer on standard output",
  more: "retinue connect writes it into the settings of that program. It succeeds whatever the payload is.",
  fields: {
    harness: { term: "<harness>", about: "the program that the payload comes from: claude-code, codex", is: text },
    home,
  },
  examples: ["retinue hook claude-code < payload.json"],
  usageCode: 1, // Claude Code treats 2 as an order to block what was about to happen.
  async run({ harness, home: given }, { env, program }: ProcessContext) {
    const { runHook } = await import("../../continuity/serve/hook-command.ts");
    const onProblem = (problem: string) => process.stderr.write(`retinue: ${problem}\n`);
    const input = await textOf(process.stdin);
    const answer = await runHook({ harness, home: homeFolder(env, given), input, program, env, onProblem });
    if (answer !== undefined) process.stdout.write(`${answer}\n`);
  },
});
