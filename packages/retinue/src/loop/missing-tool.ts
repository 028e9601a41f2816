/**
 * A host tool that no attached client has registered any more, for a call that was asked about before a restart.
 *
 * Owns the rule that such a call waits for the answers that it has asked for, and is never told that its tool does not exist. The host
 * is not asked anew: a tool that is missing may also have been forbidden meanwhile.
 */
import type { OpenCall } from "../session/state.ts";
import { wasNotRun } from "../session/wording.ts";
import { hostTool } from "../tools/host-tool.ts";
import { failure, type Tool } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import { callHost } from "./host-call.ts";

/** Undefined when the log has no ask of the host about this call. */
export function missingHostTool(agent: Agent, { name, external, permission }: OpenCall): Tool | undefined {
  if (!external && permission?.request.kind !== "custom-tool") return undefined;
  const spec = { name, skipPermission: external !== undefined };
  return hostTool(spec, async (args, context) =>
    external
      ? await callHost(agent, { name, args }, context)
      : failure(wasNotRun(name), { error: "nobody has the tool" }),
  );
}
