/**
 * The runtime behind all connections: one store, one set of sessions, the table of handlers.
 */
import { join } from "node:path";
import { AppError, isServerMethod, messageOf, parseParams } from "@retinue/protocol";
import { endLeftRuns } from "../host/background-runs.ts";
import { boardsOf } from "../host/board-memory.ts";
import type { RuntimeConfig } from "../host/config.ts";
import { consolidateClosed } from "../host/detached-consolidation.ts";
import { Diagnostics } from "../host/diagnostics.ts";
import { keepIndexed, memoryOf, transcribe } from "../host/memory.ts";
import { type Lifecycle, Sessions, type SessionsOptions } from "../host/sessions.ts";
import { consolidatingSession } from "../host/subconscious.ts";
import { openCatalog } from "../models/catalog.ts";
import { credentialVariables } from "../models/config.ts";
import { planTools } from "../modes/plan-tool.ts";
import { ProcessLedger } from "../processes/process-ledger.ts";
import { CREDENTIAL_VARIABLES, withhold } from "../secrets/environment.ts";
import { addOwnKey, hideKnownValues } from "../secrets/known-values.ts";
import { patientStore } from "../store/patient-store.ts";
import { type HomeTrouble, prepareHome } from "../store/private-files.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import { systemWords } from "../store/system-words.ts";
import { goesOn } from "../tasks/record.ts";
import type { Client } from "../tree/client.ts";
import { Worktrees } from "../workspace/worktrees/worktrees.ts";
import { realWorld, type World } from "../world.ts";
import type { CallScope } from "./handler.ts";
import { handlers } from "./handlers/index.ts";
import { checkMembership } from "./membership.ts";

export interface RuntimeOptions {
  config: RuntimeConfig;
  world?: World;
  /** `--provider` of the command line. */
  provider?: string;
  clientToken?: string;
  /** Variables that the command line names as holding a credential. */
  credentialVariables?: readonly string[];
  catalog?: SessionsOptions["catalog"];
  /** How to run this program again, for work that outlives it. */
  program?: readonly string[];
  /** ":memory:" in tests. */
  storePath?: string;
  /** Another store, given the path; for tests that break it. */
  openStore?: (path: string) => Store;
}

export class Runtime {
  readonly config: RuntimeConfig;
  readonly sessions: Sessions;
  readonly #store: Store;
  readonly #diagnostics: Diagnostics;
  readonly #stopIndexing: () => Promise<void>;
  readonly #reaping: Promise<void>;
  readonly #clients = new Set<Client>();
  readonly #release: () => void;

