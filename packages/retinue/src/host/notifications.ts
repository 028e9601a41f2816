/**
 * The notification hook: a person is needed, or work in the background has ended.
 *
 * Nobody waits for it. What still runs when the session closes is stopped.
 */
import { visible } from "@retinue/protocol";
import * as z from "zod";
import type { HookCaller, Hooks } from "../hooks/hooks.ts";
import type { LoggedEvent } from "../session/log.ts";

export interface NotificationsOptions {
  hooks: Hooks;
  /** The agent that an event is about; the main agent when it names none. */
  callerOf(agentId: string | undefined): HookCaller;
}

interface Notification {
  message: string;
  title: string;
  notification_type: string;
}

const TITLES: Readonly<Record<string, string>> = {
  agent_completed: "Agent ended",
  agent_idle: "Agent answered",
  shell_completed: "Shell ended",
  shell_detached_completed: "Shell ended",
};

export class Notifications {
  readonly #options: NotificationsOptions;
  readonly #closing = new AbortController();

  constructor(options: NotificationsOptions) {
    this.#options = options;
  }

  follow(events: readonly LoggedEvent[]): void {
    const { hooks, callerOf } = this.#options;
    if (hooks.isEmpty) return;
    for (const { type, data, agentId } of events) {
      const notification = notificationOf(type, data);
      if (!notification || this.#closing.signal.aborted) continue;
      const caller = callerOf(agentId ?? asked(data));
      // It is for notice only, and what goes wrong with it is on record.
      hooks.run("notification", notification, { caller, signal: this.#closing.signal }).catch(() => undefined);
    }
  }

  close(): void {
    this.#closing.abort();
  }
}

function notificationOf(type: LoggedEvent["type"], data: object): Notification | undefined {
  if (type === "permission.requested")
    return needed("permission_prompt", "Permission needed", "An agent asks for a permission");
  if (QUESTIONS.has(type)) return needed("elicitation_dialog", "Question", "An agent has a question");
  if (type !== "system.notification") return undefined;
  const { content, kind } = z.object({ content: z.string(), kind: z.object({ type: z.string() }) }).parse(data);
  const title = TITLES[kind.type];
  return title === undefined ? undefined : needed(kind.type, title, visible(content.slice(0, 2000)));
}

const QUESTIONS: ReadonlySet<string> = new Set(["elicitation.requested", "sampling.requested", "user_input.requested"]);

const needed = (notification_type: string, title: string, message: string): Notification => ({
  notification_type,
  title,
  message,
});

/** Asks name their agent inside. */
function asked(data: object): string | undefined {
  const { data: found } = z.object({ agentId: z.string() }).safeParse(data);
  return found?.agentId;
}
