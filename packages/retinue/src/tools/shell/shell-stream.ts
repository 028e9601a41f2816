/** Passes the output of a shell on while it runs: the end of what there is so far, and not more often than a screen needs. */
import type { Shell } from "../tool.ts";

const EVERY_MS = 100;
const MAX_CHARS = 10_000;

export function streamShell(shell: Shell, send: (output: string) => void): void {
  let timer: NodeJS.Timeout | undefined;
  let lastBytes = 0;
  let lastAt = 0;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (shell.outputBytes === lastBytes) return;
    lastBytes = shell.outputBytes;
    lastAt = Date.now();
    send(shell.output().slice(-MAX_CHARS));
  };
  const stop = shell.onOutput(() => {
    timer ??= setTimeout(flush, Math.max(0, lastAt + EVERY_MS - Date.now()));
  });
  void shell.ended.then(() => {
    stop();
    flush();
  });
}
