/**
 * The MCP server of the cells on the path `MCP task`: a call of its tool becomes a task, which goes on when the test opens the gate of its cell.
 *
 * It lives in the process of the test, so it outlives every runtime. What it saw is the part of the laws that no log shows.
 */
import type { McpServerConfig } from "@retinue/protocol";
import { TaskServer } from "../../packages/retinue/src/mcp/fixtures/task-server.ts";
import { type Cell, cellName, holdMark, jobOf, processMark, workerAnswer } from "./cell.ts";
import type { Gates } from "./gates.ts";

/** One dialect is run at even depths, the other at odd ones. */
const dialectOf = ({ depth }: Cell) => (depth % 2 === 0 ? "2025" : "2026");

/** Where a process is to be reaped too. */
const isOverStdio = ({ depth, attached }: Cell) => depth === 1 && (attached === "sdk" || attached === "nobody");

export class LawJobs {
  readonly #server: TaskServer;
  readonly #cell: Cell;

  private constructor(server: TaskServer, cell: Cell) {
    this.#server = server;
    this.#cell = cell;
  }

  static async start(cell: Cell, gates: Gates): Promise<LawJobs> {
    const server: TaskServer = await TaskServer.start({
      dialect: dialectOf(cell),
      isReadOnly: cell.attached === "nobody",
      onTask: (task) => {
        void gates.pass(holdMark(cell)).then(() => {
          if (task.isCancelled) return;
          if (cell.fault === "model error") server.fail(task, "the model is broken");
          else server.complete(task, workerAnswer(cell));
        });
      },
    });
    return new LawJobs(server, cell);
  }

  /** A part of the session's configuration. Where nobody can be asked, the call needs no permission. */
  get config(): { mcpServers: Record<string, McpServerConfig> } {
    const { config, stdio } = this.#server;
    const jobs = isOverStdio(this.#cell) ? { ...stdio, args: [...argsOf(stdio), processMark(this.#cell)] } : config;
    return { mcpServers: { jobs: { ...jobs, trustReadOnlyHint: true } } };
  }

  /** Law 2: one call and one task. Law 4: nothing is left at work. */
  broken(): { ends: string[]; atRest: string[] } {
    const calls = this.#server
      .of("tools/call")
      .filter(({ params }) => JSON.stringify(params).includes(jobOf(this.#cell)));
    const working = [...this.#server.tasks.values()].filter(({ status }) => status === "working");
    return {
      ends: calls.length === 1 ? [] : [`law 2: the server was called ${calls.length} times in ${cellName(this.#cell)}`],
      atRest: working.map(() => "law 4: the server still works on its task"),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

const argsOf = (config: McpServerConfig): string[] => ("args" in config ? [...(config.args ?? [])] : []);
