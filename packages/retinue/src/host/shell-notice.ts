/** What an agent is told when a shell that it left in the background has ended. */
import type { Notice } from "../session/inbox.ts";
import { notification } from "../session/wording.ts";
import type { Shell } from "../tools/tool.ts";
import type { World } from "../world.ts";

/** Not when a call waits for the shell: then its result says it. */
export function isNews(shell: Shell, isAwaited: boolean): boolean {
  return shell.background && !isAwaited && shell.status === "completed";
}

export function shellNotice({ id, description, exitCode = 0 }: Shell, { newId }: World): Notice {
  return {
    kind: "notice",
    id: newId(),
    content: notification(
      `The shell ${id} ("${description}") has ended with exit code ${exitCode}. Read its output with read_bash.`,
    ),
    cause: { type: "shell_completed", shellId: id, exitCode, description },
  };
}
