/**
 * What the loop works with: one agent at work in one session, the main agent or a sub-agent.
 *
 * tree/ puts it together; the loop only uses it. Every limit that must hold on every path is reached through this interface.
 */
import type { PermissionRequest } from "@retinue/protocol";
import type { Asker } from "../asks/ask.ts";
import type { Hooks } from "../hooks/hooks.ts";
import type { ModelChoice } from "../models/catalog.ts";
import type { Rates } from "../models/price.ts";
import { whyLeaves } from "../permissions/confinement.ts";
import type { Rules } from "../permissions/rules.ts";
import { modeNow } from "../session/mode-now.ts";
import type { CallContext, CallServices, Tool } from "../tools/tool.ts";
import type { AgentGates } from "./gates.ts";
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
  readonly gates: AgentGates;
  model(): ModelChoice;
}

export interface AgentPermissions {
  readonly rules: Rules;
  /** Whether a permission can be asked for now, or is denied. */
  answering(request: PermissionRequest): Answering;
}

/** What an agent is offered. */
export interface Kit {
  /** What the agent is for, in words. Absent for a main agent that has none. */
  readonly definition: { readonly displayName: string; readonly description: string } | undefined;
  /** The tools that this agent may call now. The array stays the same object while the list is unchanged. */
  tools(options?: KitOptions): Promise<Toolset>;
  systemPrompt(toolset: Toolset, options?: KitOptions): Promise<string>;
  services(callId: string, signal: AbortSignal): CallServices;
  /** What the model is told beside a prompt of the user. */
  aboutPrompt?(prompt: string): string | undefined;
  /** What the model is told besides the result of a call that succeeded. */
  aboutCall?(call: { name: string; args: unknown }): readonly string[];
}

/** A server that does not start and a client that does not answer hold nobody who has been stopped. */
export interface KitOptions {
  signal?: AbortSignal;
}

/** What an agent may use. */
export interface RunBudget {
  /** Called when a run begins with a prompt of its own. */
  begin(): void;
  /** Called when a run has ended: gives back what was kept for its last turn. */
  end(): void;
  /**
   * Called before each turn. Waits while other agents hold what they may give back, and throws when the turn cannot fit. The need is
   * worked out only when something is limited.
   */
  reserveTurn(need: () => RequestNeed, options: { signal: AbortSignal }): Promise<RequestLease>;
  /** The same for a request that is no turn, such as a summary. */
  reserveRequest(need: () => RequestNeed, options: { signal: AbortSignal }): Promise<RequestLease>;
  /** Called before each call, in the order of the calls: counts it, or says in words why it may not run. */
  reserveCall(): string | undefined;
  /** What the whole session tree has been billed so far. */
  billed(): number;
  /** No further turn would fit. */
  readonly isUsedUp: boolean;
}

/** What a model request may take, before it is sent. */
export interface RequestNeed {
  /** An estimate. */
  inputTokens: number;
  /** The longest answer of the model, when it is known. */
  maxOutputTokens: number | undefined;
  rates: Rates;
}

/** A request that fits. It is settled once, whatever came of it. */
export interface RequestLease {
  /** For the model, when little is left. */
  words?: string;
  /** The turn to wrap up: no call follows it. */
  isLast: boolean;
  /** How long the answer may get, when a limit says so. */
  maxOutputTokens: number | undefined;
  /** What the prompt may cost without any answer; undefined where nothing is limited. */
  prompt: Used | undefined;
  /** Without a usage: nothing came back. */
  settle(used?: Used): void;
  /**
   * The endpoint has not said what the request used: counts what it may charge, and returns that; undefined where nothing is limited.
   * `billed` is what is on the bill all the same.
   */
  assume(came: { outputTokens: number; billed?: number }): Used | undefined;
  /** Reserves for another attempt, after the first was counted. It may get less room, or be the last one. */
  again(options: { signal: AbortSignal }): Promise<RequestLease>;
}

export interface Used {
  inputTokens: number;
  outputTokens: number;
  nanoAiu: number;
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
    mode: modeNow(session),
    partialOutput: (partialOutput) =>
      session.announce("tool.execution_partial_result", { toolCallId: callId, partialOutput }),
    announce: (type, data) => session.log.append(type, data as never, { sessionId: session.id, ephemeral: true }),
    services: agent.kit.services(callId, signal),
    rules: {
      unreadable: () => agent.permissions.rules.unreadable(session.place.confinement),
      judge: (request) =>
        whyLeaves(request, session.place) === undefined
          ? agent.permissions.rules.decide(request, { confinement: session.place.confinement }).type
          : "deny",
    },
  };
}
