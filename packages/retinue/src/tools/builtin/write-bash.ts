/** Types into a shell that runs in the background. Asks for permission like `bash`: a shell does what is typed into it. */
import * as z from "zod";
import type { OutputLimit } from "../output.ts";
import { shellPermission } from "../shell/shell-command.ts";
import { defineTool, failure, type Outcome, type Shell, type Tool } from "../tool.ts";
import { readAfter, withShell } from "./read-bash.ts";
import description from "./write-bash.md";

const input = z.object({
  shellId: z.string().describe("The shell to write to."),
  input: z.string().describe("Text and keys."),
  delay: z.number().min(0).describe("How many seconds to wait for an answer at most."),
});

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
    prepare: (args, context) => ({
      permission: {
        ...shellPermission(args.input, { intention: `Write to shell ${args.shellId}`, toolCallId: context.callId }),
        commands: [{ identifier: args.input, readOnly: false }],
        canOfferSessionApproval: false,
      },
      run: () =>
        withShell(
          args.shellId,
          context.services.shells,
          (shell) => type(shell, args.input) ?? readAfter(shell, args.delay, { context, limit }),
        ),
    }),
  });

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
