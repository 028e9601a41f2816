/**
 * A program or a person at the other end of a runtime: what it saw, what it was asked, and what it did.
 *
 * Owns the record of that, and the asks that are held back. How it is connected and how it answers is up to its kinds: law-client.ts and
 * protocol-2-client.ts speak the protocol themselves, sdk-host.ts is written with our SDK.
 */

import { PATIENCE_MS } from "../support/patience.ts";
import type { LawEvent, LawTask } from "./law-event.ts";

/**
 * Programs that answer everything and have host tools and hooks: `sdk` speaks protocol 3 as the official SDK does, `protocol 2` the
 * version before, and `our SDK` is written with packages/sdk. `terminal` answers permissions and questions; `nobody` only watches.
 */
export type Attached = "sdk" | "protocol 2" | "our SDK" | "terminal" | "nobody";

/** Whether it has host tools and hooks. */
export const isProgram = (attached: Attached): boolean => attached !== "terminal" && attached !== "nobody";

export interface HookCall {
  hookType: string;
  input: Record<string, unknown>;
}

export interface LawHostOptions {
  attached: Attached;
  /** Asks that are not answered until `release`. */
  holds?: (ask: LawEvent) => boolean;
  onHook?: (call: HookCall) => unknown;
  onEvent?: (event: LawEvent) => void;
}

export abstract class LawHost {
  readonly attached: Attached;
  readonly events: LawEvent[] = [];
  /** Permissions and host tools that it was asked for, as often as it was asked. */
  readonly offers: LawEvent[] = [];
  /** How often each host call ran here, by call. */
  readonly hostRuns = new Map<string, number>();
  /** Asks whose answer the runtime has acknowledged, where the protocol acknowledges answers. */
  readonly acknowledged = new Set<string>();
  readonly hooks: HookCall[] = [];
  readonly questions: string[] = [];
  /** What it could not tell anybody else. */
  readonly problems: string[] = [];
  readonly #holds: (ask: LawEvent) => boolean;
  readonly #onHook: NonNullable<LawHostOptions["onHook"]>;
  readonly #onEventSeen: NonNullable<LawHostOptions["onEvent"]>;
  readonly #held: { ask: LawEvent; go: () => Promise<void> }[] = [];
  readonly #waiters = new Set<() => void>();
  #isReleased = false;

  constructor({ attached, holds = () => false, onHook = () => undefined, onEvent = () => undefined }: LawHostOptions) {
    this.attached = attached;
    this.#holds = holds;
    this.#onHook = onHook;
    this.#onEventSeen = onEvent;
  }

  /** Opens the connection in the way of its protocol. */
  abstract greet(): Promise<void>;
  /** Resolves with the id of the new session. */
  abstract create(config: object): Promise<string>;
  /** Goes on with a session, its pending work included. */
  abstract resume(sessionId: string, config: object): Promise<void>;
  abstract call<T = unknown>(method: string, params?: object): Promise<T>;
  /** Answers the asks that a session was left with and that nobody offers it: once, right after it was resumed. */
  abstract answerOpen(sessionId: string): Promise<void>;
  /** The connection breaks. */
  abstract vanish(): void;
  protected abstract get isGone(): boolean;

  /** The first event of those already seen or still to come. */
  async until(
    type: string,
    passes: (event: LawEvent) => boolean = () => true,
    { after = 0 }: { after?: number } = {},
  ): Promise<LawEvent> {
    const find = () => this.events.slice(after).find((event) => event.type === type && passes(event));
    await this.when(() => find() !== undefined, type);
    const found = find();
    if (!found) throw new Error(`no ${type}`);
    return found;
  }

  async when(isTrue: () => boolean, what: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new Error(`waited for ${what}; the last events were ${this.#lastEvents()}`));
      }, PATIENCE_MS);
      const look = () => {
        const isThere = isTrue();
        if (!isThere && !this.isGone) return;
        this.#waiters.delete(look);
        clearTimeout(timer);
        if (isThere) resolve();
        else reject(new Error(`the connection ended before ${what}`));
      };
      this.#waiters.add(look);
      look();
    });
  }

  /** Answers what was held back, and holds nothing from now on. */
  async release(): Promise<void> {
    this.#isReleased = true;
    await Promise.all(this.#held.splice(0).map(({ go }) => go()));
  }

  get held(): readonly LawEvent[] {
    return this.#held.map(({ ask }) => ask);
  }

  /** Resolves when the session that was just resumed has nothing more to do. */
  async atRest(sessionId: string): Promise<void> {
    const { hasActiveWork } = await this.call<{ hasActiveWork: boolean }>("session.metadata.activity", { sessionId });
    if (hasActiveWork) await this.until("session.idle");
  }

  async tasks(sessionId: string): Promise<LawTask[]> {
    return (await this.call<{ tasks: LawTask[] }>("session.tasks.list", { sessionId })).tasks;
  }

  protected wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  protected saw(event: LawEvent): void {
    this.events.push(event);
    this.#onEventSeen(event);
  }

  /** Notes that it is asked. When that is held back, `go` is called on release. */
  protected holdsBack(ask: LawEvent, go: () => Promise<void>): boolean {
    this.offers.push(ask);
    const isHeld = !this.#isReleased && this.#holds(ask);
    if (isHeld) this.#held.push({ ask, go });
    this.wake();
    return isHeld;
  }

  /** Resolves at once, or on release when the ask is held back. */
  protected mayAnswer(ask: LawEvent): Promise<void> {
    return new Promise((resolve) => {
      if (!this.holdsBack(ask, async () => resolve())) resolve();
    });
  }

  protected ran(toolCallId: string): void {
    this.hostRuns.set(toolCallId, (this.hostRuns.get(toolCallId) ?? 0) + 1);
  }

  protected async onHook(call: HookCall): Promise<unknown> {
    this.hooks.push(call);
    this.wake();
    return await this.#onHook(call);
  }

  #lastEvents(): string {
    return this.events
      .slice(-12)
      .map(({ type, agentId }) => `${type}${agentId ? "@" : ""}`)
      .join(" ");
  }
}

const WHAT = { type: "object", properties: { what: { type: "string" } } };

/** Both run in the host; the first asks nobody. */
export const HOST_TOOLS = [
  { name: "probe", description: "Does something in the host.", parameters: WHAT, skipPermission: true },
  { name: "guarded_probe", description: "The same, with permission.", parameters: WHAT },
];

export const hostResult = (what: unknown): string => `host did ${typeof what === "string" ? what : "it"}`;
