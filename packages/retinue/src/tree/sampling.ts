/**
 * MCP servers that ask the session's model: only after somebody has agreed, to one request or to all of that server in this session.
 *
 * A client may also answer by itself. Where nobody can be asked the answer is no, unless every request is approved. A server that rules deny
 * is not asked about.
 */
import type { CreateMessageRequestParams, CreateMessageResult } from "@modelcontextprotocol/client";
import { AppError, visible } from "@retinue/protocol";
import { type Asker, ask } from "../asks/ask.ts";
import type { Answer } from "../asks/kinds.ts";
import type { Agent } from "../loop/agent.ts";
import type { Sample, SamplingRequest } from "../mcp/sampling.ts";
import { canAnswer } from "./client-requests.ts";
import type { Participants } from "./participants.ts";
import { checkSampling, sampleModel } from "./sample-model.ts";

export interface SamplerOptions {
  /** The agent of a session of the tree; the main agent when the session is unknown. */
  agentOf(sessionId: string | undefined): Agent & Asker;
  participants: Pick<Participants, "all">;
}

const MAX_SHOWN = 1000;

export function sampler({ agentOf, participants }: SamplerOptions): Sample {
  /** Servers that need not be asked about any more. */
  const allowed = new Set<string>();
  const decide = async (
    agent: Agent & Asker,
    { server: serverName, mcpRequestId, params, call }: SamplingRequest,
    { signal }: { signal: AbortSignal },
  ): Promise<Answer<"sampling">> => {
    if (allowed.has(serverName) || agent.permissions.rules.policy.approveAll) return { allow: "once" };
    const message = words(agent, serverName, params);
    const payload = { serverName, mcpRequestId, request: { ...params }, message };
    if (!participants.all.some((each) => canAnswer("sampling", each, payload))) return { isRefused: true };
    return await ask(agent, "sampling", { payload, callId: call?.callId, signal });
  };
  return async (request, { signal }) => {
    const agent = agentOf(request.call?.sessionId);
    if (isDenied(agent, request)) throw refused(DENIED);
    // A program may have a model that can be asked more.
    if (!participants.all.some(({ wants }) => wants("sampling.requested"))) checkSampling(agent, request.params);
    const answer = await decide(agent, request, { signal });
    if ("isRefused" in answer) throw refused("the user did not agree");
    if ("response" in answer) return await readResponse(answer.response);
    if (answer.allow === "session") allowed.add(request.server);
    return await sampleModel(agent, request.params, { signal });
  };
}

export const DENIED = "a rule of the session denies this server";

export function isDenied(
  { permissions, session }: Agent,
  { server, call }: Pick<SamplingRequest, "server" | "call">,
): boolean {
  const toolName = `${server}-sampling`;
  const request = {
    kind: "mcp" as const,
    toolCallId: call?.callId,
    serverName: server,
    toolName,
    toolTitle: "sampling",
    args: {},
    readOnly: false,
  };
  const { workingDirectory, confinement } = session.place;
  return permissions.rules.decide(request, { workingDirectory, confinement }).type === "deny";
}

/** What a client answered by itself. */
async function readResponse(response: unknown): Promise<CreateMessageResult> {
  const { isSpecType } = await import("@modelcontextprotocol/client");
  if (isSpecType.CreateMessageResult(response)) return response;
  throw refused("the program that answered gave something that is no answer of a model");
}

function words(
  agent: Agent,
  server: string,
  { systemPrompt, messages, maxTokens }: CreateMessageRequestParams,
): string {
  const said = messages.map(({ role, content }) => `${role}: ${[content].flat().map(shownBlock).join("\n")}`);
  const whole = visible([...(systemPrompt ? [`system: ${systemPrompt}`] : []), ...said].join("\n"));
  const shown = whole.length > MAX_SHOWN ? `${whole.slice(0, MAX_SHOWN)}… (${whole.length} characters in all)` : whole;
  return `The MCP server ${visible(server)} wants to ask ${agent.model().id}, at your cost, for an answer of at most ${maxTokens} tokens:\n\n${shown}`;
}

function shownBlock(block: { type: string; text?: unknown; data?: unknown; mimeType?: unknown }): string {
  if (typeof block.text === "string") return block.text;
  const size = typeof block.data === "string" ? `, ${Buffer.byteLength(block.data, "base64")} bytes` : "";
  return `[${block.type}: ${String(block.mimeType ?? "?")}${size}]`;
}

const refused = (why: string): AppError => new AppError("cancelled", `Sampling was refused: ${why}.`);
