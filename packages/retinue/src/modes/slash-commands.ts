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
import { selectAgent } from "../host/select-agent.ts";
import { moveTo, rename } from "../host/workspace-record.ts";
import type { Mode } from "../session/state.ts";
import { existingFolder } from "../workspace/folders.ts";
import { type CommandCall, command, completed, prompting, report, type SlashCommand, shown, typed } from "./command.ts";
import { fleetCommand } from "./fleet.ts";
import { research } from "./research.ts";
import { reviewing } from "./review.ts";
import {
  agentsReport,
  contextReport,
  directoriesReport,
  serversReport,
  sessionReport,
  sessionsReport,
  skillsReport,
  tasksReport,
  usageReport,
} from "./slash-reports.ts";
import initWords from "./words/init.md";
import reviewWords from "./words/review.md";
import securityWords from "./words/security-review.md";
import subconsciousWords from "./words/subconscious.md";

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
  command("agent", "List the agents, take one on, or be the default agent again", { hint: "an agent | none" }, agent),
  report("agents", "List the agents", ({ target }) => agentsReport(target)),
  command(
    "allow-all",
    "Approve every request, or ask again",
    { hint: "on | off | show", aliases: ["yolo"], duringWork: true },
    allowAll,
  ),
  command(
    "autopilot",
    "Let the agent work until the task is done; without a word it switches",
    { hint: "on | off | a task", aliases: ["goal"], duringWork: true },
    autopilot,
  ),
  command("clear", "Start over without the conversation", { hint: "a first prompt" }, async ({ target, input, sent }) =>
    completed(`Cleared ${await clearContext(target, { ...sent, prompt: input })} messages`),
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
  report("context", "Show what fills the model's context", ({ target }) => contextReport(target)),
  command(
    "cwd",
    "Show or change the working folder",
    { hint: "a folder", aliases: ["cd"] },
    async ({ target, input }) =>
      input === ""
        ? shown(target.session.place.workingDirectory)
        : completed(`Working in ${await moveTo(target, input)}`),
  ),
  command(
    "fleet",
    "Split work over several sub-agents, with --worktree in a git worktree each",
    { hint: "--worktree, the work" },
    fleetCommand,
  ),
  report("help", "List the commands", ({ all }) => helpText(all())),
  prompting("init", "Write an AGENTS.md for this project", {
    hint: "what to mind",
    words: initWords,
    joined: "\n\nAlso: ",
  }),
  report("list-dirs", "List the allowed folders", ({ target }) => directoriesReport(target)),
  report("mcp", "List the MCP servers", ({ target }) => serversReport(target)),
  command("model", "Show or change the model", { hint: "a model", aliases: ["models"], duringWork: true }, model),
  command("plan", "Plan before acting", { hint: "what to plan", duringWork: true }, plan),
  command("rename", "Name the session", { hint: "a name", required: true, duringWork: true }, ({ target, input }) => {
    rename(target, input, { byUser: true });
    return completed(`The session is called ${input}`);
  }),
  command(
    "research",
    "Let researchers look into a question, and write a report",
    { hint: "a question", required: true },
    research,
  ),
  command(
    "reset-allowed-tools",
    "Forget approvals of this session",
    { duringWork: true },
    async ({ target, input }) => {
      if (input !== "") throw new AppError("invalid_params", `/reset-allowed-tools takes no words, not "${input}"`);
      await target.tree.rules.answers.reset();
      return completed("Approvals of this session are forgotten");
    },
  ),
  command(
    "review",
    "Review the changes, or those of a range of commits",
    { hint: "a range such as main..HEAD, what to look at" },
    reviewing("review", reviewWords),
  ),
  command(
    "security-review",
    "Look for security problems in the changes, or in those of a range of commits",
    { hint: "a range such as main..HEAD, what to look at" },
    reviewing("security-review", securityWords),
  ),
  report("session", "Show the session", ({ target }) => sessionReport(target)),
  report("sessions", "List the sessions of this folder", ({ target }) => sessionsReport(target)),
  report("skills", "List the skills", ({ target }) => skillsReport(target)),
  command(
    "subconscious",
    "Consolidate what this session has learned into the context board",
    { hint: "run", required: true },
    subconscious,
  ),
  report("tasks", "List running and finished work", ({ target }) => tasksReport(target)),
  report("usage", "Show what was used", ({ target }) => usageReport(target)),
];

export const slashCommandInfos = (): CommandInfo[] => COMMANDS.map(({ info }) => info);

export function findSlashCommand(name: string): SlashCommand | undefined {
  return COMMANDS.find(({ info }) => info.name === name || info.aliases?.includes(name));
}

function helpText(commands: readonly CommandInfo[]): string {
  const shown = ({ hint, required = false }: NonNullable<CommandInfo["input"]>) => {
    if (/^[[<]/.test(hint)) return hint; // Files often have brackets already.
    return required ? `<${hint}>` : `[${hint}]`;
  };
  return commands
    .map(({ name, input, description }) => `/${name}${input ? ` ${shown(input)}` : ""}: ${description}`)
    .join("\n");
}

/** A word that is not understood must not end up as a yes to everything. */
function allowAll({ target, input }: CommandCall): CommandOutcome {
  const { rules } = target.tree;
  const word = input.toLowerCase();
  if (!["", "on", "off", "show"].includes(word))
    throw new AppError("invalid_params", `/allow-all takes on, off or show, not "${input}"`);
  if (word !== "show") rules.change({ approveAll: word !== "off" });
  return shown(rules.policy.approveAll ? "Every request is approved." : "Requests need an answer.");
}

function autopilot({ target, input }: CommandCall): CommandOutcome {
  const isOn = input === "" ? target.session.state.mode !== "autopilot" : input.toLowerCase() !== "off";
  const mode: Mode = isOn ? "autopilot" : "interactive";
  changeMode(target, mode);
  if (/^(?:on|off)?$/i.test(input)) return completed(`The mode is ${mode}`, mode);
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

function agent({ target, input }: CommandCall): CommandOutcome {
  const { session, main } = target;
  if (input === "") return shown(agentsReport(target));
  if (/^(?:none|off|default)$/i.test(input)) {
    session.append("subagent.deselected", {});
    main.kit.takeOnServers().catch(() => undefined); // Leaves those of the agent; the next prompt tries again.
    return completed("The default agent answers");
  }
  return completed(`The agent ${selectAgent(target, input).name} answers`);
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
