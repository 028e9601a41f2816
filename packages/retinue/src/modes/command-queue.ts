/**
 * Slash commands that wait for the session to be idle. They run one after the other, after the waiting prompts.
 *
 * Kept only in memory: a person has just typed the command, so it need not survive a restart.
 */
import { messageOf, type QueueItem } from "@retinue/protocol";
import { ask } from "../asks/ask.ts";
import type { HostedSession } from "../host/hosted-session.ts";
import { handOver, type Message } from "./hand-over.ts";
import { findCommand, runCommand } from "./run-command.ts";

interface Waiting {
  id: string;
  command: string;
  displayText: string;
  /** What it was sent with: its prompt goes with that. */
  message?: Message;
}

const bySession = new WeakMap<HostedSession, CommandQueue>();

export function commandQueue(target: HostedSession): CommandQueue {
  const known = bySession.get(target) ?? new CommandQueue(target);
  bySession.set(target, known);
  return known;
}

export class CommandQueue {
  readonly #target: HostedSession;
  #waiting: Waiting[] = [];
  #isDraining = false;

  constructor(target: HostedSession) {
    this.#target = target;
  }

  get items(): QueueItem[] {
    const { mode } = this.#target.session.state;
    return this.#waiting.map(({ id, displayText, message }) => ({
      id,
      kind: "command",
      displayText,
      agentMode: message?.agentMode ?? mode,
    }));
  }

  add(
    command: string,
    { displayText = command, message }: Partial<Pick<Waiting, "displayText" | "message">> = {},
  ): void {
    this.#waiting.push({ id: this.#target.session.world.newId(), command, displayText, message });
    this.#announceChange();
    void this.#drain();
  }

  remove(id: string): boolean {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter((each) => each.id !== id);
    return this.#waiting.length < before;
  }

  removeLast(): boolean {
    return this.#waiting.pop() !== undefined;
  }

  clear(): void {
    this.#waiting = [];
  }

  async #drain(): Promise<void> {
    if (this.#isDraining) return;
    this.#isDraining = true;
    try {
      for (let next = await this.#next(); next; next = await this.#next()) {
        if (!(await this.#run(next))) this.clear();
      }
    } finally {
      this.#isDraining = false;
    }
    // One may have come after the last look at the queue and before this.
    if (this.#waiting.length > 0 && !this.#target.isClosing) await this.#drain();
  }

  async #next(): Promise<Waiting | undefined> {
    const { runner } = this.#target;
    while (runner.isRunning) await runner.ended();
    if (this.#target.isClosing) return undefined;
    const next = this.#waiting.shift();
    if (next) this.#announceChange();
    return next;
  }

  /** False when the client that handled it wants no more commands to run. */
  async #run({ command, displayText, message }: Waiting): Promise<boolean> {
    const { session } = this.#target;
    const [, name = "", input = ""] = /^\/?(\S*)\s*([\s\S]*)$/.exec(command.trim()) ?? [];
    const { signal } = new AbortController(); // No caller can cancel it: it ends by itself, or with the session.
    try {
      if (!findCommand(this.#target.tree, name)) return await this.#offer(command, signal);
      const outcome = await runCommand(name, { target: this.#target, input, signal, sent: message });
      await handOver(this.#target, outcome, message);
    } catch (error) {
      session.append("session.warning", { warningType: "command", message: `${displayText}: ${messageOf(error)}` });
    }
    return true;
  }

  /** Offers an unknown command to clients that have registered for queued commands. */
  async #offer(command: string, signal: AbortSignal): Promise<boolean> {
    if (!this.#target.tree.participants.all.some(({ wants }) => wants("command.queued")))
      throw new Error("no such command");
    const { handled, stopProcessingQueue, error } = await ask(this.#target.main, "queued_command", {
      payload: { command },
      signal,
    });
    if (error !== undefined) throw new Error(error);
    if (!handled) throw new Error("nobody handled it");
    return stopProcessingQueue !== true;
  }

  #announceChange(): void {
    const { session } = this.#target;
    session.announce("pending_messages.modified", {});
  }
}
