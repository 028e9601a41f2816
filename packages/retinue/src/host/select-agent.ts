/**
 * Lets the main agent take on an agent: its prompt, tools and limits, its model, its servers and its skills.
 *
 * What the definition names and what is not there is refused where a program gave it, and a warning where a file did.
 */
import { AppError, visible } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import { unknownTools } from "../agents/effective-tools.ts";
import { modelOfSelected } from "../agents/model-policy.ts";
import { invoked } from "../skills/skill.ts";
import { availableModels, modelNamed } from "../tree/available-models.ts";
import type { HostedSession } from "./hosted-session.ts";
import { switchModel } from "./model-switch.ts";

/** Throws, and changes nothing, for an agent that cannot be selected. */
export function selectAgent(target: HostedSession, wanted: string): AgentDefinition {
  const { tree, session } = target;
  const { agents, skills } = tree.configuration;
  const definition = agents.getSelectable(wanted);
  const { name, displayName, tools } = definition;
  if (session.state.selectedAgent === name) return definition;
  const mistakes = mistakesIn(target, definition);
  if (definition.source === "sdk" && mistakes.length > 0) throw new AppError("invalid_params", mistakes.join(". "));
  for (const words of mistakes) warn(target, words);
  const model = wantedModel(target, definition);
  session.append("subagent.selected", {
    agentName: name,
    agentDisplayName: displayName,
    tools: tools ? [...tools] : null,
  });
  takeOnModel(target, definition, model);
  for (const skill of skills.preload(definition)) session.append("skill.invoked", invoked(skill, "context-load"));
  warnOfServerTools(target, definition).catch(() => undefined); // The next prompt tries again, and says what is wrong.
  return definition;
}

/** The default agent is active again, on the model that the session had before. */
export function deselectAgent(target: HostedSession): void {
  target.session.append("subagent.deselected", {});
  giveBackModel(target);
}

function wantedModel({ tree, main, session }: HostedSession, agent: AgentDefinition): string | undefined {
  const { configuration } = tree;
  const own = session.state.modelBefore?.model ?? main.model().id;
  const { model, missing } = modelOfSelected({
    agent,
    session: { model: own, known: modelNamed(own, configuration) },
    ...availableModels(configuration),
  });
  if (missing !== undefined) {
    const message = `The model ${missing} of the agent ${agent.name} is not available here, so ${own} is used.`;
    session.announce("session.warning", { warningType: "agent_model", message });
  }
  return model;
}

/** A model that somebody chooses later replaces it, and stays when the agent goes. */
function takeOnModel(target: HostedSession, { reasoningEffort }: AgentDefinition, model: string | undefined): void {
  if (model === undefined) giveBackModel(target);
  else if (model !== target.session.state.model)
    switchModel(target, { model, reasoningEffort, source: "agent", cause: "agent_selected" });
}

function giveBackModel(target: HostedSession): void {
  const before = target.session.state.modelBefore;
  if (before) switchModel(target, { ...before, source: "agent", cause: "agent_deselected" });
}

/** For a session that is opened again: the agent that the main agent has taken on brings its servers. */
export function startSelected({ session, main }: HostedSession): void {
  if (session.state.selectedAgent !== undefined) main.kit.takeOnServers().catch(() => undefined); // The next prompt tries again.
}

/** For a session of an earlier process. */
export function warnOfAbsent(target: HostedSession): void {
  const { selectedAgent } = target.session.state;
  if (selectedAgent === undefined || target.tree.configuration.agents.find(selectedAgent)) return;
  const why = "its file is gone or broken, or its folder is not read";
  warnGone(target, `The agent ${visible(selectedAgent)} is not there: ${why}. So the session has no tools; ${LEAVE}.`);
}

/** One whose file has gone, or cannot be used any more. */
export function warnOfLoss(target: HostedSession, name: string): void {
  const goesOn = "The session goes on with the agent as it was";
  warnGone(target, `The file of the agent ${visible(name)} is gone or broken. ${goesOn}; ${LEAVE}.`);
}

function warnGone({ session }: HostedSession, message: string): void {
  session.announce("session.warning", { warningType: "agent_gone", message });
}

const LEAVE = "to leave it: /agent none, or session.agent.deselect";

/** For one whose file has changed since it was taken on. */
export function warnOfMistakes(target: HostedSession, definition: AgentDefinition): void {
  for (const words of mistakesIn(target, definition)) warn(target, words);
}

function mistakesIn(target: HostedSession, definition: AgentDefinition): string[] {
  const { skills } = target.tree.configuration;
  return [skills.unknownOf(definition), mistakenTools(target, definition)].filter((words) => words !== undefined);
}

/** Without tools of servers, which are called `<server>-<tool>` and not known before these have started. */
function mistakenTools({ tree, main }: HostedSession, definition: AgentDefinition): string | undefined {
  const tools = definition.tools?.filter((name) => !isOfServer(name)) ?? null;
  return unknownTools(tree.toolbox.all({ agent: main, definition, mcp: undefined }), { ...definition, tools });
}

async function warnOfServerTools(target: HostedSession, definition: AgentDefinition): Promise<void> {
  const { main } = target;
  await main.kit.takeOnServers();
  const tools = definition.tools?.filter(isOfServer) ?? [];
  const words = tools.length > 0 ? unknownTools(await main.kit.all(), { ...definition, tools }) : undefined;
  if (words !== undefined && main.kit.definition === definition) warn(target, words);
}

const isOfServer = (name: string): boolean => /^(?!builtin:|custom:).*[-/]/.test(name);

function warn({ session }: HostedSession, words: string): void {
  session.announce("session.warning", { warningType: "agent_file", message: `${words}. It works without.` });
}
