/** A server that wants to ask a model: the request goes to the session, and the limits of running calls are paused meanwhile. */
import type { Client, CreateMessageRequestParams, CreateMessageResult } from "@modelcontextprotocol/client";
import { askedInCall } from "./asked-in-call.ts";
import type { ActiveCall, CallRef } from "./call-failed.ts";

export interface SamplingRequest {
  server: string;
  system?: string;
  messages: readonly { role: "user" | "assistant"; text: string }[];
  maxTokens: number;
  /** The call that it belongs to. Absent when several calls run at the server, or none. */
  call?: CallRef;
}

export interface Sampled {
  model: string;
  text: string;
  isCut: boolean;
}

/** Throws when nobody allows it, with words for the server. */
export type Sample = (request: SamplingRequest, options: { signal: AbortSignal }) => Promise<Sampled>;

export function serveSampling(
  client: Client,
  { server, sample, active }: { server: string; sample: Sample; active: ReadonlySet<ActiveCall> },
): void {
  client.setRequestHandler("sampling/createMessage", async ({ params }, context): Promise<CreateMessageResult> => {
    return await askedInCall(active, context.mcpReq, ({ call, signal }) =>
      sampled(params, (request) => sample({ ...request, server, call }, { signal })),
    );
  });
}

/** The answer in the server's words. */
export async function sampled(
  params: CreateMessageRequestParams,
  sample: (request: Omit<SamplingRequest, "server" | "call">) => Promise<Sampled>,
): Promise<CreateMessageResult> {
  const { model, text, isCut } = await sample(requestOf(params));
  return { role: "assistant", model, content: { type: "text", text }, stopReason: isCut ? "maxTokens" : "endTurn" };
}

function requestOf(params: CreateMessageRequestParams): Omit<SamplingRequest, "server" | "call"> {
  const { systemPrompt: system, messages, maxTokens } = params;
  return { system, messages: messages.map(({ role, content }) => ({ role, text: textOf(content) })), maxTokens };
}

type Content = CreateMessageRequestParams["messages"][number]["content"];

/** Text alone: what else a server sends could not be shown to the person who is asked. */
function textOf(content: Content): string {
  return [content]
    .flat()
    .map((block) => {
      if (block.type !== "text") throw new Error(`only text can be sampled, not ${block.type}`);
      return block.text;
    })
    .join("\n");
}
