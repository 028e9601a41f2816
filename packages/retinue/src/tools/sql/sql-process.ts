/**
 * A process that runs SQL, one request after another.
 *
 * SQLite works synchronously and an endless query cannot be interrupted from JavaScript, not even by ending its thread; a process
 * can be killed at any time, and the database rolls back what it had not committed. The process ends with this one, however that ends.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { nodeProgram } from "../../processes/own-program.ts";
import { childEnvironment } from "../../secrets/environment.ts";
import { sqliteLibrary } from "../../store/sqlite-door.ts";
import type { SqlResult } from "../tool.ts";
import { SQL_PROCESS } from "./sql-process-code.ts";

export interface SqlRequest {
  file: string;
  /** Run before the statements, each time. */
  setup: string;
  statements: readonly string[];
  /** All of them, or none. */
  isAtomic: boolean;
  maxRows: number;
  /** Of all rows together; what is longer is cut. */
  maxChars: number;
  /** Of the whole process. One that takes more ends, with `tooLarge` as the error. */
  maxBytes: number;
  tooLarge: string;
}

/** After the last answer the process ends. */
type SqlAnswer = { results: SqlResult[] } | { error: string; isLast?: boolean };

interface Pending {
  resolve(answer: SqlAnswer): void;
  reject(error: Error): void;
}

export class SqlProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #isEnded = false;
  #pending: Pending | undefined;

  constructor() {
    const [command, ...first] = nodeProgram();
    this.#child = spawn(command, [...first, "--eval", SQL_PROCESS, sqliteLibrary()], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
      env: childEnvironment({ NODE_OPTIONS: "" }),
      windowsHide: true,
    });
    this.#child.on("message", (answer) => this.#pending?.resolve(answer as SqlAnswer));
    this.#ended = new Promise((resolve) => {
      const ended = () => {
        this.#isEnded = true;
        this.#pending?.reject(new Error("the process that runs queries has ended"));
        resolve();
      };
      this.#child.once("exit", ended).on("error", ended);
    });
    this.#hold(false);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Rejects when a statement fails, and when the process ends first. One at a time. */
  async run(request: SqlRequest): Promise<SqlResult[]> {
    this.#hold(true);
    try {
      const answer = await new Promise<SqlAnswer>((resolve, reject) => {
        this.#pending = { resolve, reject };
        // A process that takes nothing has died or is about to. Its end is the answer, so that the next query gets a new one.
        this.#child.send(request, (error) => error && void this.kill());
      });
      if ("error" in answer) {
        if (answer.isLast) await this.#ended; // The next query must not come to a process that is about to end.
        throw new Error(answer.error);
      }
      return answer.results;
    } finally {
      this.#pending = undefined;
      this.#hold(false);
    }
  }

  async kill(): Promise<void> {
    this.#child.ref(); // The program must not exit while somebody waits for the end of this process.
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** An idle process does not keep this one alive. */
  #hold(isBusy: boolean): void {
    const change = isBusy ? "ref" : "unref";
    this.#child[change]();
    this.#child.channel?.[change]();
  }
}
