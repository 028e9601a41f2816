/** The terminal for `--silent`: the answer on standard output, errors and questions on standard error, and nothing else. */
import type { Terminal } from "./terminal.ts";

const isError = (line: string): boolean => line.startsWith("retinue: ");

export function silentTerminal(terminal: Terminal): Terminal {
  return {
    canAsk: terminal.canAsk,
    isScreen: false, // So nothing moves on it.
    isOutScreen: terminal.isOutScreen,
    color: terminal.color,
    columns: terminal.columns,
    gone: terminal.gone,
    out: (text, options) => terminal.out(text, options),
    note(line, options) {
      if (isError(line)) terminal.note(line, options);
    },
    status: () => undefined,
    ask: (question, options) => terminal.ask(question, options),
    pinned: (work) => terminal.pinned(work),
    flush: () => terminal.flush(),
  };
}
