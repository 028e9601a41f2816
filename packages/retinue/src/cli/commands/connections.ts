/** `retinue connect` and `disconnect`: other agent programs. */
import { HARNESSES } from "../../continuity/connectors/harnesses.ts";
import type { CliContext } from "../cli-context.ts";
import { continuityContext } from "../continuity-context.ts";
import { UsageError } from "../usage-error.ts";
import { choice } from "./checked-values.ts";
import { command } from "./command.ts";
import { home, yes } from "./shared-fields.ts";
import { flag, optional } from "./values.ts";

const load = () => import("../../continuity/serve/cli.ts");
const about = HARNESSES.join(", ");

export const connect = command({
  name: "connect",
  summary: `connect another agent program: ${about}`,
  more: "Shows the exact change, asks, and keeps the old files. Without a program, or with --status, it shows what is in effect.",
  fields: {
    harness: { term: "[harness]", about, is: optional(choice(...HARNESSES)) },
    status: { term: "--status", about: "change nothing; show what is in effect", is: flag },
    yes,
    home,
  },
  examples: ["retinue connect claude-code", "retinue connect --status"],
  async run({ harness, status, yes: isYes, home: given }, context) {
    const { connectHarness, connectStatus } = await load();
    const continuity = continuityContext(given, context);
    if (status || harness === undefined) await connectStatus(continuity, harness);
    else await connectHarness(continuity, { harness, confirm: confirmer(isYes, context) });
  },
});

export const disconnect = command({
  name: "disconnect",
  summary: "undo connect: remove our lines from another agent program",
  fields: { harness: { term: "<harness>", about, is: choice(...HARNESSES) }, yes, home },
  examples: ["retinue disconnect claude-code"],
  async run({ harness, yes: isYes, home: given }, context) {
    const { disconnectHarness } = await load();
    await disconnectHarness(continuityContext(given, context), { harness, confirm: confirmer(isYes, context) });
  },
});

function confirmer(isYes: boolean, { terminal }: CliContext): (changes: string) => Promise<boolean> {
  return async (changes) => {
    terminal.out(`${changes}\n\n`);
    if (isYes) return true;
    const answer = await terminal.ask("Make these changes? [y/N] ");
    if (answer === undefined) throw new UsageError("nobody answered: add --yes to make these changes without asking");
    return /^y(es)?$/i.test(answer.trim());
  };
}
