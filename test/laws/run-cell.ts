/** Runs one cell of the matrix in this process and says which laws did not hold. */

import { FaultyStore } from "../support/faulty-store.ts";
import {
  type Cell,
  callsAllowed,
  cellName,
  clientsOf,
  configOf,
  hasBudget,
  holdMark,
  isFleet,
  isHanging,
  isHeld,
  isMcpTask,
  isRefused,
  MAX_DEPTH,
  processMark,
  secondAnswer,
  startOf,
  workerAnswer,
} from "./cell.ts";
import {
  asksWithoutOneAnswer,
  brokenLaws,
  leftBehind,
  limitsPassed,
  notOfferedAgain,
  processesWith,
  startsWithoutOneEnd,
} from "./checker.ts";
import { broken } from "./checks.ts";
import type { LawEvent } from "./law-event.ts";
import { type Attached, isProgram, type LawHost } from "./law-host.ts";
import { LawJobs } from "./law-jobs.ts";
import { World } from "./world.ts";

const CONCURRENT = 2;

export async function runCell(cell: Cell): Promise<string[]> {
  const store = new FaultyStore();
  await using world = new World({ maxConcurrent: CONCURRENT, maxDepth: MAX_DEPTH, openStore: store.open });
  await using jobs = isMcpTask(cell) ? await LawJobs.start(cell, world.gates) : undefined;
  const run = new CellRun(world, { cell, store, jobs });
  await run.toFault();
  if (cell.path === "resumed") await run.resume({ isRestart: true, isHolding: true });
  if (cell.path === "promoted") await run.promote();
  const ofFork = cell.path === "fork" ? await run.fork() : [];
  await run.fault();
  await run.rest();
  const events = await run.log();
  const left = [...leftBehind(world.runtime), ...(jobs?.broken().atRest ?? [])];
  await run.close();
  const witness = { clients: run.clients, maxDepth: MAX_DEPTH };
  return await broken(cell, {
    asks: () => asksWithoutOneAnswer(events, witness),
    "offered again": () => run.notOffered(),
    ends: () => [...startsWithoutOneEnd(events), ...(jobs?.broken().ends ?? [])],
    delivery: () => wrongDeliveries(cell, events),
    limits: () => limitsPassed(events, witness),
    budget: () => budgetPassed(cell, events),
    places: () => (world.load.most > CONCURRENT ? [`law 3: ${world.load.most} sub-agents worked at once`] : []),
    "at rest": () => left,
    processes: () => processesLeft(cell),
    "no errors": () => run.clients.flatMap(({ problems }) => problems),
    fork: () => ofFork,
  });
}

export function processesLeft(cell: Cell): string[] {
  const processes = processesWith(processMark(cell));
  return processes.length > 0 ? [`law 4: processes left: ${processes.join(", ")}`] : [];
}

class CellRun {
  readonly clients: LawHost[] = [];
  readonly #world: World;
  readonly #cell: Cell;
  readonly #store: FaultyStore;
  readonly #jobs: LawJobs | undefined;
  #client: LawHost;
  /** A client that stays and answers nothing. */
  #silent: LawHost | undefined;
  /** What the last client that has left, or that stays silent, has not answered. */
  #unanswered: readonly LawEvent[] = [];
  #sessionId = "";
  #restFrom = 0;

  constructor(world: World, { cell, store, jobs }: { cell: Cell; store: FaultyStore; jobs: LawJobs | undefined }) {
    this.#world = world;
    this.#cell = cell;
    this.#store = store;
    this.#jobs = jobs;
    this.#client = this.#connect({ attached: clientsOf(cell).first, isHolding: true });
  }

