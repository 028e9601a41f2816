/**
 * `retinue why <session> <agent> <tool>`: the rule that decides whether an agent may call a tool, and whether it would
 * have to ask. It runs the same two functions as the loop, over what the session's store knows.
 */
import { type PermissionRequest, visibleText } from "@retinue/protocol";
import { type Decision, decideTool } from "../agents/effective-tools.ts";
import { readLimits, type SessionLimits } from "../host/session-limits.ts";
import { planRefusal } from "../permissions/plan-mode.ts";
import type { Policy, Verdict } from "../permissions/policy.ts";
import { Rules } from "../permissions/rules.ts";
import { sessionFolder } from "../session/folder.ts";
import type { SessionRecord, Store } from "../store/store.ts";
import { addedFolders } from "./added-folders.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { sessionByPrefix } from "./session-id.ts";
import { allowRule, denyRule } from "./usable-rule.ts";
import { listWords, toolsOf } from "./why-list.ts";
import { nodeOf } from "./why-node.ts";
import { knownTools, requestFor, toolNamed } from "./why-tool.ts";

export interface WhyQuestion {
  session: string;
  agent: string;
  /** Undefined: all of them. */
  tool?: string;
  /** A command, a path, an address, or arguments as JSON. */
  input?: string;
}

interface WhyFlags extends CommonFlags {
  allowTool: readonly string[];
  denyTool: readonly string[];
  allowAllTools: boolean;
  addDir: readonly string[];
}

type GivenRules = Pick<WhyFlags, "allowAllTools" | "addDir"> & Pick<Policy, "approved" | "denied">;

/** Resolves with the exit code: 0 when the agent may call the tool, 1 when not. */
export async function runWhy(
  question: WhyQuestion,
  flags: WhyFlags,
  { terminal, env, cwd }: CliContext,
): Promise<number> {
  const given = {
    approved: flags.allowTool.map(allowRule),
    denied: flags.denyTool.map(denyRule),
    addDir: addedFolders(flags.addDir, cwd),
  };
  await using own = openOwnRuntime({ env, home: flags.home });
  const { store } = own.runtime.sessions;
  const { sessionId } = sessionByPrefix(await own.client.listSessions(), question.session);
  const record = await store.sessions.get(sessionId);
  if (!record) throw new Error(`The session ${sessionId} was deleted just now.`);
  const warn = (message: string) => terminal.note(message);
  const limits = await readLimits(store, sessionId);
  const rules = await rulesOf(store, record, { limits, flags: { ...flags, ...given }, warn });
  const { node, title, servers } = await nodeOf(question.agent, {
    store,
    record,
    limits,
    denied: rules.policy.denied,
    home: own.runtime.config.home,
    remote: own.runtime.sessions.shared.remoteAgents(),
    warn,
  });
  const sources = { limits, servers, events: await store.events.read(sessionId) };
  if (question.tool === undefined) {
    const found = await toolsOf(knownTools(sources), { node, rules, workingDirectory: record.cwd });
    if (flags.json) terminal.out(`${JSON.stringify({ agent: title, tools: found }, null, 2)}\n`);
    else terminal.out(visibleText(`${listWords(title, found)}${general(rules)}`));
    return 0;
  }
  const tool = toolNamed(question.tool, sources);
  const decision = decideTool(tool, node);
  const request = await requestFor(tool, question.input, record.cwd);
  const place = { sessionFolder: sessionFolder(own.runtime.config.home, sessionId) };
  const inPlan = request && node.planMode ? planRefusal(request, place) : undefined;
  const verdict =
    inPlan === undefined
      ? request && rules.decide(request, { workingDirectory: record.cwd })
      : { type: "deny" as const, rule: `plan mode: ${inPlan}`, rules: [] };
  if (flags.json)
    terminal.out(
      `${JSON.stringify({ agent: title, tool, decision, permission: verdict ?? null, request: request ?? null }, null, 2)}\n`,
    );
  else
    terminal.out(
      visibleText(words({ title, tool: tool.name, input: question.input, decision, request, verdict, rules })),
    );
  return decision.allowed && verdict?.type !== "deny" ? 0 : 1;
}

/** The rules as they were last, with what the flags add. */
async function rulesOf(
  { documents }: Store,
  record: SessionRecord,
  { limits: { policy }, flags, warn }: { limits: SessionLimits; flags: GivenRules; warn: (message: string) => void },
): Promise<Rules> {
  const place = { workingDirectory: record.cwd, locationKey: record.gitRoot };
  const rules = await Rules.load(place, { documents, warn, keep: () => undefined });
  rules.change({
    ...policy,
    approved: [...(policy?.approved ?? []), ...flags.approved],
    denied: [...(policy?.denied ?? []), ...flags.denied],
    ...(flags.allowAllTools ? { approveAll: true } : {}),
  });
  for (const folder of flags.addDir) rules.places.add(folder);
  return rules;
}

interface Answer {
  title: string;
  tool: string;
  input: string | undefined;
  decision: Decision;
  request: PermissionRequest | undefined;
  verdict: Verdict | undefined;
  rules: Rules;
}

function words({ title, tool, input, decision, request, verdict, rules }: Answer): string {
  const call = input === undefined ? tool : `${tool} ${input}`;
  if (!decision.allowed) return `${title} may not call ${tool}: ${decision.reason} (rule: ${decision.rule}).\n`;
  const may = `${title} may call ${tool}: ${decision.reason}.\n`;
  if (!request || !verdict) return `${may}It needs no permission.\n`;
  const permission = {
    allow: `${call} runs without asking: ${verdict.rule}.`,
    deny: `${call} is refused: ${verdict.rule}.`,
    ask: `${call} needs permission (${request.kind}), and somebody is asked: ${verdict.rule === "no rule" ? "no rule allows or denies it" : verdict.rule}.`,
  }[verdict.type];
  const more =
    input === undefined
      ? `${general(rules)}Name a command, path or address as a fourth argument to ask about one call.\n`
      : "";
  return `${may}${permission}\n${more}`;
}

function general({ policy: configured }: Rules): string {
  const list = (rules: typeof configured.approved) =>
    rules.map(({ kind, argument }) => (argument === null ? kind : `${kind}(${argument})`)).join(", ");
  const lines = [
    ...(configured.approved.length > 0 ? [`Allow rules: ${list(configured.approved)}`] : []),
    ...(configured.denied.length > 0 ? [`Deny rules: ${list(configured.denied)}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join("");
}
