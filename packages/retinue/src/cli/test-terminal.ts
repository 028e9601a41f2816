/** For tests: a terminal that keeps what was written, and somebody at it who types given answers. */
import type { Terminal } from "./terminal.ts";

export interface TestTerminal extends Terminal {
  /** Standard output. */
  readonly written: string;
  /** Standard error and questions, line by line. */
  readonly noted: readonly string[];
}

/** Without answers nobody is there to be asked. When they are used up, the input has ended. */
export function testTerminal(answers?: readonly string[]): TestTerminal {
  const left = [...(answers ?? [])];
  const noted: string[] = [];
  let written = "";
  const terminal: TestTerminal = {
    canAsk: answers !== undefined,
    isScreen: answers !== undefined,
    isOutScreen: false,
    color: false,
    columns: 80,
    gone: new AbortController().signal,
    get written() {
      return written;
    },
    noted,
    out: (text) => {
      written += text;
    },
    note: (line) => void noted.push(line),
    status: () => undefined,
    ask: async (question) => {
      noted.push(question);
      return left.shift();
    },
    pinned: (work) => work(terminal),
    flush: async () => undefined,
  };
  return terminal;
}
