/** The state of a session: its activity, its folder, how full its context is. */
import type { Result } from "@retinue/protocol";
import { changeClientMetadata, clientMetadata } from "../../host/client-metadata.ts";
import type { HostedSession } from "../../host/hosted-session.ts";
import { moveTo, recordContext, workspaceRecord } from "../../host/workspace-record.ts";
import { type ContextSize, contextSize, messageTokens, scaledFor, tokensOf } from "../../loop/context-size.ts";
import type { Message } from "../../models/provider.ts";
import { type CallScope, type Handlers, hosted } from "../handler.ts";

export const metadataHandlers: Handlers = {
  "session.metadata.snapshot": async (params, scope) => await snapshot(hosted(params, scope)),
  "session.metadata.isProcessing": (params, scope) => ({ processing: hosted(params, scope).runner.isRunning }),
  "session.metadata.activity": (params, scope) => {
    const { runner } = hosted(params, scope);
    const isActive = runner.isRunning || runner.owesIdle;
    return { abortable: isActive, hasActiveWork: isActive };
  },
  "session.metadata.getClientMetadata": async (params, scope) => await clientMetadata(hosted(params, scope)),
  "session.metadata.updateClientMetadata": async (params, scope) =>
    await changeClientMetadata(hosted(params, scope), params),
  "session.metadata.setWorkingDirectory": async (params, scope) => {
    const target = hosted(params, scope);
    const workingDirectory = await moveTo(target, params.workingDirectory);
    return { workingDirectory };
  },
  "session.metadata.recordContextChange": (params, scope) => {
    recordContext(hosted(params, scope), params.context);
    return {};
  },

  "session.metadata.contextInfo": async (params, scope) => {
    const measured = await measure(params, scope);
    if (!measured) return { contextInfo: null };
    const { size, mcpToolsTokens, modelName } = measured;
    const { systemTokens, conversationTokens, toolDefinitionsTokens } = size;
    const totalTokens = systemTokens + conversationTokens + toolDefinitionsTokens;
    const used = { modelName, systemTokens, conversationTokens, toolDefinitionsTokens, mcpToolsTokens, totalTokens };
    return { contextInfo: { ...used, ...limitsOf(measured, params) } };
  },
  "session.metadata.getContextAttribution": async (params, scope) => {
    const measured = await measure(params, scope);
    return { contextAttribution: measured ? attribution(measured) : null };
  },
  "session.metadata.getContextHeaviestMessages": (params, scope) => {
    const { session, main } = hosted(params, scope);
    const scaled = scaledFor(main);
    const messages = session.state.messages.map((message, index) => ({
      id: String(index),
      label: labelOf(message),
      role: message.role,
      tokens: scaled(messageTokens(message)),
    }));
    const heaviest = messages.toSorted((a, b) => b.tokens - a.tokens).slice(0, params.limit ?? 10);
    return { totalTokens: messages.reduce((sum, { tokens }) => sum + tokens, 0), messages: heaviest };
  },
  "session.metadata.recomputeContextTokens": async (params, scope) => {
    const measured = await measure(params, scope);
    if (!measured) return { totalTokens: 0, messagesTokenCount: 0, systemTokenCount: 0 };
    const { currentTokens, conversationTokens, systemTokens } = measured.size;
    return { totalTokens: currentTokens, messagesTokenCount: conversationTokens, systemTokenCount: systemTokens };
  },
};

async function snapshot(target: HostedSession): Promise<Result<"session.metadata.snapshot">> {
  const { session, store } = target;
  const { id } = session;
  const workspace = await workspaceRecord(target);
  const record = await store.sessions.get(id);
  return {
    sessionId: id,
    startTime: session.state.startTime ?? workspace?.created_at ?? "",
    modifiedTime: workspace?.updated_at ?? "",
    isRemote: false,
    alreadyInUse: false,
    workspacePath: session.place.folder,
    workingDirectory: session.place.workingDirectory,
    currentMode: session.state.mode,
    ...(session.state.model ? { selectedModel: session.state.model } : {}),
    ...(record?.clientName ? { clientName: record.clientName } : {}),
    ...(record?.summary ? { summary: record.summary } : {}),
    sessionLimits: null,
    workspace,
  };
}

