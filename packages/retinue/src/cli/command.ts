/**
 * The command line for people: which commands there are, their options, and what the process ends with.
 *
 * Each command is loaded when it is used. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
 */
import { messageOf } from "@retinue/protocol";
import { Command, CommanderError, Option } from "commander";
import { VERSION } from "../host/config.ts";
import type { CliContext } from "./cli-context.ts";
import { CommonFlags, DeleteFlags, DemoFlags, DoctorFlags, ListFlags, PromptFlags, WhyFlags } from "./flags.ts";
import help from "./help.md";
import { readPrompt } from "./prompt-input.ts";
import quickStart from "./quick-start.md";
import { openTerminal, type Terminal } from "./terminal.ts";
import { nearest, UsageError } from "./usage-error.ts";

const { env, stdin, stdout, stderr } = process;

export async function runCommand(args: readonly string[]): Promise<void> {
  const terminal = openTerminal({ stdin, stdout, stderr, env });
  const code = await codeOf(args, terminal);
  await terminal.flush();
  process.exit(code); // Kept-alive connections to a model would hold the process for some seconds more.
}

async function codeOf(args: readonly string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const program = commands(terminal, (ended) => {
    code = ended;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.note(`retinue: ${messageOf(error)}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

function commands(terminal: Terminal, end: (code: number) => void): Command {
  const context: CliContext = { terminal, env, cwd: process.cwd() };
  const program = new Command("retinue")
    .description("An agent runtime: a main agent with a retinue of sub-agents.")
    .version(VERSION, "-v, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print help about a command")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${errorLine(text)}\n`) })
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .showSuggestionAfterError(true)
    .allowExcessArguments(true)
    .addHelpText("after", `\n${help.trim()}`);
  addPromptOptions(program);
  program.action(async (given, command: Command) => {
    const [unknown] = command.args;
    if (unknown !== undefined) throw unknownCommand(program, unknown);
    const { prompt, ...flags } = PromptFlags.parse(given);
    if (prompt === undefined && stdin.isTTY) return terminal.out(quickStart);
    const { runPrompt } = await import("./prompt.ts");
    const words = await readPrompt(prompt, stdin);
    if (!flags.quiet && flags.outputFormat === "text") noteOldNode(terminal);
    end(await runPrompt(words, flags, context));
  });

  program
    .command("serve")
    .description("serve sessions over JSON-RPC (see retinue serve --help)")
    .action(() => {
      throw new UsageError("serve must come first: retinue serve [options]");
    });
  addMemoryCommands(program);
  addSessionCommands(program, context);
  common(program.command("doctor").description("check that everything is in place"))
    .option("--provider <name or URL>", "check this model provider")
    .action(async (given) => {
      const { runDoctor } = await import("./doctor.ts");
      end(await runDoctor(DoctorFlags.parse(given), context));
    });
  common(program.command("why").description("say which rule lets an agent of a session call a tool, or forbids it"))
    .argument("<session>", "the beginning of a session's id")
    .argument("<agent>", "main, the name of an agent, or the id of a sub-agent of the session")
    .argument("<tool>", "the name of a tool")
    .argument("[input]", "what the call is about: a command, a path, an address, or all arguments as JSON")
    .option("--allow-tool <rule>", "as if this rule were given (repeatable)", collect)
    .option("--deny-tool <rule>", "as if this rule were given (repeatable)", collect)
    .option("--allow-all-tools", "as if this were given")
    .option("--add-dir <path>", "as if this folder were given (repeatable)", collect)
    .action(async (session: string, agent: string, tool: string, input: string | undefined, given) => {
      const { runWhy } = await import("./why.ts");
      end(await runWhy({ session, agent, tool, input }, WhyFlags.parse(given), context));
    });
  program
    .command("demo")
    .description("watch a main agent and three sub-agents explore this folder; no key and no network needed")
    .option("--home <folder>", "keep the session in this home folder (default: a throw-away one)")
    .option("--provider <name or URL>", "a real model instead of the offline one")
    .option("--model <name>", "the model to use with --provider")
    .action(async (given) => {
      noteOldNode(terminal);
      const { runDemo } = await import("./demo.ts");
      end(await runDemo(DemoFlags.parse(given), context));
    });
  return program;
}