  async toFault(): Promise<void> {
    const { id } = await this.#open();
    this.#sessionId = id;
    const { method, params } = startOf(this.#cell);
    await this.#client.call(method, { sessionId: id, ...params });
    await this.#atHold();
    if (this.#cell.path === "multi-turn" && this.#cell.depth < MAX_DEPTH)
      await this.#client.until(
        "tool.execution_complete",
        ({ data }) => data.result?.content?.includes("Message delivered") === true,
      );
  }

  /** The client is gone, and another one goes on with the session. */
  async resume({
    isRestart = false,
    isHolding = false,
  }: {
    isRestart?: boolean;
    isHolding?: boolean;
  } = {}): Promise<void> {
    this.#unanswered = this.#client.held;
    this.#client.vanish();
    await this.#world.disconnected();
    if (isRestart) await this.#world.restart();
    this.#client = this.#connect({ attached: clientsOf(this.#cell).next, isHolding });
    await this.#world.resumeSession(this.#client, this.#sessionId, this.#config);
    if (!isHolding) await this.#client.answerOpen(this.#sessionId);
    else if (this.#cell.attached === "nobody") await this.#world.gates.reached(holdMark(this.#cell));
  }

  async promote(): Promise<void> {
    const tasks = await this.#client.tasks(this.#sessionId);
    const deepest = tasks.toSorted((a, b) => (b.path?.length ?? 0) - (a.path?.length ?? 0))[0];
    const { promoted } = await this.#client.call<{ promoted: boolean }>("session.tasks.promoteToBackground", {
      sessionId: this.#sessionId,
      id: deepest?.id,
    });
    if (!promoted) throw new Error("a running sync agent could not be promoted");
  }

