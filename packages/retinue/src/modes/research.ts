/**
 * `/research`: a prompt that makes the main agent lead researchers, and the terms that leave it nothing else to do.
 *
 * Owns where the report goes and what the leader may call. Who holds it to that is loop/prompt-limit.ts; how it leads is in words/research.md.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError, type CommandOutcome, type PromptTerms } from "@retinue/protocol";
import { ancestorsOfChild, effectiveTools } from "../agents/effective-tools.ts";
import type { HostedSession } from "../host/hosted-session.ts";
import { type CommandCall, typed } from "./command.ts";
import noNetworkWords from "./words/no-network.md";
import researchWords from "./words/research.md";

const AGENT = "research";
const MAX_AGENTS = 10;
const MAX_AT_ONCE = 5;

export async function research({ target, input }: CommandCall): Promise<CommandOutcome> {
  const { tools, isConnected } = await abilities(target);
  const missing = ["task", "create"].find((name) => !tools.has(name));
  if (missing)
    throw new AppError("invalid_params", `/research needs the tool ${missing}, which this session does not have`);
  const report = reportPath(target.session.place.folder, input);
  const parts = {
    "{{request}}": input,
    "{{report}}": report,
    "{{network}}": isConnected ? "" : `\n\n${noNetworkWords.trim()}`,
  };
  const prompt = researchWords.trim().replace(/\{\{\w+\}\}/g, (part) => parts[part as keyof typeof parts] ?? part);
  return {
    kind: "agent-prompt",
    prompt,
    displayPrompt: typed("research", input),
    terms: termsFor(target, report),
    ...(isConnected ? {} : { notice: "There is no tool for the network here, so the research uses what is in reach." }),
  };
}

function termsFor({ session, main }: HostedSession, report: string): PromptTerms {
  const { folder } = session.place;
  return {
    name: "/research",
    tools: [
      { name: "task", args: { agent_type: AGENT, mode: "sync" }, atMost: MAX_AGENTS, atOnce: MAX_AT_ONCE },
      { name: "create", within: [join(folder, "research")] },
      { name: "view", within: [folder, main.settings.outputFolder] },
      { name: "report_intent" },
    ],
    report,
  };
}

/** What the leader is offered, and whether a researcher could reach anything outside. */
async function abilities({ tree, main }: HostedSession): Promise<{ tools: ReadonlySet<string>; isConnected: boolean }> {
  const definition = tree.configuration.agents.find(AGENT);
  if (!definition)
    throw new AppError("invalid_params", `/research needs the agent ${AGENT}, which this session does not have`);
  const all = await main.kit.all();
  const limits = { ...main.kit.limits, terms: undefined };
  const below = { ...limits, isMainAgent: false, ancestors: ancestorsOfChild(limits), definition };
  const researcher = effectiveTools(all, below).allowed;
  return {
    tools: new Set(effectiveTools(all, limits).allowed.map(({ name }) => name)),
    isConnected: researcher.some(({ name, source }) => name === "web_fetch" || source === "mcp"),
  };
}

/** Named after the question, whatever its language; one that is there already is not overwritten. */
function reportPath(folder: string, question: string): string {
  const words = question
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  const name = [...words].slice(0, 40).join("").replace(/-$/, "") || "report";
  const path = (at: number) => join(folder, "research", `${name}${at === 1 ? "" : `-${at}`}.md`);
  let at = 1;
  while (existsSync(path(at))) at++;
  return path(at);
}
