/** Work given to sub-agents: some at the same time, one in the background that is read, gets one more message, and is read again. */
import type { Conversation, DoneCall } from "./conversation.ts";
import type { Intent } from "./intent.ts";
import { answer, calls, type Move, type PlannedCall, resultsOf } from "./move.ts";
import { agentTypes } from "./named.ts";
import notice from "./notice.md";
import { turnsOf } from "./report.ts";

interface Errand {
  name: string;
  description: string;
  prompt: string;
}

const FOLLOW_UP = "How many *.md files are there?";
const MAX_READS = 6;

export function delegate({ agents, rest }: { agents: number; rest: Intent }, conversation: Conversation): Move {
  const { done, tool } = conversation;
  const started = resultsOf(done, "task");
  if (started.length === 0) return start(errandsFor(rest).slice(0, agents), conversation);
  const background = started.find((call) => call.args.mode === "background" && !call.failed);
  const id = background && agentId(background.text);
  if (id && tool("read_agent")) {
    const next = followBackground(id, conversation);
    if (next) return next;
  }
  return report(started, done);
}

function start(errands: readonly Errand[], { tool }: Conversation): Move {
  const type = agentType(tool("task")?.parameters);
  const canRead = tool("read_agent") !== undefined;
  const planned = errands.map((errand, at): PlannedCall => {
    const isBackground = canRead && errands.length > 1 && at === errands.length - 1;
    return { name: "task", args: { ...errand, agent_type: type, mode: isBackground ? "background" : "sync" } };
  });
  return calls(`I give this to ${planned.length} ${type} agents.`, ...planned);
}

function errandsFor(rest: Intent): Errand[] {
  const general: Errand[] = [
    {
      name: "layout",
      description: "Layout of the project",
      prompt: "Explore this project and say what its parts are.",
    },
    { name: "readme", description: "What the README says", prompt: "Read README.md and explain it." },
    { name: "to-dos", description: "Open ends in the code", prompt: 'Search for "TODO" in the files.' },
    { name: "manifest", description: "Manifest of the project", prompt: "Show package.json." },
    { name: "listing", description: "Entries of the working folder", prompt: "List what is here." },
    { name: "size", description: "Number of files", prompt: "How many files are there?" },
  ];
  return [...special(rest), ...general];
}

function special(rest: Intent): Errand[] {
  switch (rest.type) {
    case "find":
      return [
        { name: "search", description: `Search for ${rest.term}`, prompt: `Search for "${rest.term}" in the files.` },
      ];
    case "read":
      return [{ name: "read", description: `Read ${rest.path}`, prompt: `Read ${rest.path} and explain it.` }];
    case "list":
    case "explore":
      return rest.folder === "."
        ? []
        : [{ name: "folder", description: `Explore ${rest.folder}`, prompt: `Explore the folder ${rest.folder}` }];
    default:
      return [];
  }
}

/** Looking around is what `explore` is for; where it is not offered, the first type that is. */
function agentType(parameters: Readonly<Record<string, unknown>> | undefined): string {
  const types = agentTypes(parameters);
  return types.includes("explore") ? "explore" : (types[0] ?? "explore");
}

function agentId(text: string): string | undefined {
  return /agent_id:?\s*"?([\w-]+)/.exec(text)?.[1];
}

/** Read until it is idle, send one more message, read until that is answered. */
function followBackground(id: string, { done, tool }: Conversation): Move | undefined {
  const readAgent = (more: object = {}): PlannedCall => ({
    name: "read_agent",
    args: { agent_id: id, wait: true, timeout: 30, ...more },
  });
  const written = done.findIndex((call) => call.name === "write_agent");
  const reads = resultsOf(written < 0 ? done : done.slice(written + 1), "read_agent");
  const last = reads.at(-1);
  if (!last) return calls("I wait for the one in the background.", readAgent(written < 0 ? {} : { since_turn: 1 }));
  if (last.failed || reads.length >= MAX_READS) return undefined;
  if (/status: running/.test(last.text))
    return calls("It is still at work.", readAgent(written < 0 ? {} : { since_turn: 1 }));
  if (written >= 0 || !tool("write_agent") || !/status: idle/.test(last.text)) return undefined;
  return calls("I have one more question for it.", { name: "write_agent", args: { agent_id: id, message: FOLLOW_UP } });
}

function report(started: readonly DoneCall[], done: readonly DoneCall[]): Move {
  const reads = resultsOf(done, "read_agent").filter((call) => !call.failed);
  const sections = started.map((call) => {
    const inBackground = call.args.mode === "background";
    const results =
      inBackground && reads.length > 0 ? reads.filter((read) => !/status: running/.test(read.text)) : [call];
    const texts = results.map((result) => turnsOf(result.text, notice.trim()));
    const title = `### ${call.args.description ?? call.args.name}${inBackground ? " (in the background)" : ""}`;
    return `${title}\n\n${call.failed ? "This one failed: " : ""}${[...new Set(texts)].join("\n\n")}`;
  });
  return answer(`${started.length} sub-agents looked into it. They report:`, ...sections);
}