  constructor(options: RuntimeOptions) {
    const { config, world = realWorld, provider, clientToken, catalog, storePath, openStore, program } = options;
    this.config = config;
    this.#release = keepCredentials(options);
    this.#diagnostics = new Diagnostics({ home: config.home, level: config.logLevel });
    const trouble = prepare(config);
    if (trouble) this.#diagnostics.write("warn", `${trouble.what}. ${trouble.cure}`);
    const path = storePath ?? join(config.home, "retinue.db");
    this.#store = patientStore(openStore ? openStore(path) : openSqlite({ path }));
    this.#stopIndexing = keepIndexed(this.#store, (error) =>
      this.#diagnostics.write("warn", `could not index transcripts: ${messageOf(error)}`),
    );
    this.#reaping = this.#reap();
    const memory = memoryOf(this.#store, config, world);
    const { boards, consolidations } = boardsOf(this.#store, config, world);
    const closed = { store: this.#store, runtime: config, boards, consolidations, program, provider, now: world.now };
    this.sessions = new Sessions({
      store: this.#store,
      runtime: config,
      world,
      catalog: catalog ?? openCatalog({ env: config.env, home: config.home, provider, clientToken: () => clientToken }),
      onLifecycle: (change) => this.#notify(change),
      extend: {
        ...memory,
        boardSection: (root) => boards.section(root),
        consolidations,
        extraTools: (agent, parts) => [...memory.tools, ...boards.tools(agent, parts), ...planTools(agent, parts)],
      },
      transcribe,
      onEnded: (hosted) =>
        consolidateClosed(hosted, { ...closed, note: (message) => this.#diagnostics.write("warn", message) }),
      warn: (message) => this.#diagnostics.write("warn", message),
    });
  }

  enter(client: Client): void {
    if (!client.isGone) this.#clients.add(client);
  }

  async leave(client: Client): Promise<void> {
    this.#clients.delete(client);
    await this.sessions.leave(client, { isLost: true });
  }

  async call(method: string, params: unknown, { client, signal }: Omit<CallScope, "sessions">): Promise<unknown> {
    if (method === "runtime.shutdown") {
      await this.sessions.leave(client, {}); // Not those of other clients, who may not even know this one.
      return null;
    }
    if (!isServerMethod(method)) throw new AppError("method_not_found", `Unhandled method ${method}`);
    const handler = handlers[method] as ((params: object, scope: CallScope) => unknown) | undefined;
    if (!handler) throw new AppError("method_not_found", `Unhandled method ${method}`);
    checkMembership(method, params, { client, sessions: this.sessions });
    const parsed = parseParams(method, params);
    const work = () => this.#work(parsed, () => handler(parsed, { client, signal, sessions: this.sessions }));
    const isOpening = method === "session.create" || method === "session.resume";
    return await (isOpening && "sessionId" in parsed && typeof parsed.sessionId === "string"
      ? this.#opening(client, parsed.sessionId, work)
      : work());
  }

  /** Open asks are offered to a client after the answer that opens the session for it: some clients know the session only then. */
  async #opening(client: Client, sessionId: string, work: () => Promise<unknown>): Promise<unknown> {
    client.opening.add(sessionId);
    try {
      return await work();
    } finally {
      setImmediate(() => {
        client.opening.delete(sessionId);
        this.sessions.find(sessionId)?.tree.asks.redeliver();
      });
    }
  }

  async #work(parsed: object, handle: () => unknown): Promise<unknown> {
    let answer: unknown;
    try {
      answer = await handle();
    } catch (error) {
      const isRefused =
        error instanceof AppError && (error.code === "store_unavailable" || error.code === "lease_lost");
      // The client gets the first error. A store that has just refused is not asked again.
      if (!isRefused) await this.#commit(parsed).catch(() => undefined);
      throw withoutSecrets(error);
    }
    await this.#commit(parsed);
    return answer;
  }

  /** Every answer is sent after the commit of what it reports, whatever the method. This is the only place that ensures it. */
  async #commit(params: object): Promise<void> {
    if ("sessionId" in params && typeof params.sessionId === "string")
      await this.sessions.find(params.sessionId)?.session.log.committed();
  }

  async close(): Promise<void> {
    for (const problem of await this.sessions.closeAll({ isLost: true })) this.#diagnostics.write("error", problem);
    await this.#stopIndexing();
    await this.#reaping;
    await this.#store.close();
    this.#release();
  }

  async #reap(): Promise<void> {
    try {
      const { ended, problems } = await new ProcessLedger(this.#store).reap();
      if (ended > 0) this.#diagnostics.write("warn", `ended ${ended} processes that a killed runtime had left`);
      for (const problem of problems) this.#diagnostics.write("warn", problem);
      const worktrees = new Worktrees({ home: this.config.home, documents: this.#store.documents });
      const left = await worktrees.recover((key) => goesOn(this.#store.documents, key));
      for (const problem of left) this.#diagnostics.write("warn", problem);
      const forget = (run: string) => this.sessions.delete(consolidatingSession(run));
      const runs = await endLeftRuns(this.#store.documents, { now: Date.now(), forget });
      if (runs > 0)
        this.#diagnostics.write("warn", `ended ${runs} background runs that a killed or late process had left`);
    } catch (error) {
      this.#diagnostics.write("warn", `cannot look for processes of a killed runtime: ${messageOf(error)}`);
    }
  }

  #notify(change: Lifecycle): void {
    for (const client of this.#clients) client.notify("session.lifecycle", change);
  }
}

/** The error that a client may read. */
function withoutSecrets(error: unknown): unknown {
  const text = messageOf(error);
  const clean = hideKnownValues(text);
  if (clean === text) return error;
  return new AppError(error instanceof AppError ? error.code : "internal", clean);
}

/** Keeps what the configuration uses as a credential out of child processes, and its values out of events and logs. */
function keepCredentials({ config, clientToken, credentialVariables: named = [] }: RuntimeOptions): () => void {
  const { env, home } = config;
  for (const name of [...CREDENTIAL_VARIABLES, ...named]) addOwnKey(env[name]);
  addOwnKey(clientToken);
  const read = () => {
    const { names, allowed } = credentialVariables(home);
    for (const name of names) addOwnKey(env[name]);
    return { names: [...names, ...named], allowed };
  };
  setImmediate(() => {
    try {
      read(); // So that the keys of the file are known before anybody can show it.
    } catch {
      return; // Whoever needs the configuration gets the error.
    }
  });
  return withhold(read);
}

function prepare({ home }: RuntimeConfig): HomeTrouble | undefined {
  try {
    return prepareHome(home);
  } catch (error) {
    throw new AppError(
      "store_unavailable",
      `Cannot use the home folder ${home}: ${systemWords(error)}. Set RETINUE_HOME to a folder that can be written.`,
      { cause: error },
    );
  }
}
