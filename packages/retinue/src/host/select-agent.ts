/**
 * Lets the main agent take on an agent: its prompt, tools and limits, its servers and its skills.
 *
 * What the definition names and what is not there is refused where a program gave it, and a warning where a file did.
 */
import { AppError } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import { unknownTools } from "../agents/effective-tools.ts";
import { invoked } from "../skills/skill.ts";
import type { HostedSession } from "./hosted-session.ts";

/** Throws, and changes nothing, for an agent that cannot be selected. */
export function selectAgent(target: HostedSession, wanted: string): AgentDefinition {
  const { tree, session, main } = target;
  const { agents, skills } = tree.configuration;
  const definition = agents.getCustom(wanted);
  const { name, displayName, tools } = definition;
  if (session.state.selectedAgent === name) return definition;
  const mistakes = [skills.unknownOf(definition), mistakenTools(target, definition)].filter(
    (words) => words !== undefined,
  );
  if (definition.source === "sdk" && mistakes.length > 0) throw new AppError("invalid_params", mistakes.join(". "));
  for (const words of mistakes) warn(target, words);
  session.append("subagent.selected", {
    agentName: name,
    agentDisplayName: displayName,
    tools: tools ? [...tools] : null,
  });
  for (const skill of skills.preload(definition)) session.append("skill.invoked", invoked(skill, "context-load"));
  main.kit.takeOnServers().catch(() => undefined); // The next prompt tries again, and says what is wrong.
  return definition;
}

/** Tools of servers are not known before these have started; the next prompt does without what they do not have. */
function mistakenTools({ tree, main }: HostedSession, definition: AgentDefinition): string | undefined {
  if (tree.servers.hasOwn || Object.keys(definition.mcpServers).length > 0) return undefined;
  return unknownTools(tree.toolbox.all({ agent: main, definition, mcp: undefined }), definition);
}

function warn({ session }: HostedSession, words: string): void {
  session.announce("session.warning", { warningType: "agent_file", message: `${words}. It works without.` });
}
