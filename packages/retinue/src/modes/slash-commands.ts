/**
 * The slash commands of the runtime, as data: what each is called, what it takes, what it does.
 *
 * A command acts on the session, shows a text, or returns a prompt for the client to send. Commands of clients and skills are in
 * run-command.ts.
 */
import { AppError, type CommandInfo, type CommandOutcome } from "@retinue/protocol";
import type { HostedSession } from "../host/hosted-session.ts";
import { compactNow } from "../host/manual-compaction.ts";
import { setMode } from "../host/mode.ts";
import { checkModel, switchModel } from "../host/model-switch.ts";
import { clearContext } from "../host/rewind.ts";
import { moveTo, rename } from "../host/workspace-record.ts";
import type { Mode } from "../session/state.ts";
import { existingFolder } from "../workspace/folders.ts";
import {
  agentsReport,
  directoriesReport,
  serversReport,
  sessionReport,
  skillsReport,
  tasksReport,
  usageReport,
} from "./slash-reports.ts";
import { fleetPrompt, fleetTitle } from "./start-fleet.ts";
import initWords from "./words/init.md";
import researchWords from "./words/research.md";
import reviewWords from "./words/review.md";
import securityWords from "./words/security-review.md";
import subconsciousWords from "./words/subconscious.md";

export interface CommandCall {
  target: HostedSession;
  input: string;
  signal: AbortSignal;
}

export interface SlashCommand {
  info: CommandInfo;
  run(call: CommandCall): CommandOutcome | Promise<CommandOutcome>;
}

const shown = (text: string): CommandOutcome => ({ kind: "text", text });
const completed = (message: string, mode?: Mode): CommandOutcome => ({
  kind: "completed",
  message,
  ...(mode ? { mode } : {}),
});

/** A command that only reads, so it may run while the agent works. */
function report(
  name: string,
  description: string,
  textOf: (target: HostedSession) => string | Promise<string>,
): SlashCommand {
  return {
    info: { name, description, kind: "builtin", allowDuringAgentExecution: true },
    run: async ({ target }) => shown(await textOf(target)),
  };
}

interface Takes {
  hint: string;
  required?: boolean;
  aliases?: string[];
  duringWork?: boolean;
}

function command(
  name: string,
  description: string,
  { hint, required, aliases, duringWork = false }: Takes,
  run: SlashCommand["run"],
): SlashCommand {
  const input = { hint, ...(required ? { required } : {}) };
  const info: CommandInfo = {
    name,
    ...(aliases ? { aliases } : {}),
    description,
    kind: "builtin",
    input,
    allowDuringAgentExecution: duringWork,
  };
  return {
    info,
    run: (call) => {
      if (required && call.input === "") throw new AppError("invalid_params", `/${name} needs ${hint}`);
      return run(call);
    },
  };
}

/** A command that returns a prepared prompt; the input replaces `{{request}}`. */
function prompting(name: string, description: string, takes: Takes & { words: string; joined?: string }): SlashCommand {
  const { words, joined = "", ...rest } = takes;
  return command(name, description, rest, ({ input }) => ({
    kind: "agent-prompt",
    prompt: words.trim().replace("{{request}}", () => (input === "" ? "" : `${joined}${input}`)),
    displayPrompt: typed(name, input),
  }));
}

