/**
 * MCP servers that ask the session's model: only after a person has agreed, to one request or to all of that server in this session.
 *
 * Where nobody can be asked the answer is no, unless every request is approved. A server that rules deny is not asked about.
 */
import { AppError, visible } from "@retinue/protocol";
import type { Agent } from "../loop/agent.ts";
import { sideRequest } from "../loop/side-request.ts";
import type { Sample, SamplingRequest } from "../mcp/sampling.ts";

type Form = {
  message: string;
  requestedSchema: Record<string, unknown>;
  source?: string;
  callId?: string;
  signal: AbortSignal;
};

/** How a server's question gets to a person. */
export interface ServerAsks {
  /** The agent of a session of the tree; the main agent when the session is unknown. */
  agentOf(sessionId: string | undefined): Agent;
  elicit(
    agent: Agent,
    form: Form,
  ): Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }>;
}

const MAX_SHOWN = 1000;

export function sampler({ agentOf, elicit }: ServerAsks): Sample {
  /** Servers that need not be asked about any more. */
  const allowed = new Set<string>();
  return async (request, { signal }) => {
    const agent = agentOf(request.call?.sessionId);
    if (isDenied(agent, request)) throw refused("a rule of the session denies this server");
    if (!allowed.has(request.server) && !agent.permissions.rules.policy.approveAll) {
      const { action, content } = await elicit(agent, {
        message: words(agent, request),
        requestedSchema: FORM,
        source: request.server,
        callId: request.call?.callId,
        signal,
      });
      if (action !== "accept") throw refused("the user did not agree");
      if (content?.allow === "session") allowed.add(request.server);
    }
    return await sideRequest(agent, {
      system: request.system ?? "",
      messages: request.messages.map(({ role, text }) =>
        role === "user" ? { role, content: text } : { role, text, calls: [] },
      ),
      maxOutputTokens: request.maxTokens,
      signal,
    });
  };
}

const FORM = {
  type: "object",
  properties: {
    allow: {
      type: "string",
      title: "Allow",
      enum: ["once", "session"],
      enumNames: ["this request", "all of this server in this session"],
      default: "once",
    },
  },
};

function isDenied({ permissions, session }: Agent, { server, call }: SamplingRequest): boolean {
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

function words(agent: Agent, { server, system, messages, maxTokens }: SamplingRequest): string {
  const text = [...(system ? [`system: ${system}`] : []), ...messages.map((each) => `${each.role}: ${each.text}`)];
  const whole = visible(text.join("\n"));
  const shown = whole.length > MAX_SHOWN ? `${whole.slice(0, MAX_SHOWN)}… (${whole.length} characters in all)` : whole;
  return `The MCP server ${visible(server)} wants to ask ${agent.model().id}, at your cost, for an answer of at most ${maxTokens} tokens:\n\n${shown}`;
}

const refused = (why: string): AppError => new AppError("cancelled", `Sampling was refused: ${why}.`);
