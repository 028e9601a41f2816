/** The tools of a session. */
import { AppError, type Result, type ToolMetadata } from "@retinue/protocol";
import { checkConfig } from "../../host/config-check.ts";
import { runTool } from "../../host/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";
import { type Handlers, hosted } from "../handler.ts";

export const toolHandlers: Handlers = {
  // Null until the list was built once, because listing tools must not start MCP servers.
  "session.tools.getCurrentMetadata": async (params, scope) => {
    const { main } = hosted(params, scope);
    return { tools: main.kit.isMade ? (await main.kit.tools()).tools.map(metadataOf) : null };
  },
  "session.tools.set": async (params, scope) => {
    const { tree, main } = hosted(params, scope);
    const participant = tree.participants.of(scope.client);
    if (!participant)
      throw new AppError("session_invalid", "Only a client that has joined the session can give it tools");
    const { tools } = params;
    checkConfig({ tools });
    const before = participant.config;
    participant.config = { ...before, tools };
    try {
      if (main.kit.isMade) await main.kit.tools();
    } catch (error) {
      participant.config = before;
      throw error;
    }
    tree.asks.redeliver();
    return {};
  },
  "session.tools.initializeAndValidate": async (params, scope) => {
    await hosted(params, scope).main.kit.tools();
    return {};
  },
  "session.tools.execute": async (params, scope) => {
    const target = hosted(params, scope);
    const { name, arguments: args = {}, toolCallId: callId = target.session.world.newId() } = params;
    return await runTool(target, { name, args, callId, signal: scope.signal });
  },
  "session.tools.getBuiltinDescriptors": (params, scope) => {
    const { tree } = hosted(params, scope);
    return { tools: tree.toolbox.builtin().map(descriptorOf) };
  },
  "session.tools.updateSubagentSettings": (params, scope) => {
    hosted(params, scope).tree.configuration.setSubagents(params.subagents ?? {});
    return {};
  },
};

function metadataOf({ name, description, parameters, mcp }: Tool): ToolMetadata {
  return {
    name,
    ...(mcp ? { namespacedName: `${mcp.server}/${mcp.tool}`, mcpServerName: mcp.server, mcpToolName: mcp.tool } : {}),
    description,
    input_schema: { ...parameters },
  };
}

function descriptorOf(tool: Tool): Result<"session.tools.getBuiltinDescriptors">["tools"][number] {
  return {
    name: tool.name,
    title: tool.title ?? null,
    description: tool.description,
    inputSchema: { ...tool.parameters },
    instructions: tool.instructions ?? null,
    type: "function",
    format: null,
    safeForTelemetry: true,
    isTerminal: tool.isTerminal ?? false,
    hasSummariseIntention: false,
  };
}
