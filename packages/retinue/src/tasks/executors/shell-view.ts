/** A shell as the protocol describes it, and the notice when a background shell has ended. */
import type { ShellTask } from "@retinue/protocol";
import { notification } from "../../session/wording.ts";
import type { Shell } from "../../tools/tool.ts";
import type { TaskView } from "../executor.ts";
import type { ShellRecord } from "../record.ts";

const PROGRESS_CHARS = 4000;

export interface ShellViewOptions {
  shellOf(record: ShellRecord): Shell | undefined;
  /** A call waits for the end and reports it. */
  isReported(shell: Shell): boolean;
  newId(): string;
}

export function shellView({ shellOf, isReported, newId }: ShellViewOptions): TaskView<ShellRecord> {
  return {
    describe: (record) => shellTask(record, shellOf(record)),
    progress: (record) => {
      const shell = shellOf(record);
      return { type: "shell", recentOutput: shell?.output().slice(-PROGRESS_CHARS) ?? "", pid: shell?.pid };
    },
    notice: (record) => {
      const shell = shellOf(record);
      if (!shell || isReported(shell)) return undefined;
      const { id, description, exitCode = 0 } = shell;
      const words = `The shell ${id} ("${description}") has ended with exit code ${exitCode}. Read its output with read_bash.`;
      return {
        kind: "notice",
        id: newId(),
        content: notification(words),
        cause: { type: "shell_completed", shellId: id, exitCode, description },
      };
    },
  };
}

function shellTask(record: ShellRecord, shell: Shell | undefined): ShellTask {
  return {
    type: "shell",
    id: record.alias ?? record.id,
    description: record.description,
    status: record.status === "orphaned" ? "running" : record.status,
    ownerId: record.ownerId,
    command: record.command,
    attachmentMode: record.isDetached ? "detached" : "attached",
    executionMode: record.mode,
    canPromoteToBackground: record.status === "running" && record.mode === "sync",
    pid: shell?.pid,
    logPath: shell?.logPath,
    startedAt: new Date(record.startedAt).toISOString(),
  };
}