interface Measured {
  size: ContextSize;
  modelName: string;
  mcpToolsTokens: number;
  customInstructionsTokens: number;
  checkpoints: number;
  compactAt: number;
  dropAt: number;
}

/** Undefined before the first prompt, when the context is empty. */
async function measure(params: { sessionId: string }, scope: CallScope): Promise<Measured | undefined> {
  const { session, tree, main } = hosted(params, scope);
  const { systemPrompt, model = "", checkpoints } = session.state;
  if (systemPrompt === undefined) return undefined;
  const toolset = await main.kit.tools();
  const scaled = scaledFor(main);
  const mcp = toolset.tools.filter(({ source }) => source === "mcp");
  return {
    size: contextSize(main, { system: systemPrompt, toolset }),
    modelName: model,
    mcpToolsTokens: scaled(
      mcp.reduce(
        (sum, { name, description, parameters }) => sum + tokensOf(JSON.stringify({ name, description, parameters })),
        0,
      ),
    ),
    customInstructionsTokens: scaled(tokensOf(tree.configuration.instructions.text(tree.rules.unreadable()) ?? "")),
    checkpoints,
    compactAt: tree.configuration.settings.compaction.startAt,
    dropAt: tree.configuration.settings.compaction.dropAt,
  };
}

function limitsOf(
  { size, compactAt, dropAt }: Measured,
  {
    promptTokenLimit = size.tokenLimit,
    outputTokenLimit = 0,
  }: { promptTokenLimit?: number; outputTokenLimit?: number } = {},
) {
  return {
    promptTokenLimit,
    compactionThreshold: Math.floor(promptTokenLimit * compactAt),
    limit: promptTokenLimit + outputTokenLimit,
    bufferTokens: Math.round(promptTokenLimit * (1 - dropAt)) + outputTokenLimit,
  };
}

function attribution(
  measured: Measured,
): NonNullable<Result<"session.metadata.getContextAttribution">["contextAttribution"]> {
  const { size, mcpToolsTokens, customInstructionsTokens, modelName, checkpoints } = measured;
  const limits = limitsOf(measured);
  const systemTools = Math.max(0, size.toolDefinitionsTokens - mcpToolsTokens);
  const filled = {
    systemPrompt: Math.max(0, size.systemTokens - customInstructionsTokens),
    customInstructions: customInstructionsTokens,
    systemTools,
    mcpTools: mcpToolsTokens,
    messages: size.conversationTokens,
  };
  const freeSpace = Math.max(0, limits.limit - size.currentTokens - limits.bufferTokens);
  return {
    totalTokens: size.currentTokens,
    modelId: modelName,
    modelSource: "session",
    ...limits,
    categories: { ...filled, freeSpace, buffer: limits.bufferTokens },
    entries: Object.entries(filled).map(([id, tokens]) => ({ kind: "category", id, label: LABELS[id] ?? id, tokens })),
    compactions: { count: checkpoints },
  };
}

const LABELS: Readonly<Record<string, string>> = {
  systemPrompt: "System prompt",
  customInstructions: "Instructions of the project",
  systemTools: "Built-in and host tools",
  mcpTools: "MCP tools",
  messages: "Conversation",
};

function labelOf(message: Message): string {
  const text =
    message.role === "user"
      ? textOf(message.content)
      : message.text || (message.role === "assistant" ? message.calls.map(({ name }) => name).join(", ") : "");
  const [line = ""] = text.trim().split("\n", 1);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

function textOf(content: Extract<Message, { role: "user" }>["content"]): string {
  return typeof content === "string"
    ? content
    : content.map((part) => (part.type === "text" ? part.text : "[image]")).join(" ");
}
