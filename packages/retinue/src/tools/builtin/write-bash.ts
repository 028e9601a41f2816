/**
 * Types into a shell that runs in the background. Asks for permission like `bash`: a shell does what is typed into it.
 *
 * The request shows the whole text that the program reads as one: also what earlier calls have typed since the last end of a line.
 */
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { refuseTooLong } from "../longest.ts";
import type { OutputLimit } from "../output.ts";
import { typingPermission } from "../shell/shell-command.ts";
import { type CallContext, defineTool, failure, type Outcome, type Shell, type Tool } from "../tool.ts";
import { readAfter, withShell } from "./read-bash.ts";
import description from "./write-bash.md";

const input = lazy(() =>
  z.object({
    shellId: z.string().describe("The shell to write to."),
    input: z.string().describe("Text and keys."),
    delay: z.number().min(0).describe("How many seconds to wait for an answer at most."),
  }),
);

const KEYS: Readonly<Record<string, string>> = {
  "{enter}": "\n",
  "{tab}": "\t",
  "{esc}": "\u001b",
  "{backspace}": "\u007f",
  "{up}": "\u001b[A",
  "{down}": "\u001b[B",
  "{right}": "\u001b[C",
  "{left}": "\u001b[D",
};

export const writeBashTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "write_bash",
    title: "Write to a shell",
    description,
    input,
    readOnly: false,
    async prepare(args, context) {
      refuseTooLong("input", args.input);
      const { shells } = context.services;
      const before = openLine(shells.get(args.shellId));
      const about = { intention: `Write to shell ${args.shellId}`, toolCallId: context.callId };
      return {
        permission: await typingPermission(before + shownKeys(args.input), about),
        run: () => withShell(args.shellId, shells, (shell) => typeAndRead(shell, args, { before, context, limit })),
      };
    },
  });

/** What was typed into a shell since the last end of a line. */
const openLines = new WeakMap<Shell, string>();
const openLine = (shell: Shell | undefined) => (shell && openLines.get(shell)) ?? "";

/** An end of a line as such, and other keys by their names. */
export const shownKeys = (text: string) => text.replaceAll("{enter}", "\n").replaceAll("{tab}", "\t");

async function typeAndRead(
  shell: Shell,
  { input: text, delay }: z.output<ReturnType<typeof input>>,
  { before, context, limit }: { before: string; context: CallContext; limit: OutputLimit },
): Promise<Outcome> {
  if (openLine(shell) !== before) return failure(typedMeanwhile(shell));
  const problem = type(shell, text);
  openLines.set(shell, (before + shownKeys(text)).replace(/^.*[\n\r]/s, ""));
  return problem ?? (await readAfter(shell, delay, { context, limit }));
}

const typedMeanwhile = (shell: Shell) =>
  `Another call has typed into shellId: ${shell.id} meanwhile, so this text would not be what was allowed. Type one thing after the other.`;

/** The reason when it cannot be done. */
function type(shell: Shell, text: string): Outcome | undefined {
  for (const piece of text.split(/(\{[a-z-]+\})/).filter((each) => each !== "")) {
    if (piece === "{ctrl-c}") shell.signal("SIGINT");
    else if (piece === "{ctrl-d}") shell.endInput();
    else if (!shell.write(KEYS[piece] ?? piece)) return failure(noInput(shell));
  }
  return undefined;
}

const noInput = (shell: Shell) =>
  shell.status === "running"
    ? `shellId: ${shell.id} takes no input. Start the command with mode "async" to write to it.`
    : `shellId: ${shell.id} has ended. Read its end with read_bash.`;
