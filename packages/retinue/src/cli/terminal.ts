/**
 * The terminal of this process: where answers and progress go, and whether somebody is there to answer a question.
 *
 * Owns the two streams and the line that moves at the bottom of the screen (`status`). Everything else of the command
 * line writes through it, so that text and moving lines never mix.
 */
import { visibleText } from "@retinue/protocol/visible";
import { BottomLines, columnsOf } from "./bottom-lines.ts";
import { TypedLines } from "./typed-lines.ts";

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
  /** Undefined when there is no answer: end of input, now or before, or the signal. */
  ask(question: string, options?: { signal?: AbortSignal }): Promise<string | undefined>;
  /** While this works, the moving lines stand still above what it prints and asks, and all other output waits. One at a time. */
  pinned<T>(work: (at: Questioner) => Promise<T>): Promise<T>;
  /** Resolves when everything written has left the process. */
  flush(): Promise<void>;
}

/** Prints and asks something that belongs together. */
export type Questioner = Pick<Terminal, "note" | "ask">;

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

export function openTerminal(streams: TerminalStreams): Terminal {
  return new ProcessTerminal(streams);
}

class ProcessTerminal implements Terminal {
  readonly canAsk: boolean;
  readonly isScreen: boolean;
  readonly isOutScreen: boolean;
  readonly color: boolean;
  readonly #stdout: NodeJS.WriteStream;
  readonly #stderr: NodeJS.WriteStream;
  readonly #gone = new AbortController();
  readonly #typed: TypedLines;
  readonly #bottom: BottomLines;
  /** The last line of an answer is unfinished. */
  #isMidLine = false;
  /** While the moving lines are pinned: what was written beneath them. */
  #pin: { beneath: string; ended: Promise<void> } | undefined;
  /** Output that came in between; it is printed afterwards. */
  #held: (() => void)[] = [];

  constructor({ stdin, stdout, stderr, env }: TerminalStreams) {
    this.isScreen = stderr.isTTY === true && env.TERM !== "dumb";
    this.isOutScreen = stdout.isTTY === true;
    this.canAsk = stdin.isTTY === true && this.isScreen;
    this.color = this.isScreen && !env.NO_COLOR;
    this.#stdout = stdout.on("error", () => this.#gone.abort());
    this.#stderr = stderr.on("error", () => undefined); // Nobody reads the progress, so it may be lost.
    this.#typed = new TypedLines(stdin);
    this.#bottom = new BottomLines(stderr);
  }

  get columns(): number {
    return columnsOf(this.#stderr);
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  out(text: string, { isDrawn = false }: Drawn = {}): void {
    if (text === "" || this.gone.aborted) return;
    this.#inTurn(() => {
      if (this.isOutScreen) this.#erase();
      this.#stdout.write(this.isOutScreen && !isDrawn ? visibleText(text) : text);
      this.#isMidLine = !text.endsWith("\n");
      if (this.isOutScreen) this.#draw();
    });
  }

  note(line: string, { isDrawn = false, isDim = false }: Drawn & { isDim?: boolean } = {}): void {
    const shown = this.#shown(line, { isDrawn, isDim });
    this.#inTurn(() => {
      this.#erase();
      this.#endLine();
      this.#stderr.write(shown);
      this.#draw();
    });
  }

  status(lines: readonly string[]): void {
    if (!this.isScreen) return;
    this.#inTurn(() => {
      if (this.#bottom.isSame(lines)) return;
      this.#erase();
      this.#bottom.change(lines);
      this.#draw();
    });
  }

  async ask(question: string, { signal }: { signal?: AbortSignal } = {}): Promise<string | undefined> {
    return this.pinned((at) => at.ask(question, { signal }));
  }

  async pinned<T>(work: (at: Questioner) => Promise<T>): Promise<T> {
    while (this.#pin) await this.#pin.ended;
    let end = () => {};
    this.#pin = { beneath: "", ended: new Promise<void>((resolve) => (end = resolve)) };
    this.#endLine();
    this.#draw();
    try {
      return await work(this.#questioner(this.#pin));
    } finally {
      this.#unpin(this.#pin);
      end();
    }
  }

  async flush(): Promise<void> {
    const streams = [this.#stdout, this.#stderr];
    await Promise.all(streams.map((stream) => new Promise<void>((done) => stream.write("", () => done()))));
  }

  #questioner(pin: { beneath: string }): Questioner {
    return {
      note: (line, { isDrawn = false, isDim = false } = {}) => {
        const shown = this.#shown(line, { isDrawn, isDim });
        pin.beneath += shown;
        this.#stderr.write(shown);
      },
      ask: async (question, { signal } = {}) => {
        const words = visibleText(question);
        this.#stderr.write(words);
        const answer = await this.#typed.next(signal);
        if (answer === undefined) this.#stderr.write("\n");
        pin.beneath += `${words}${answer ?? ""}\n`;
        return answer;
      },
    };
  }

  #shown(line: string, { isDrawn, isDim }: { isDrawn: boolean; isDim: boolean }): string {
    const text = isDrawn ? line : visibleText(line);
    return isDim && this.color ? `\u001b[2m${text}\u001b[0m\n` : `${text}\n`;
  }

  /** The lines at the bottom wait while the last line of an answer is unfinished on the same screen. */
  get #isBlocked(): boolean {
    return this.isOutScreen && this.#isMidLine;
  }

  #erase(): void {
    if (!this.#isBlocked) this.#bottom.erase();
  }

  #draw(): void {
    if (!this.#isBlocked) this.#bottom.draw();
  }

  #endLine(): void {
    if (!this.isScreen) return;
    if (this.#isBlocked) this.#stderr.write("\n");
    this.#isMidLine = false;
  }

  #inTurn(write: () => void): void {
    if (this.#pin) this.#held.push(write);
    else write();
  }

  #unpin({ beneath }: { beneath: string }): void {
    this.#bottom.lift(beneath);
    this.#pin = undefined;
    const waiting = this.#held;
    this.#held = [];
    for (const write of waiting) write();
  }
}
