/** Runs the random session tree of a seed, kills its runtime in the middle of it, and says which laws do not hold in the end. */
import { Crashable } from "../crash/crashable.ts";
import { CUSTOM_AGENTS, MAX_DEPTH } from "./cell.ts";
import { brokenLaws, processesWith, wrongNotices } from "./checker.ts";
import type { LawClient } from "./law-client.ts";
import type { LawEvent } from "./law-event.ts";
import { promptOf } from "./plan.ts";
import { isPromoted, processMark, type Scenario, scenarioOf } from "./random-tree.ts";

export async function runSeed(seed: number): Promise<string[]> {
  const scenario = scenarioOf(seed);
  await using crashable = await Crashable.start();
  const run = new KillRun(crashable, scenario);
  await run.begin();
  await run.resume(scenario.killAgainAt);
  return await run.judge();
}

class KillRun {
  readonly #crashable: Crashable;
  readonly #scenario: Scenario;
  readonly #sessionId: string;
  /** Clients of the host that lives: one that was killed has forgotten what it ran. */
  #clients: LawClient[] = [];
  #workedOn = new Set<string>();
  #killed: Promise<void> | undefined;

  constructor(crashable: Crashable, scenario: Scenario) {
    this.#crashable = crashable;
    this.#scenario = scenario;
    this.#sessionId = `seed-${scenario.seed}`;
  }

  /** Until it is killed; at the latest when it has nothing more to do. */
  async begin(): Promise<void> {
    const { plan, killAt } = this.#scenario;
    await this.#until(killAt, async (client) => {
      await client.call("session.create", { ...this.#config(client), sessionId: this.#sessionId });
      await client.call("session.send", { sessionId: this.#sessionId, prompt: promptOf(plan) });
      await client.until("session.idle");
    });
  }

  async resume(killAgainAt: number | undefined): Promise<void> {
    if (killAgainAt !== undefined) await this.#until(killAgainAt, (client) => this.#goOn(client));
    await this.#connect();
    await this.#goOn(this.#client);
  }

  async judge(): Promise<string[]> {
    const sessionId = this.#sessionId;
    const client = this.#client;
    const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
    const running = (await client.tasks(sessionId)).filter(
      ({ status, id }) => status === "running" && events.some(({ agentId }) => agentId === id),
    );
    await client.call("session.destroy", { sessionId });
    const processes = processesWith(processMark(this.#scenario.seed));
    return [
      ...brokenLaws(events, {
        clients: this.#clients,
        maxDepth: MAX_DEPTH,
        isGivenUp: !this.#scenario.continuePendingWork,
      }),
      ...wrongNotices(events),
      ...running.map(({ pathNames }) => `law 4: still running: ${pathNames?.join("/")}`),
      ...(processes.length > 0 ? [`law 4: ${processes.length} processes left`] : []),
    ];
  }

  get #client(): LawClient {
    const last = this.#clients.at(-1);
    if (!last) throw new Error("nobody is connected");
    return last;
  }

  async #until(killAt: number, work: (client: LawClient) => Promise<void>): Promise<void> {
    this.#killed = undefined;
    const client = await this.#connect(killAt);
    await work(client).catch((error: unknown) => {
      if (!this.#killed) throw error;
    });
    await (this.#killed ?? this.#crashable.kill());
    if (this.#scenario.isHostKilled) {
      this.#clients = [];
      this.#workedOn = new Set();
    }
    await this.#crashable.launch();
  }

  async #goOn(client: LawClient): Promise<void> {
    const sessionId = this.#sessionId;
    const { continuePendingWork } = this.#scenario;
    try {
      await client.call("session.resume", { ...this.#config(client), sessionId, continuePendingWork });
    } catch (error) {
      if (!String(error).includes("Session not found")) throw error;
      await client.call("session.create", { ...this.#config(client), sessionId }); // Killed before it was created.
    }
    await client.answerOpen(sessionId);
    await client.atRest(sessionId);
  }

  async #connect(killAt = Number.POSITIVE_INFINITY): Promise<LawClient> {
    let seen = 0;
    const client: LawClient = await this.#crashable.connect({
      attached: "sdk",
      workedOn: this.#workedOn,
      onEvent: (event) => {
        this.#promote(client, event);
        if (event.ephemeral || ++seen !== killAt) return;
        this.#killed = this.#crashable.kill();
      },
    });
    this.#clients.push(client);
    return client;
  }

  #promote(client: LawClient, { type, agentId: id, data }: LawEvent): void {
    if (type !== "subagent.started" || data.executionMode !== "sync" || !isPromoted(data.pathNames?.at(-1) ?? ""))
      return;
    const params = { sessionId: this.#sessionId, id };
    client.call("session.tasks.promoteToBackground", params).catch(() => undefined); // The runtime may be killed meanwhile.
  }

  #config(client: LawClient): Record<string, unknown> {
    return { ...this.#crashable.session, ...client.abilities, customAgents: CUSTOM_AGENTS };
  }
}
