/** The first prompt of a sub-agent, with what goes before it: context from hooks, skills, the inherit block. */
import { callerOf } from "../../loop/calls.ts";
import { invoked, skillContext } from "../../skills/skill.ts";
import type { TreeParts } from "../../tree/parts.ts";
import type { AgentRecord } from "../record.ts";
import type { Child } from "./open-child.ts";
import { withSchema } from "./typed-result.ts";

/** The inherit block of a new sub-agent. */
export type InheritBlock = (record: AgentRecord) => Promise<string | undefined>;

/** A hook does not let the sub-agent start. */
export class SpawnRefused extends Error {
  override readonly name = "SpawnRefused";

  constructor(reason = "it gave no reason") {
    super(`A subagentStart hook refused this agent: ${reason}`);
  }
}

/** Throws `SpawnRefused`. */
export async function firstPrompt(
  record: AgentRecord,
  child: Child,
  { parts, inherit, signal }: { parts: TreeParts; inherit: InheritBlock; signal: AbortSignal },
): Promise<string> {
  const { session } = child;
  const { configuration } = parts;
  const hookWords = await startHooks(child, { parts, signal });
  const skills = configuration.skills.preload(configuration.agents.get(record.agentType)).map((skill) => {
    session.append("skill.invoked", invoked(skill, "context-load"));
    return skillContext(skill);
  });
  await session.log.recorded({ signal }); // The inherit block is read from the store, and must include the parent's current turn.
  const inherited = await inherit(record);
  return [hookWords, ...skills, inherited, withSchema(record.prompt, record)].filter(Boolean).join("\n\n");
}

async function startHooks(
  { agent }: Child,
  { parts: { hooks }, signal }: { parts: TreeParts; signal: AbortSignal },
): Promise<string | undefined> {
  if (hooks.isEmpty) return undefined;
  const output = await hooks.run("subagentStart", {}, { caller: callerOf(agent), signal });
  if (output?.decision === "block") throw new SpawnRefused(output.reason);
  return output?.additionalContext;
}