  /** A copy, made while everything is at work: it comes to rest by itself, and the original goes on. Returns what is broken in it. */
  async fork(): Promise<string[]> {
    const { sessionId } = await this.#client.call<{ sessionId: string }>("sessions.fork", {
      sessionId: this.#sessionId,
    });
    const client = this.#world.host({ attached: this.#cell.attached });
    await this.#world.resumeSession(client, sessionId, this.#config);
    await client.atRest(sessionId);
    const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
    await client.call("session.destroy", { sessionId });
    client.vanish();
    return brokenLaws(events, { clients: [client], maxDepth: MAX_DEPTH }).map((each) => `in the fork: ${each}`);
  }

  async fault(): Promise<void> {
    this.#restFrom = this.#client.events.length;
    switch (this.#cell.fault) {
      case "cancel":
        return await this.#cancel();
      case "store fails":
        return await this.#breakStore();
      case "hook hangs":
        await this.#goOn();
        await this.#client.when(() => this.#client.hooks.some(isHanging(this.#cell)), "the hook that hangs");
        return await this.#cancel();
      case "client gone":
        await this.resume();
        this.#restFrom = 0;
        this.#world.gates.open(holdMark(this.#cell));
        return;
      case "late client":
        this.#silent = this.#client;
        this.#unanswered = this.#client.held;
        this.#client = this.#connect({ attached: clientsOf(this.#cell).next, isHolding: false });
        this.#restFrom = 0;
        await this.#world.resumeSession(this.#client, this.#sessionId, this.#config);
        this.#world.gates.open(holdMark(this.#cell));
        return;
      default:
        await this.#goOn();
    }
  }

  async #goOn(): Promise<void> {
    this.#world.gates.open(holdMark(this.#cell));
    await this.#client.release();
    if (this.#cell.path === "resumed") await this.#insist(() => this.#client.answerOpen(this.#sessionId));
  }

  /** Nothing can be written from here until the clients were told. */
  async #breakStore(): Promise<void> {
    this.#store.break((name) => name === "commit");
    const going = this.#goOn();
    await this.#client.until("session.error", undefined, { after: this.#restFrom });
    this.#store.mend();
    await going;
  }

  /** An answer that could not be written is given again when it can. */
  async #insist<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (this.#cell.fault !== "store fails") throw error;
      await this.#client.until("session.info", ({ data }) => data.infoType === "storage");
      return await work();
    }
  }

  get #config(): object {
    const { attached, fault } = this.#cell;
    return {
      ...configOf(this.#cell),
      ...this.#jobs?.config,
      ...(fault === "hook hangs" && !isProgram(attached) ? { hooks: true } : {}),
    };
  }

  /** By depth: cancels the whole session, or only the top of the chain. */
  async #cancel(): Promise<void> {
    const sessionId = this.#sessionId;
    const tasks = await this.#client.tasks(sessionId);
    // The fleet itself at one depth, the agent of its todo at the other.
    const fleet = this.#cell.depth === 1 ? tasks.find(({ agentType }) => agentType === "fleet") : undefined;
    const top = fleet ?? tasks[0];
    if (this.#cell.depth % 2 === 1) await this.#client.call("session.tasks.cancel", { sessionId, id: top?.id });
    else await this.#client.call("session.abort", { sessionId });
  }

  async rest(): Promise<void> {
    await this.#client.until("session.idle", undefined, { after: this.#restFrom });
  }

  /** What the client before has not answered must have been offered to the one that came. */
  notOffered(): string[] {
    return notOfferedAgain(this.#unanswered, this.#client);
  }

  async log(): Promise<LawEvent[]> {
    return (await this.#client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: this.#sessionId }))
      .events;
  }

  async close(): Promise<void> {
    await this.#silent?.call("session.destroy", { sessionId: this.#sessionId });
    await this.#client.call("session.destroy", { sessionId: this.#sessionId });
  }

  async #open(): Promise<{ id: string }> {
    return { id: await this.#world.createSession(this.#client, this.#config) };
  }

  async #atHold(): Promise<void> {
    if (this.#jobs) await this.#client.until("subagent.started", isWorker);
    else if (this.#cell.attached === "nobody") await this.#world.gates.reached(holdMark(this.#cell));
    else await this.#client.when(() => this.#client.held.length > 0, `the held ask of ${cellName(this.#cell)}`);
  }

  #connect({ attached, isHolding }: { attached: Attached; isHolding: boolean }): LawHost {
    const client = this.#world.host({
      attached,
      onHook: (call) => (isHanging(this.#cell)(call) ? new Promise(() => undefined) : undefined),
      insists: (work) => this.#insist(work),
      ...(isHolding ? { holds: isHeld(this.#cell) } : {}),
    });
    this.clients.push(client);
    return client;
  }
}

/** Law 3: the calls that fit ran, no other did, and the agent ended with what it had. */
export function budgetPassed(cell: Cell, events: readonly LawEvent[]): string[] {
  if (!hasBudget(cell) || cell.depth === MAX_DEPTH) return [];
  const end = events.find(({ type }) => type === "subagent.failed");
  const ran = events.filter(
    ({ type, agentId, data: { error } }) =>
      type === "tool.execution_complete" &&
      agentId === end?.agentId &&
      !(typeof error === "object" && error.code === "over_budget"),
  );
  if (end?.data.reason !== "over_budget") return [`law 3: the worker ended with ${end?.data.reason}`];
  return ran.length === callsAllowed(cell) ? [] : [`law 3: ${ran.length} of ${callsAllowed(cell)} calls ran`];
}

/** Law 2: each result of the worker reaches the agent that started it, once; two may be told by one notice. */
export function wrongDeliveries(cell: Cell, events: readonly LawEvent[]): string[] {
  if (isRefused(cell)) return refused(events) ? [] : ["law 3: a spawn below the depth limit was not refused in words"];
  const worker = events.find((event) => event.type === "subagent.started" && isWorker(event))?.agentId;
  const words = cell.fault === "model error" ? ["the model is broken"] : [workerAnswer(cell), secondAnswer(cell)];
  const results = events.filter(
    ({ type, data, agentId }) =>
      type === "tool.execution_complete" &&
      agentId !== worker &&
      words.some((word) => JSON.stringify(data).includes(word)),
  );
  const owners = results.filter((result) => isResultOf(result, events, worker));
  const fleet = events.find(({ type, data }) => type === "subagent.started" && data.agentType === "fleet")?.agentId;
  const told = isFleet(cell) && cell.depth === 0 ? fleet : worker; // The results of a fleet are told by the fleet.
  const notices = events.filter(({ type, data }) => type === "system.notification" && data.kind?.agentId === told);
  const count = owners.length + notices.length;
  const most = cell.path === "multi-turn" && cell.fault !== "model error" ? 2 : 1;
  const isCancelled = cell.fault === "cancel" || cell.fault === "hook hangs";
  const isFine = count <= most && (isCancelled || count >= 1);
  return isFine
    ? []
    : [
        `law 2: what the worker came to was delivered ${count} times (${owners.length} results, ${notices.length} notices)`,
      ];
}

export const isWorker = ({ data }: LawEvent): boolean => data.pathNames?.at(-1) === "worker";

/** The result of the call that started the worker; the calls above it repeat the text of a failure. */
function isResultOf(result: LawEvent, events: readonly LawEvent[], worker: string | undefined): boolean {
  const started = events.find(({ type, agentId }) => type === "subagent.started" && agentId === worker);
  return started?.data.toolCallId === result.data.toolCallId;
}

function refused(events: readonly LawEvent[]): boolean {
  return events.some(
    ({ type, data }) =>
      type === "tool.execution_complete" &&
      JSON.stringify(data).includes(`Maximum sub-agent depth of ${MAX_DEPTH} reached`),
  );
}
