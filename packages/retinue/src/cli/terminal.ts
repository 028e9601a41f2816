/**
 * The terminal of this process: where answers and progress go, and whether somebody is there to answer a question.
 *
 * Owns the two streams and the line that moves at the bottom of the screen (`status`). Everything else of the command
 * line writes through it, so that text and moving lines never mix.
 */
import { createInterface } from "node:readline";
import { visibleText } from "@retinue/protocol/visible";

export interface Terminal {
  /** Somebody can see a question and type the answer. */
  readonly canAsk: boolean;
  /** Progress goes to a screen, not to a file or a pipe. */
  readonly isScreen: boolean;
  readonly isOutScreen: boolean;
  readonly color: boolean;
  readonly columns: number;
  /** Aborted when nobody reads standard output any more. */
  readonly gone: AbortSignal;
  /** Answers: standard output. On a screen what cannot be seen is made visible; elsewhere a program may read it. */
  out(text: string, options?: Drawn): void;
  /** Progress: a whole line on standard error. What cannot be seen is made visible. */
  note(line: string, options?: Drawn & { isDim?: boolean }): void;
  /** Lines that stay at the bottom of the screen and change; empty removes them. Nothing happens where there is no screen. */
  status(lines: readonly string[]): void;
  /** Undefined when there is no answer: end of input, or the signal. */
  ask(question: string, options?: { signal?: AbortSignal }): Promise<string | undefined>;
  /** Resolves when everything written has left the process. */
  flush(): Promise<void>;
}

export interface Drawn {
  /** The text has colours of our own; what others wrote in it is visible already. */
  isDrawn?: boolean;
}

export interface TerminalStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  env: Readonly<Record<string, string | undefined>>;
}

export function openTerminal({ stdin, stdout, stderr, env }: TerminalStreams): Terminal {
  const isScreen = stderr.isTTY === true && env.TERM !== "dumb";
  const isOutScreen = stdout.isTTY === true;
  const gone = new AbortController();
  stdout.on("error", () => gone.abort());
  stderr.on("error", () => undefined); // Nobody reads the progress, so it may be lost.
  let shown: readonly string[] = [];
  let isMidLine = false;
  /** Output that came while a question is on the screen; it is printed after the answer. */
  let held: (() => void)[] | undefined;

  /** The lines at the bottom wait while the last line of an answer is unfinished on the same screen. */
  const isBlocked = () => isOutScreen && isMidLine;
  const erase = () => {
    if (shown.length > 0 && !isBlocked()) stderr.write(`\u001b[${shown.length}A\u001b[0J`);
  };
  const draw = () => {
    if (shown.length > 0 && !isBlocked()) stderr.write(`${shown.join("\n")}\n`);
  };
  const inTurn = (write: () => void) => {
    if (held) held.push(write);
    else write();
  };

  return {
    canAsk: stdin.isTTY === true && isScreen,
    gone: gone.signal,
    isScreen,
    isOutScreen,
    color: isScreen && !env.NO_COLOR,
    get columns() {
      return stderr.columns ?? 80;
    },
    out(text, { isDrawn = false } = {}) {
      if (text === "" || gone.signal.aborted) return;
      inTurn(() => {
        if (isOutScreen) erase();
        stdout.write(isOutScreen && !isDrawn ? visibleText(text) : text);
        isMidLine = !text.endsWith("\n");
        if (isOutScreen) draw();
      });
    },
    note(line, { isDrawn = false, isDim = false } = {}) {
      inTurn(() => {
        erase();
        if (isBlocked() && isScreen) stderr.write("\n");
        isMidLine = isMidLine && !isScreen;
        const shownLine = isDrawn ? line : visibleText(line);
        stderr.write(isDim && isScreen && !env.NO_COLOR ? `\u001b[2m${shownLine}\u001b[0m\n` : `${shownLine}\n`);
        draw();
      });
    },
    status(lines) {
      if (!isScreen) return;
      inTurn(() => {
        erase();
        shown = fitting(lines, stderr.rows ?? 24);
        draw();
      });
    },
    async ask(question, { signal } = {}) {
      erase();
      if (isBlocked()) stderr.write("\n");
      isMidLine = false;
      held = [];
      const answer = await askLine({ stdin, stderr }, visibleText(question), signal);
      const waiting = held;
      held = undefined;
      draw();
      for (const write of waiting) write();
      return answer;
    },
    async flush() {
      await Promise.all([stdout, stderr].map((stream) => new Promise<void>((done) => stream.write("", () => done()))));
    },
  };
}

/** Cuts to the height of the screen: what is taller cannot be erased again. */
function fitting(lines: readonly string[], rows: number): readonly string[] {
  const most = Math.max(3, rows - 2);
  return lines.length > most ? [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`] : lines;
}

/** The terminal edits the line and sends Ctrl-C as a signal; nothing here touches its mode. */
function askLine(
  { stdin, stderr }: Pick<TerminalStreams, "stdin" | "stderr">,
  question: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(undefined);
    const lines = createInterface({ input: stdin, terminal: false });
    const finish = (answer: string | undefined) => {
      signal?.removeEventListener("abort", onAbort);
      lines.off("close", onClose).close();
      stdin.pause();
      if (answer === undefined) stderr.write("\n");
      resolve(answer);
    };
    const onAbort = () => finish(undefined);
    const onClose = () => finish(undefined);
    lines.once("line", (line) => finish(line)).once("close", onClose);
    signal?.addEventListener("abort", onAbort, { once: true });
    stderr.write(question);
  });
}
