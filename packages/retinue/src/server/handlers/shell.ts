/** Commands that run without the model: for a program, or for a person, whose commands the model reads later. */
import { longTimer, type Result } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import type { Shell } from "../../tools/tool.ts";
import { existingFolder } from "../../workspace/folders.ts";
import { type Handlers, hosted } from "../handler.ts";

const DEFAULT_TIMEOUT_MS = 30_000;

/** Commands that people asked for, by the id of the request. */
const requested = new WeakMap<HostedSession, Map<string, Shell>>();

export const shellHandlers: Handlers = {
  "session.shell.exec": (params, scope) => {
    const target = hosted(params, scope);
    const { command, cwd = ".", timeout = DEFAULT_TIMEOUT_MS } = params;
    const shell = start(target, command, existingFolder(target.session, cwd));
    const timer = longTimer(() => void shell.kill(), timeout);
    void shell.ended.then(() => {
      timer.clear();
      target.userShells.remove(shell.id);
    });
    return { processId: shell.id };
  },
  "session.shell.kill": async (params, scope) => {
    const shell = hosted(params, scope).userShells.get(params.processId);
    if (shell?.status !== "running") return { killed: false };
    if (params.signal === undefined || params.signal === "SIGTERM") await shell.kill();
    else shell.signal(params.signal);
    return { killed: true };
  },
  "session.shell.executeUserRequested": async (params, scope) => await runForUser(hosted(params, scope), params),
  "session.shell.cancelUserRequested": async (params, scope) => {
    const shell = requested.get(hosted(params, scope))?.get(params.requestId);
    await shell?.kill();
    return { cancelled: shell !== undefined };
  },
};

function start({ userShells }: HostedSession, command: string, cwd: string): Shell {
  return userShells.start({ command, description: command.slice(0, 80), cwd });
}

type UserRequested = Result<"session.shell.executeUserRequested">;

/** Recorded before it runs and after it has ended; the model reads it with the next prompt. */
async function runForUser(
  target: HostedSession,
  { requestId, command }: { requestId: string; command: string },
): Promise<UserRequested> {
  const { session } = target;
  const toolCallId = session.world.newId();
  session.append("tool.user_requested", { toolCallId, toolName: "bash", arguments: { command } });
  await session.log.committed();
  const shell = start(target, command, session.place.workingDirectory);
  const running = requested.get(target) ?? new Map<string, Shell>();
  requested.set(target, running.set(requestId, shell));
  const { exitCode } = await shell.ended;
  running.delete(requestId);
  target.userShells.remove(shell.id);
  const output = shell.output();
  const isCancelled = shell.status === "cancelled";
  const success = exitCode === 0 && !isCancelled;
  const problem = isCancelled ? "The command was cancelled" : `The command ended with exit code ${exitCode}`;
  session.append("tool.execution_complete", {
    toolCallId,
    isUserRequested: true,
    success,
    ...(success ? { result: { content: output } } : { error: { message: problem, code: "failure" } }),
    modelText: wordsFor(command, output, success ? "The command succeeded" : problem),
    shellExecution: { exitCode },
    toolTelemetry: {},
  });
  return { toolCallId, success, output, exitCode, ...(success ? {} : { error: problem }) };
}

function wordsFor(command: string, output: string, end: string): string {
  return `<user_command>\nThe user ran this command in the shell:\n\n${command}\n\nOutput:\n\n${output}\n\n${end}.\n</user_command>`;
}
