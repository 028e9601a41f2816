/**
 * The commands of continuity from an argument list. `retinue` hands these words on: daemon, connect, disconnect, search, checkpoint, transcript,
 * hook, mcp, token. Returns the exit code.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { AppError, messageOf } from "@retinue/protocol";
import type * as Cli from "./cli.ts";
import { CONTINUITY_COMMANDS } from "./commands.ts";
import { runHook } from "./hook-command.ts";

const OPTIONS = {
  home: { type: "string" },
  port: { type: "string" },
  lines: { type: "string" },
  yes: { type: "boolean", short: "y" },
  status: { type: "boolean" },
  json: { type: "boolean" },
  session: { type: "string" },
  project: { type: "string" },
  harness: { type: "string" },
  agent: { type: "string" },
  since: { type: "string" },
  limit: { type: "string" },
  offset: { type: "string" },
  after: { type: "string" },
  summary: { type: "string" },
  entity: { type: "string", multiple: true },
} as const;

type Values = ReturnType<typeof parse>["values"];
const parse = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });

export interface ProgramContext {
  program: readonly string[];
  env: NodeJS.ProcessEnv;
  out: Cli.Output;
}

export async function runContinuity(argv: readonly string[], { program, env, out }: ProgramContext): Promise<number> {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once("SIGTERM", onSignal).once("SIGINT", onSignal);
  try {
    const { values, positionals } = parse(argv);
    const home = values.home ?? env.RETINUE_HOME ?? env.COPILOT_HOME ?? join(env.HOME ?? homedir(), ".retinue");
    await run(positionals, { context: { home, program, env, out }, values, signal: stop.signal });
    return 0;
  } catch (error) {
    process.stderr.write(`retinue: ${messageOf(error)}\n`);
    return 1;
  } finally {
    process.off("SIGTERM", onSignal).off("SIGINT", onSignal);
  }
}

interface Run {
  context: Cli.CommandContext;
  values: Values;
  signal: AbortSignal;
}

const number = (value: string | undefined) => (value === undefined ? undefined : Number(value));

async function run([command, ...words]: readonly string[], { context, values, signal }: Run): Promise<unknown> {
  const [first = ""] = words;
  // A harness waits for a hook; the other commands may take the time to load.
  if (command === "hook") return hook(first, context);
  const cli = await import("./cli.ts");
  switch (command) {
    case "daemon":
      return runDaemonWord(cli, first, { context, values, signal });
    case "connect":
      if (values.status || first === "") return cli.connectStatus(context, first || undefined);
      return cli.connectHarness(context, { harness: first, confirm: confirmer(context, values.yes) });
    case "disconnect":
      return cli.disconnectHarness(context, { harness: first, confirm: confirmer(context, values.yes) });
    case "search":
      return cli.searchSessions(context, {
        query: words.join(" "),
        sessionKey: values.session,
        project: values.project,
        harness: values.harness,
        agentId: values.agent,
        since: values.since,
        limit: number(values.limit),
        offset: number(values.offset),
        json: values.json,
      });
    case "checkpoint":
      return cli.addCheckpointTo(context, {
        key: first,
        summary: values.summary ?? words.slice(1).join(" "),
        entities: values.entity,
        agentId: values.agent,
      });
    case "transcript":
      return cli.showTranscript(context, {
        key: first,
        format: values.json ? "json" : "text",
        after: number(values.after),
        limit: number(values.limit),
      });
    case "mcp":
      return cli.runMcp(context, { signal });
    case "op":
      return context.out.write(
        `${JSON.stringify(await cli.call(context, first, JSON.parse(words[1] ?? "{}")), null, 2)}\n`,
      );
    default:
      throw new AppError(
        "invalid_params",
        `There is no command ${command ?? ""}. There are: ${CONTINUITY_COMMANDS.join(", ")}`,
      );
  }
}

/** Payload on standard input, answer on standard output; whatever happens, it ends well and soon. */
async function hook(harness: string, context: Cli.CommandContext): Promise<void> {
  const onProblem = (problem: string) => process.stderr.write(`retinue: ${problem}\n`);
  const answer = await runHook({ ...context, harness, input: await text(process.stdin), onProblem });
  if (answer !== undefined) context.out.write(`${answer}\n`);
}

async function runDaemonWord(cli: typeof Cli, word: string, { context, values, signal }: Run): Promise<unknown> {
  const port = number(values.port);
  switch (word) {
    case "start":
      return cli.daemonStart(context, { port });
    case "stop":
      return cli.daemonStop(context);
    case "status":
      return cli.daemonStatus(context);
    case "logs":
      return cli.daemonLogs(context, { lines: number(values.lines) });
    case "run":
      return cli.daemonRun(context, { port, signal });
    default:
      throw new AppError("invalid_params", "daemon start | stop | status | logs");
  }
}

function confirmer({ out }: Cli.CommandContext, isYes: boolean | undefined): (changes: string) => Promise<boolean> {
  return async (changes) => {
    out.write(`${changes}\n\n`);
    if (isYes) return true;
    const question = createInterface({ input: process.stdin, output: process.stderr });
    const answer = await question.question("Make these changes? [y/N] ");
    question.close();
    return /^y(es)?$/i.test(answer.trim());
  };
}
