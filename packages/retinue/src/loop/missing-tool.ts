/**
 * Calls whose tool is not there: of a name that was never offered, and of a tool that the session has no more since a restart.
 *
 * Owns the rule that a call from before a restart waits for the answers that it has asked for, and is never told that its tool does not exist. Nothing
 * else is asked for: a tool that is missing may also have been forbidden meanwhile.
 */
import type { OpenCall } from "../session/open-call.ts";
import { wasNotRun } from "../session/wording.ts";
import { askUserFormTool, askUserTool } from "../tools/builtin/ask-user.ts";
import { hostTool } from "../tools/host-tool.ts";
import { failure, type Outcome, type Tool } from "../tools/tool.ts";
import type { Agent, Toolset } from "./agent.ts";
import { callHost } from "./host-call.ts";

/** Undefined when the call waits for nothing, or its tool is there. */
export function awaitedTool(agent: Agent, call: OpenCall, { byName }: Toolset): Tool | undefined {
  const place = { sessionId: agent.session.id, callId: call.id };
  // Which of its two forms the tool has depends on the clients of today.
  if (agent.asks.expected("question", place)) return askUserTool();
  if (agent.asks.expected("elicitation", place)) return askUserFormTool();
  return byName.has(call.name) ? undefined : missingHostTool(agent, call);
}

function missingHostTool(agent: Agent, { name, external, permission }: OpenCall): Tool | undefined {
  if (!external && permission?.request.kind !== "custom-tool") return undefined;
  const spec = { name, skipPermission: external !== undefined };
  return hostTool(spec, async (args, context) =>
    external
      ? await callHost(agent, { name, args }, context)
      : failure(wasNotRun(name), { error: "nobody has the tool" }),
  );
}

/** For a call of a name that the agent was not offered. */
export function unknownTool(name: string, { tools }: Toolset): Outcome {
  const error = `Tool '${name}' does not exist.`;
  const names = tools.map((tool) => tool.name).join(", ");
  return failure(`${error} Available tools: ${names || "none"}.`, { error });
}
