/** One session in a test: the official SDK's session, its own model endpoint, and every event so far. */
import { approveAll, type CopilotSession, type SessionConfig, type SessionEvent } from "@github/copilot-sdk";
import type { Endpoint } from "./model-server.ts";
import { PATIENCE_MS } from "./patience.ts";
import { byok, type World } from "./runtime.ts";

type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;

/** Events about the machinery and not the conversation; their number and place differ between runtimes. */
const BOOKKEEPING = new Set<string>([
  "pending_messages.modified",
  "session.usage_info",
  "session.usage_checkpoint",
  "session.tools_updated",
  "session.skills_loaded",
  "session.mcp_servers_loaded",
  "session.title_changed",
  "session.managed_settings_resolved",
  "session.background_tasks_changed",
  "session.custom_agents_updated",
  "session.info",
  "assistant.usage",
  "assistant.intent",
  "assistant.streaming_delta",
  "subagent_session_boundary",
]);

const isBookkeeping = (type: string) => BOOKKEEPING.has(type) || /^(agent|model|sandbox)\./.test(type);

/** Every event that one client received of a session, and a way to wait for more. */
export class EventRecord {
  readonly events: SessionEvent[] = [];
  #waiters = new Set<() => void>();

  readonly push = (event: SessionEvent): void => {
    this.events.push(event);
    for (const wake of [...this.#waiters]) wake();
  };

  all<T extends SessionEvent["type"]>(type: T): EventOf<T>[] {
    return this.events.filter((event): event is EventOf<T> => event.type === type);
  }

  one<T extends SessionEvent["type"]>(type: T): EventOf<T> {
    const [first] = this.all(type);
    if (!first) throw new Error(`no ${type} among ${this.events.map((event) => event.type).join(", ")}`);
    return first;
  }

  /** The types of the conversation in order, without bookkeeping. */
  story(from = 0): string[] {
    return this.events
      .slice(from)
      .map((event) => event.type)
      .filter((type) => !isBookkeeping(type));
  }

  /** The first event of this type that passes, among those already seen or still to come. */
  async until<T extends SessionEvent["type"]>(
    type: T,
    { passes = () => true, from = 0 }: { passes?: (event: EventOf<T>) => boolean; from?: number } = {},
  ): Promise<EventOf<T>> {
    const find = () =>
      this.events.slice(from).find((event): event is EventOf<T> => event.type === type && passes(event as EventOf<T>));
    return this.#wait(find, type);
  }

  /** Resolves when this many events of the type were seen. */
  async count(type: SessionEvent["type"], count: number): Promise<void> {
    await this.#wait(() => this.all(type).length >= count || undefined, `${type} × ${count}`);
  }

  #wait<R>(find: () => R | undefined, what: string): Promise<R> {
    return new Promise((resolve, reject) => {
      const done = () => {
        this.#waiters.delete(look);
        clearTimeout(timer);
      };
      const look = () => {
        const found = find();
        if (found === undefined) return;
        done();
        resolve(found);
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`waited for ${what}; seen: ${this.events.map((event) => event.type).join(", ")}`));
      }, PATIENCE_MS);
      this.#waiters.add(look);
      look();
    });
  }
}

export interface Talk extends AsyncDisposable {
  readonly session: CopilotSession;
  readonly model: Endpoint;
  readonly record: EventRecord;
  /** Sends a prompt, waits for the end of the run, and returns what the model said last. */
  ask(prompt: string | Parameters<CopilotSession["send"]>[0]): Promise<string>;
}

export async function openTalk(world: World, config: Partial<SessionConfig> = {}): Promise<Talk> {
  const model = world.model.endpoint();
  const record = new EventRecord();
  const session = await world.client.createSession({
    ...byok(model),
    onPermissionRequest: approveAll,
    onEvent: record.push,
    ...config,
  });
  return talkOf(session, model, record);
}

export async function resumeTalk(
  world: World,
  sessionId: string,
  config: Parameters<World["client"]["resumeSession"]>[1] = {},
  model: Endpoint = world.model.endpoint(),
): Promise<Talk> {
  const record = new EventRecord();
  const session = await world.client.resumeSession(sessionId, {
    ...byok(model),
    onPermissionRequest: approveAll,
    onEvent: record.push,
    ...config,
  });
  return talkOf(session, model, record);
}

function talkOf(session: CopilotSession, model: Endpoint, record: EventRecord): Talk {
  return {
    session,
    model,
    record,
    async ask(prompt) {
      const from = record.events.length;
      await (typeof prompt === "string" ? session.send({ prompt }) : session.send(prompt));
      await record.until("session.idle", { from });
      const said = record.events.slice(from).filter((event) => event.type === "assistant.message");
      return said.at(-1)?.data.content ?? "";
    },
    [Symbol.asyncDispose]: () => session.disconnect(),
  };
}