const COMMANDS: readonly SlashCommand[] = [
  command(
    "add-dir",
    "Allow another folder",
    { hint: "a folder", required: true, duringWork: true },
    ({ target, input }) => {
      const folder = existingFolder(target.session, input);
      target.tree.rules.places.add(folder);
      return completed(`Added ${folder}`);
    },
  ),
  report("agents", "List the agents", agentsReport),
  command(
    "allow-all",
    "Approve every request, or ask again",
    { hint: "on | off | show", aliases: ["yolo"], duringWork: true },
    allowAll,
  ),
  command(
    "autopilot",
    "Let the agent work until the task is done",
    { hint: "on | off | a task", aliases: ["goal"], duringWork: true },
    autopilot,
  ),
  command("clear", "Start over without the conversation", { hint: "a first prompt" }, async ({ target, input }) =>
    completed(`Cleared ${await clearContext(target, input)} messages`),
  ),
  command(
    "compact",
    "Replace the conversation by a summary",
    { hint: "what to keep" },
    async ({ target, input, signal }) => {
      const { messagesRemoved, tokensRemoved } = await compactNow(target, {
        customInstructions: input || undefined,
        signal,
      });
      return completed(`Compacted: ${messagesRemoved} messages and about ${tokensRemoved} tokens less`);
    },
  ),
  command(
    "cwd",
    "Show or change the working folder",
    { hint: "a folder", aliases: ["cd"] },
    async ({ target, input }) =>
      input === ""
        ? shown(target.session.place.workingDirectory)
        : completed(`Working in ${await moveTo(target, input)}`),
  ),
  command("fleet", "Split work over several sub-agents", { hint: "the work" }, ({ input }) => ({
    kind: "agent-prompt",
    prompt: fleetPrompt(input),
    displayPrompt: fleetTitle(input),
  })),
  report("help", "List the commands", () => helpText()),
  prompting("init", "Write an AGENTS.md for this project", {
    hint: "what to mind",
    words: initWords,
    joined: "\n\nAlso: ",
  }),
  report("list-dirs", "List the allowed folders", directoriesReport),
  report("mcp", "List the MCP servers", serversReport),
  command("model", "Show or change the model", { hint: "a model", aliases: ["models"], duringWork: true }, model),
  command("plan", "Plan before acting", { hint: "what to plan", duringWork: true }, plan),
  command("rename", "Name the session", { hint: "a name", required: true, duringWork: true }, ({ target, input }) => {
    rename(target, input, { byUser: true });
    return completed(`The session is called ${input}`);
  }),
  prompting("research", "Look into a question thoroughly", {
    hint: "a question",
    required: true,
    words: researchWords,
  }),
  command(
    "reset-allowed-tools",
    "Forget approvals of this session",
    { hint: "nothing", duringWork: true },
    async ({ target }) => {
      await target.tree.rules.answers.reset();
      return completed("Approvals of this session are forgotten");
    },
  ),
  prompting("review", "Review the changes", {
    hint: "what to look at",
    words: reviewWords,
    joined: ". Look especially at: ",
  }),
  prompting("security-review", "Look for security problems in the changes", {
    hint: "what to look at",
    words: securityWords,
    joined: ". Look especially at: ",
  }),
  report("session", "Show the session", sessionReport),
  report("skills", "List the skills", skillsReport),
  command(
    "subconscious",
    "Consolidate what this session has learned into the context board",
    { hint: "run", required: true },
    subconscious,
  ),
  report("tasks", "List running and finished work", tasksReport),
  report("usage", "Show what was used", usageReport),
];

export const slashCommandInfos = (): CommandInfo[] => COMMANDS.map(({ info }) => info);

export function findSlashCommand(name: string): SlashCommand | undefined {
  return COMMANDS.find(({ info }) => info.name === name || info.aliases?.includes(name));
}

export const typed = (name: string, input: string): string => (input === "" ? `/${name}` : `/${name} ${input}`);

function helpText(): string {
  return COMMANDS.map(
    ({ info: { name, input, description } }) => `/${name}${input ? ` [${input.hint}]` : ""}: ${description}`,
  ).join("\n");
}

function allowAll({ target, input }: CommandCall): CommandOutcome {
  const { rules } = target.tree;
  if (input !== "show") rules.change({ approveAll: input !== "off" });
  return shown(rules.policy.approveAll ? "Every request is approved." : "Requests need an answer.");
}

function autopilot({ target, input }: CommandCall): CommandOutcome {
  const mode: Mode = input === "off" ? "interactive" : "autopilot";
  changeMode(target, mode);
  if (input === "" || input === "on" || input === "off") return completed(`The mode is ${mode}`, mode);
  return { kind: "agent-prompt", prompt: input, displayPrompt: input, mode };
}

function plan({ target, input }: CommandCall): CommandOutcome {
  changeMode(target, "plan");
  if (input === "") return completed("The mode is plan", "plan");
  return { kind: "agent-prompt", prompt: input, displayPrompt: input, mode: "plan" };
}

/** Why it is not possible now is said at once, and the model need not be asked. */
async function subconscious({ target, input }: CommandCall): Promise<CommandOutcome> {
  if (input !== "run") throw new AppError("invalid_params", `/subconscious takes run, not "${input}"`);
  const refusal = await target.tree.mayNotConsolidate();
  if (refusal !== undefined) return shown(refusal);
  return { kind: "agent-prompt", prompt: subconsciousWords.trim(), displayPrompt: typed("subconscious", input) };
}

function model({ target, input }: CommandCall): CommandOutcome {
  const before = target.main.model().id;
  if (input === "") return shown(`The model is ${before}`);
  checkModel(target.tree, input);
  switchModel(target, { model: input, source: "slash_command" });
  return completed(`Model changed from ${before} to ${input}`);
}

function changeMode({ session }: HostedSession, mode: Mode): void {
  setMode(session, mode);
}
