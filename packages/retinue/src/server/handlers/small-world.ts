/** For tests: a runtime with a scripted model, in a home folder of its own, and a client on the other end of a connection. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type EventData,
  type EventType,
  linkedTransports,
  METHODS,
  type ParamsInput,
  Peer,
  type Result,
  type ServerMethodName,
} from "@retinue/protocol";
import { type RuntimeConfig, runtimeConfig } from "../../host/config.ts";
import { oneProvider } from "../../models/one-provider.ts";
import { type ScriptedProvider, scripted, type Turn } from "../../models/scripted.ts";
import type { World } from "../../world.ts";
import { serveConnection } from "../connection.ts";
import { Runtime } from "../runtime.ts";

export interface ReceivedEvent {
  type: string;
  id: string;
  data: Record<string, unknown>;
  ephemeral?: boolean;
  agentId?: string;
}

/** One client. It answers the methods in `answers` and no others. */
export class TestClient {
  readonly events: ReceivedEvent[] = [];
  readonly answers = new Map<string, (params: never) => unknown>();
  /** Settles when the runtime has closed what belonged to this connection. */
  readonly ended: Promise<void>;
  readonly #peer: Peer;
  readonly #waiting = new Set<() => void>();

  constructor(runtime: Runtime) {
    const [near, far] = linkedTransports();
    this.ended = serveConnection(far, { version: runtime.config.version, load: async () => runtime });
    this.#peer = new Peer(near, {
      request: (method, params) => {
        const answer = this.answers.get(method);
        return answer && Promise.resolve(answer(params as never));
      },
      notification: (method, params) => this.#receive(method, params),
    });
  }

  /** Results are checked against the protocol, so that a handler cannot answer what clients do not expect. */
  async call<M extends ServerMethodName>(
    method: M,
    params: ParamsInput<M>,
    options: { signal?: AbortSignal } = {},
  ): Promise<Result<M>> {
    const answer = await this.#peer.request(method, params, options);
    return METHODS[method].result().parse(answer) as Result<M>;
  }

  of<T extends EventType>(type: T): EventData<T>[] {
    return this.events.filter((event) => event.type === type).map(({ data }) => data as EventData<T>);
  }

  /** Waits for the first event of this type among those after the first `after` events. */
  async received<T extends EventType>(type: T, { after = 0 }: { after?: number } = {}): Promise<EventData<T>> {
    for (;;) {
      const found = this.events.slice(after).find((event) => event.type === type);
      if (found) return found.data as EventData<T>;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Waits for the first event that matches, received already or still to come. */
  async until(isIt: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent> {
    for (;;) {
      const found = this.events.find(isIt);
      if (found) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  close(): void {
    this.#peer.close();
  }

  #receive(method: string, params: unknown): void {
    if (method !== "session.event") return;
    this.events.push((params as { event: ReceivedEvent }).event);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

export interface SmallWorld {
  client: TestClient;
  runtime: Runtime;
  provider: ScriptedProvider;
  home: string;
  /** Where sessions work. */
  folder: string;
  /** Creates a session with this client. */
  create(config?: Omit<ParamsInput<"session.create">, "workingDirectory">): Promise<string>;
  /** Sends a prompt and waits until the session is idle. */
  send(sessionId: string, prompt: string): Promise<void>;
  anotherClient(): TestClient;
  /** Drops all connections, closes the runtime and opens another one on the same home; needs `isOnDisk`. */
  restart(): Promise<{ client: TestClient; runtime: Runtime }>;
}

export async function inSmallWorld(
  turns: readonly Turn[],
  test: (world: SmallWorld) => Promise<void>,
  { isOnDisk = false, world, config = {} }: { isOnDisk?: boolean; world?: World; config?: Partial<RuntimeConfig> } = {},
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "retinue-handlers-"));
  const folder = join(home, "work");
  mkdirSync(folder);
  const provider = scripted(turns);
  const open = () =>
    new Runtime({
      config: { ...runtimeConfig({ RETINUE_HOME: join(home, "home") }), ...config },
      catalog: oneProvider(provider),
      world,
      ...(isOnDisk ? {} : { storePath: ":memory:" }),
    });
  let present = open();
  const close = async () => {
    for (const each of clients) each.close();
    await Promise.all(clients.map(({ ended }) => ended));
    await present.close();
  };
  const clients: TestClient[] = [];
  const anotherClient = () => {
    const opened = new TestClient(present);
    clients.push(opened);
    return opened;
  };
  const client = anotherClient();
  try {
    await test({
      client,
      runtime: present,
      provider,
      home,
      folder,
      anotherClient,
      restart: async () => {
        await close();
        present = open();
        return { client: anotherClient(), runtime: present };
      },
      create: async (config = {}) =>
        (await client.call("session.create", { requestPermission: true, workingDirectory: folder, ...config }))
          .sessionId,
      send: async (sessionId, prompt) => {
        const after = client.events.length;
        await client.call("session.send", { sessionId, prompt });
        await client.received("session.idle", { after });
      },
    });
  } finally {
    await close();
    rmSync(home, { recursive: true, force: true });
  }
}
