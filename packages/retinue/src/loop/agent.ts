/**
 * What the loop works with: one agent at work in one session, the main agent or a sub-agent.
 *
 * An Agent is put together by the server (main agent) or by an executor (sub-agents); the loop only uses it. Every limit that must
 * hold on every path is reached through here.
 */
import type { PermissionRequest } from "@retinue/protocol";
import type { Hooks } from "../hooks/hooks.ts";
import type { ModelChoice } from "../models/catalog.ts";
import type { Asks } from "../permissions/asks.ts";
import type { Rules } from "../permissions/rules.ts";
import type { Session } from "../session/session.ts";
import type { CallContext, CallServices, Tool } from "../tools/tool.ts";
import type { Slot } from "./slot.ts";

export interface Agent {
  readonly session: Session;
  /** Names from the main agent's child down to this one; empty for the main agent. */
  readonly path: readonly string[];
  /** The agent definition's name; undefined for the main agent. */
  readonly name: string | undefined;
  readonly hooks: Hooks;
  readonly rules: Rules;
  readonly asks: Asks;
  readonly slot: Slot;
  readonly settings: AgentSettings;

  model(): ModelChoice;
  /** The tools that this agent may call now. The array is the same object while the list is unchanged. */
  tools(): Promise<Toolset>;
  systemPrompt(toolset: Toolset): Promise<string>;
  services(callId: string, signal: AbortSignal): CallServices;
  /** What happens to an ask when it is made now: somebody can answer, nobody can, or it is to wait. */
  answering(request: PermissionRequest): Answering;
  transcriptPath(): Promise<string>;
  /** Asks the hooks whether the agent may stop; the reason when one of them sends it on. */
  mayStop(response: string, options: { isAgain: boolean; signal: AbortSignal }): Promise<string | undefined>;
  /** A run begins. */
  beginRun?(): void;
  /** Called before each model call: throws to stop the run (budgets), may return words for the model. */
  beforeTurn?(): Promise<string | undefined>;
  /** Counts what a turn or a call has used. */
  used(amount: { tokens?: number; toolCalls?: number; cost?: number }): void;
  /** Whether work of this agent still runs beside the loop. */
  hasBackgroundWork(): boolean;
}

export type Answering = { type: "ask" } | { type: "deny"; reason: string };

export interface AgentSettings {
  streaming: boolean;
  /** Words that a call in plan mode gets when it would write outside the session's folder. */
  maxOutputBytes: number;
  outputFolder: string;
  compaction: { enabled: boolean; startAt: number; dropAt: number };
  reasoningSummary?: string;
  /** How many turns one prompt may take. */
  maxTurns: number;
  includeDeltas: boolean;
}

export interface Toolset {
  readonly tools: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

export function toolset(tools: readonly Tool[]): Toolset {
  return { tools, byName: new Map(tools.map((tool) => [tool.name, tool])) };
}

export function callContext(agent: Agent, callId: string, signal: AbortSignal): CallContext {
  const { session } = agent;
  return {
    sessionId: session.id,
    callId,
    workingDirectory: session.place.workingDirectory,
    sessionFolder: session.place.folder,
    tempFolder: agent.settings.outputFolder,
    signal,
    mode: session.root.state.mode,
    partialOutput: (partialOutput) =>
      session.announce("tool.execution_partial_result", { toolCallId: callId, partialOutput }),
    announce: (type, data) => session.log.append(type, data as never, { sessionId: session.id, ephemeral: true }),
    services: agent.services(callId, signal),
  };
}