/** Named here for help and hints. They are dispatched in main.ts, before any of this is loaded, because harnesses wait for some. */
function addMemoryCommands(program: Command): void {
  const commands = {
    search: "search everything that was said in any session",
    transcript: "print what was said in a session",
    checkpoint: "keep a summary of a session up to now",
    connect: "join another agent program: claude-code, opencode, openclaw, codex",
    disconnect: "take that back",
    daemon: "start, stop, status or logs of the service that other programs talk to",
    mcp: "serve session_search to other programs over MCP",
  };
  for (const [name, description] of Object.entries(commands)) {
    program
      .command(name)
      .description(description)
      .allowUnknownOption()
      .action(() => {
        throw new UsageError(`${name} must come first: retinue ${name} …`);
      });
  }
}

function addPromptOptions(program: Command): void {
  program
    .option("-p, --prompt <text>", 'run one prompt and print the answer; "-" reads it from standard input')
    .option("--model <name>", "the model, or provider/model")
    .option(
      "--provider <name or URL>",
      "where models come from: a name of the config file, openai, anthropic, offline, or an address",
    )
    .option(
      "--allow-tool <rule>",
      "allow without asking (repeatable): write, 'shell(git status)', 'url(example.com)', a tool's name",
      collect,
    )
    .option("--deny-tool <rule>", "never allow (repeatable); wins over --allow-tool", collect)
    .option("--allow-all-tools", "allow everything without asking")
    .option("--add-dir <path>", "a further folder whose files may be read (repeatable)", collect)
    .addOption(new Option("--resume <id>", "go on with a session, by the beginning of its id").conflicts("continue"))
    .option("--continue", "go on with the last session of this folder")
    .option("--agent <name>", "let this agent of yours answer")
    .addOption(
      new Option("--mode <mode>", "plan: only plan; autopilot: go on until the task is done").choices([
        "interactive",
        "plan",
        "autopilot",
      ]),
    )
    .option("--reasoning-effort <level>", "how hard the model thinks, for models that can be told")
    .addOption(
      new Option("--output-format <format>", "json prints one event per line")
        .choices(["text", "json"])
        .default("text"),
    )
    .option("--no-stream", "print only the last message, when it is complete")
    .option("--quiet", "print no progress")
    .option("--home <folder>", "where sessions are kept (default: RETINUE_HOME, or ~/.retinue)");
}

function addSessionCommands(program: Command, context: CliContext): void {
  const sessions = program.command("sessions").description("list, show, draw and delete stored sessions");
  const load = () => import("./sessions.ts");
  common(sessions.command("list").description("the sessions, last used first"))
    .option("--all", "all of them")
    .option("--limit <n>", "at most this many", "20")
    .action(async (given) => (await load()).listSessions(ListFlags.parse(given), context));
  common(sessions.command("show").description("print the conversation of a session"))
    .argument("<session>", "the beginning of its id")
    .action(async (id: string, given) => (await load()).showSession(id, CommonFlags.parse(given), context));
  common(sessions.command("tree").description("draw the agents of a session, with times and usage"))
    .argument("<session>", "the beginning of its id")
    .action(async (id: string, given) => (await load()).drawTree(id, CommonFlags.parse(given), context));
  common(sessions.command("delete").description("delete sessions with everything that belongs to them"))
    .argument("<session...>", "the beginning of each id")
    .option("-y, --yes", "do not ask")
    .action(async (ids: string[], given) => (await load()).deleteSessions(ids, DeleteFlags.parse(given), context));
}

function common(command: Command): Command {
  return command
    .option("--home <folder>", "where sessions are kept (default: RETINUE_HOME, or ~/.retinue)")
    .option("--json", "print JSON");
}

const collect = (value: string, all: string[] = []): string[] => [...all, value];

function unknownCommand(program: Command, word: string): UsageError {
  const names = program.commands.map((command) => command.name());
  const meant = nearest(word, names);
  const hint = meant ? `Did you mean "retinue ${meant}"?` : `There are: ${names.join(", ")}; a prompt goes after -p.`;
  return new UsageError(`there is no command ${word}. ${hint}`);
}

function errorLine(text: string): string {
  return text
    .trim()
    .replace(/^error: /, "retinue: ")
    .replaceAll(/\s*\n\s*/g, " ");
}

function noteOldNode(terminal: Terminal): void {
  if (!terminal.isScreen || !process.version.startsWith("v20.")) return;
  terminal.note(`Node 20 is past its end of life: it gets no more security fixes. Node 22 or newer is better.`);
}
