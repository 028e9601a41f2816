/**
 * What the client keeps for one of its sessions: the host's handlers, and the requests that run in them.
 *
 * Owns nothing but the record; requests.ts and broadcast.ts work on it.
 */
import type { SessionEvent } from "@retinue/protocol";
import type { ParentSession } from "./children.ts";
import type { EventHub } from "./event-hub.ts";
import { LiveTree } from "./live-tree.ts";
import { type TokenProviders, tokenProvidersOf } from "./providers.ts";
import type { CommandDefinition } from "./questions.ts";
import { Received } from "./reconnect.ts";
import { allowlistOf, type SessionConfigBase } from "./session-config.ts";
import { StoreOutage } from "./store-outage.ts";
import { type SectionTransforms, transformsOf } from "./system-message.ts";
import type { AnyTool } from "./tools.ts";

/** Cancels a task that the host registered. */
export type CancelTask = (reason: "cancel_requested" | "session_shutdown") => void | Promise<void>;

/** Whether the main agent has something to do, according to the events. */
export class Activity {
  #isBusy = false;

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** The runtime says that a session which was joined has something to do. */
  join(isActive: boolean): void {
    this.#isBusy ||= isActive;
  }

  follow({ type, agentId }: SessionEvent): void {
    if (agentId !== undefined) return;
    if (type === "user.message" || type === "assistant.turn_start") this.#isBusy = true;
    if (type === "session.idle") this.#isBusy = false;
  }
}

export interface Attached extends ParentSession {
  readonly config: SessionConfigBase;
  readonly hub: EventHub;
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly commands: ReadonlyMap<string, CommandDefinition>;
  readonly transforms: SectionTransforms;
  readonly tokens: TokenProviders;
  readonly activity: Activity;
  readonly tree: LiveTree;
  readonly outage: StoreOutage;
  /** Which stored events were received; live ones wait here while missed ones are read. */
  readonly received: Received;
  /** A client that joins late has missed the start of sub-agents that still run. */
  readonly isResumed: boolean;
  /** Host tools that run now, by request. */
  readonly running: Map<string, AbortController>;
  /** Requests that were taken already: some runtimes send one twice. */
  readonly taken: Set<string>;
  /** How to cancel the host's own tasks, by `clientTaskId`. */
  readonly cancels: Map<string, CancelTask>;
  /** Who made a call, a sub-agent or the session itself, for runtimes whose asks name only the call. */
  readonly callers: Map<string, string>;
}

export function attach(
  sessionId: string,
  config: SessionConfigBase,
  { hub, isResumed }: { hub: EventHub; isResumed: boolean },
): Attached {
  const tree = new LiveTree();
  hub.listen((event) => tree.follow(event));
  return {
    sessionId,
    isResumed,
    activity: new Activity(),
    tree,
    outage: new StoreOutage(),
    received: new Received(),
    config,
    hub,
    allowlists: new Map(config.customAgents?.map((agent) => [agent.name, allowlistOf(agent)])),
    tools: new Map(config.tools?.map((tool) => [tool.name, tool])),
    commands: new Map(config.commands?.map((command) => [command.name, command])),
    transforms: transformsOf(config.systemMessage),
    tokens: tokenProvidersOf(config),
    running: new Map(),
    taken: new Set(),
    cancels: new Map(),
    callers: new Map(),
  };
}

const TAKEN_KEPT = 1_000;

/** True the first time a request is seen. */
export function take({ taken }: Attached, requestId: string): boolean {
  if (taken.has(requestId)) return false;
  taken.add(requestId);
  const [oldest] = taken;
  if (taken.size > TAKEN_KEPT && oldest !== undefined) taken.delete(oldest);
  return true;
}

/** Stops what runs for a session that is left. */
export function release({ running, hub }: Attached, error?: Error): void {
  for (const controller of running.values()) controller.abort();
  running.clear();
  hub.close(error);
}
