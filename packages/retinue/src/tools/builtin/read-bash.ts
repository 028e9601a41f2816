/** Reads a shell that runs in the background, after waiting a while for its end. */
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import type { OutputLimit } from "../output.ts";
import { describeShells, reportShell } from "../shell/shell-report.ts";
import {
  type CallContext,
  defineTool,
  failure,
  type Outcome,
  type Shell,
  type ShellService,
  type Tool,
} from "../tool.ts";
import description from "./read-bash.md";

const MAX_DELAY_SECONDS = 3600;

const input = lazy(() =>
  z.object({
    shellId: z.string().describe("The shell to read."),
    delay: z.number().min(0).describe("How many seconds to wait at most."),
  }),
);

export const readBashTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "read_bash",
    title: "Read a shell",
    description,
    input,
    readOnly: true,
    prepare: ({ shellId, delay }, context) => ({
      run: () => withShell(shellId, context.services.shells, (shell) => readAfter(shell, delay, { context, limit })),
    }),
  });

/** Waits, then reports; also used after writing to a shell. */
export async function readAfter(
  shell: Shell,
  seconds: number,
  { context, limit }: { context: CallContext; limit: OutputLimit },
): Promise<Outcome> {
  await shell.wait({ ms: Math.min(seconds, MAX_DELAY_SECONDS) * 1000, signal: context.signal });
  return reportShell(shell, { context, limit });
}

export async function withShell(
  shellId: string,
  shells: ShellService,
  use: (shell: Shell) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const shell = shells.get(shellId);
  if (shell) return use(shell);
  const why = shells.wasReclaimed(shellId)
    ? `shellId: ${shellId} was reclaimed and is no longer available.`
    : `shellId: ${shellId} not found or was never created. Please supply a valid shell ID.`;
  return failure(`${why}\n\n${describeShells(shells)}`);
}
