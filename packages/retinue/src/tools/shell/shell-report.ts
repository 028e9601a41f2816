/**
 * What the model reads about a shell: its output and its state. Shared by the tools that start, read and list shells.
 */
import { boundOutput, type OutputLimit } from "../output.ts";
import { type CallContext, type Outcome, type Shell, type ShellService, success } from "../tool.ts";

const PREVIEW_CHARS = 500;

/** The output since the last read, and the end if it has come. A shell whose end is reported here is forgotten. */
export function reportShell(shell: Shell, { context, limit }: { context: CallContext; limit: OutputLimit }): Outcome {
  const output = shell.read();
  const { text, file } = boundOutput(output, {
    maxBytes: limit.maxBytes,
    tempFolder: limit.folder ?? context.tempFolder,
    name: "shell",
    saved: shell.logPath === undefined ? undefined : { file: shell.logPath, bytes: shell.outputBytes },
  });
  if (shell.exitCode === undefined) return success(`${onOwnLine(text)}${stillRunning(shell)}`);
  context.services.shells.remove(shell.id);
  const { exitCode } = shell;
  return success(`${onOwnLine(text)}<shellId: ${shell.id} completed with exit code ${exitCode}>`, {
    shellExecution: { exitCode },
    contents: [
      {
        type: "shell_exit",
        shellId: shell.id,
        exitCode,
        cwd: shell.cwd,
        outputPreview: output.slice(0, PREVIEW_CHARS),
        ...(file === undefined ? {} : { outputTruncated: true, outputFilePath: file }),
      },
    ],
  });
}

/** What the command itself has printed, of a report about its end. */
export function outputOf(report: string): string {
  const at = report.lastIndexOf("<shellId: ");
  return at >= 0 && / completed with exit code -?\d+>$/.test(report.slice(at)) ? report.slice(0, at) : report;
}

export function describeShells(shells: ShellService): string {
  const lines = shells.list().map((shell) => {
    const state = shell.exitCode === undefined ? "running" : `completed with exit code ${shell.exitCode}, not read yet`;
    return `shellId: ${shell.id}, pid: ${shell.pid ?? "none"}, ${state}${shell.detached ? ", detached" : ""}: ${shell.command}`;
  });
  return lines.length === 0 ? "<no active shell sessions>" : lines.join("\n");
}

const stillRunning = (shell: Shell) =>
  `<shellId: ${shell.id} is still running in the background. You will be told when it ends; read_bash reads it, stop_bash stops it.>`;

const onOwnLine = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
