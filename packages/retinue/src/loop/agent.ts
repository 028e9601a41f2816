/**
 * What the loop works with: one agent at work in one session, the main agent or a sub-agent.
 *
 * tree/ puts it together; the loop only uses it. Every limit that must hold on every path is reached through this interface.
 */
import type { PermissionRequest } from "@retinue/protocol";
import type { Asker } from "../asks/ask.ts";
import type { Hooks } from "../hooks/hooks.ts";
import type { ModelChoice } from "../models/catalog.ts";
import type { Rules } from "../permissions/rules.ts";
import type { CallContext, CallServices, Tool } from "../tools/tool.ts";
import type { Slot } from "./slot.ts";

export interface Agent extends Asker {
  /** The agent definition's name; undefined for the main agent. */
  readonly name: string | undefined;
  readonly hooks: Hooks;
  readonly slot: Slot;
  readonly settings: AgentSettings;
  readonly permissions: AgentPermissions;
  readonly kit: Kit;
  readonly budget: RunBudget;
  model(): ModelChoice;
  /** Asks the hooks whether the agent may stop; returns the reason when one of them makes it go on. */
  mayStop(response: string, options: { isAgain: boolean; signal: AbortSignal }): Promise<string | undefined>;
}

export interface AgentPermissions {
  readonly rules: Rules;
  /** Whether a permission can be asked for now, or is denied. */
  answering(request: PermissionRequest): Answering;
}

/** What an agent is offered. */
export interface Kit {
  /** The tools that this agent may call now. The array stays the same object while the list is unchanged. */
  tools(options?: KitOptions): Promise<Toolset>;
  systemPrompt(toolset: Toolset, options?: KitOptions): Promise<string>;
  services(callId: string, signal: AbortSignal): CallServices;
}

/** A server that does not start and a client that does not answer hold nobody who has been stopped. */
export interface KitOptions {
  signal?: AbortSignal;
}

/** What an agent may use. */
export interface RunBudget {
  /** Called when a run begins. */
  begin(): void;
  /** Called before each model call: returns words for the model when little is left, and throws when nothing is. */
  beforeTurn(): string | undefined;
  /** Counts what a turn or a call has used. */
  add(used: { tokens?: number; toolCalls?: number; cost?: number }): void;
}

export type Answering = { type: "ask" } | { type: "deny"; reason: string };

export interface AgentSettings {
  streaming: boolean;
  /** Longer outputs of calls are cut. */
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
    services: agent.kit.services(callId, signal),
    rules: {
      unreadable: () => agent.permissions.rules.places.unreadable,
      judge: (request) => agent.permissions.rules.decide(request).type,
    },
  };
}
