/** Runs a command in a shell of its own, and waits for its end, for a while, or not at all. */
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { refuseTooLong } from "../longest.ts";
import type { OutputLimit } from "../output.ts";
import { shellPermission } from "../shell/shell-command.ts";
import { reportShell } from "../shell/shell-report.ts";
import { streamShell } from "../shell/shell-stream.ts";
import { type CallContext, CallRefused, defineTool, failure, type Outcome, success, type Tool } from "../tool.ts";
import description from "./bash.md";

const DEFAULT_WAIT_SECONDS = 30;
const MAX_WAIT_SECONDS = 3600;

const input = lazy(() =>
  z.object({
    command: z.string().describe("The command line."),
    description: z.string().optional().describe("What it is for, in a few words."),
    shellId: z.string().min(1).optional().describe("A name for the shell; else it gets a number."),
    mode: z.enum(["sync", "async"]).optional().describe("Wait for the end, or return at once."),
    detach: z.boolean().optional().describe("Let it outlive the session."),
    initial_wait: z.number().min(0).optional().describe("How many seconds a sync command is waited for."),
  }),
);
type Input = z.output<ReturnType<typeof input>>;

export const bashTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "bash",
    description,
    input,
    readOnly: false,
    async prepare(args, context) {
      refuseTooLong("command", args.command);
      refuseIdInUse(args.shellId, context);
      return {
        permission: await shellPermission(args.command, {
          intention: args.description ?? "Running command",
          toolCallId: context.callId,
        }),
        run: () => run(args, { context, limit }),
      };
    },
  });

function refuseIdInUse(shellId: string | undefined, { services }: CallContext): void {
  if (shellId === undefined || services.shells.get(shellId)?.status !== "running") return;
  throw new CallRefused(
    failure(`A shell with the shellId ${shellId} is running. Choose another one, or stop it first.`),
  );
}

async function run(args: Input, { context, limit }: { context: CallContext; limit: OutputLimit }): Promise<Outcome> {
  refuseIdInUse(args.shellId, context);
  const detached = args.detach ?? false;
  const background = detached || args.mode === "async";
  const shell = context.services.shells.start({
    command: args.command,
    description: args.description ?? "",
    cwd: context.workingDirectory,
    shellId: args.shellId,
    detached,
    background,
    interactive: args.mode === "async",
  });
  if (!detached) streamShell(shell, (output) => context.partialOutput(output));
  if (background)
    return success(`<command started in ${detached ? "detached " : ""}background with shellId: ${shell.id}>`);

  const seconds = Math.min(args.initial_wait ?? DEFAULT_WAIT_SECONDS, MAX_WAIT_SECONDS);
  const came = await shell.wait({ ms: seconds * 1000, signal: context.signal });
  if (came === "aborted") {
    await shell.kill();
    context.services.shells.remove(shell.id);
    return failure(`The command was stopped.\n${shell.read()}`, { error: "The command was stopped" });
  }
  if (came === "timeout") shell.promote();
  return reportShell(shell, { context, limit });
}
