/**
 * The cells of the matrix in which the process is killed: many of them at once in one process, which is then killed for all.
 *
 * Each cell is a session of its own, brought to the point where the fault happens. After the restart each is resumed by a client of the
 * same kind, and must come to the same end as if nothing had happened. A host that lives on answers what it reads in the log; one that
 * is gone too knows nothing, and its successor answers only what it is offered.
 */
import { Crashable } from "../crash/crashable.ts";
import { type Cell, cellName, clientsOf, configOf, holdMark, isHeld, isMcpTask, MAX_DEPTH, startOf } from "./cell.ts";
import { asksWithoutOneAnswer, brokenLaws, limitsPassed, notOfferedAgain, startsWithoutOneEnd } from "./checker.ts";
import { broken } from "./checks.ts";
import type { LawEvent } from "./law-event.ts";
import type { LawHost } from "./law-host.ts";
import { LawJobs } from "./law-jobs.ts";
import { budgetPassed, isWorker, processesLeft, wrongDeliveries } from "./run-cell.ts";
import { SdkHost } from "./sdk-host.ts";

interface Killed {
  cell: Cell;
  /** The server of an MCP task. */
  jobs?: LawJobs;
  sessionId: string;
  clients: LawHost[];
  /** A copy that was made just before the process was killed. */
  forkId?: string;
}

/** Every client of a process is told of every change of a session, so that many clients in one process cost more than many processes. */
const PER_PROCESS = 75;

export async function runKilled(cells: readonly Cell[]): Promise<Map<string, string[]>> {
  const outcomes: [string, string[]][] = [];
  for (let at = 0; at < cells.length; at += PER_PROCESS)
    outcomes.push(...(await runTogether(cells.slice(at, at + PER_PROCESS))));
  return new Map(outcomes);
}

async function runTogether(cells: readonly Cell[]): Promise<[string, string[]][]> {
  // Cells that wait in the model hold their slots at the same time.
  await using crashable = await Crashable.start({ env: { RETINUE_SUBAGENT_MAX_CONCURRENT: "256" } });
  // Those on the path `resumed` are killed twice: once to be resumed, once more with all the others.
  const isResumed = ({ path }: Cell) => path === "resumed";
  const resumed = await inBatches(cells.filter(isResumed), (cell) => toFault(crashable, cell));
  await crashable.kill();
  for (const each of resumed) hostGone(each);
  await crashable.launch();
  await Promise.all(resumed.map((each) => rejoin(crashable, each, { isHolding: true })));
  const others = await inBatches(
    cells.filter((cell) => !isResumed(cell)),
    (cell) => toFault(crashable, cell),
  );
  const killed = [...resumed, ...others];
  await crashable.kill();
  for (const each of killed) hostGone(each);
  for (const { cell } of killed) crashable.gates.open(holdMark(cell));
  await crashable.launch();
  return await inBatches(killed, async (each) => [
    cellName(each.cell),
    await settle(crashable, each).catch((error: unknown) => [String(error)]),
  ]);
}

/** Our SDK would come back by itself; where the host is gone too, it ends with the runtime. */
function hostGone({ cell, clients }: Killed): void {
  if (cell.fault === "host gone too") clients.at(-1)?.vanish();
}

const BATCH = 30;

/** So many at once that a busy machine still gets each of them done before its client loses patience. */
async function inBatches<In, Out>(all: readonly In[], work: (each: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let at = 0; at < all.length; at += BATCH) done.push(...(await Promise.all(all.slice(at, at + BATCH).map(work))));
  return done;
}

async function toFault(crashable: Crashable, cell: Cell): Promise<Killed> {
  const client = await crashable.host({ attached: clientsOf(cell).first, holds: isHeld(cell) });
  const jobs = isMcpTask(cell) ? await LawJobs.start(cell, crashable.gates) : undefined;
  const sessionId = await client.create({ ...crashable.session, ...configOf(cell), ...jobs?.config });
  const { method, params } = startOf(cell);
  await client.call(method, { sessionId, ...params });
  if (jobs) await client.until("subagent.started", isWorker);
  else if (cell.attached === "nobody") await crashable.gates.reached(holdMark(cell));
  else await client.when(() => client.held.length > 0, `the held ask of ${cellName(cell)}`);
  if (cell.path === "multi-turn" && cell.depth < MAX_DEPTH) {
    await client.until(
      "tool.execution_complete",
      ({ data }) => data.result?.content?.includes("Message delivered") === true,
    );
  }
  if (cell.path === "promoted") {
    const tasks = await client.tasks(sessionId);
    const deepest = tasks.toSorted((a, b) => (b.path?.length ?? 0) - (a.path?.length ?? 0))[0];
    await client.call("session.tasks.promoteToBackground", { sessionId, id: deepest?.id });
  }
  if (cell.path !== "fork") return { cell, jobs, sessionId, clients: [client] };
  const fork = await client.call<{ sessionId: string }>("sessions.fork", { sessionId });
  return { cell, sessionId, clients: [client], forkId: fork.sessionId };
}

async function rejoin(
  crashable: Crashable,
  { cell, jobs, sessionId, clients }: Killed,
  { isHolding = false }: { isHolding?: boolean } = {},
): Promise<LawHost> {
  const before = clients.at(-1);
  if (before instanceof SdkHost && cell.fault !== "host gone too") {
    await before.isBack(sessionId);
    if (!isHolding) await before.release();
    return before;
  }
  const attached = clientsOf(cell).next;
  const client = await crashable.host({ attached, ...(isHolding ? { holds: isHeld(cell) } : {}) });
  clients.push(client);
  await client.resume(sessionId, { ...crashable.session, ...configOf(cell), ...jobs?.config });
  return client;
}

async function settle(crashable: Crashable, killed: Killed): Promise<string[]> {
  const { cell, sessionId, clients } = killed;
  await using jobs = killed.jobs;
  const isHostGone = cell.fault === "host gone too";
  const open = clients.at(-1)?.held ?? [];
  const client = await rejoin(crashable, killed);
  if (!isHostGone) await client.answerOpen(sessionId);
  await client.until("session.idle");
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  const running = (await client.tasks(sessionId)).filter(({ status }) => status === "running");
  await client.call("session.destroy", { sessionId });
  const witness = { clients, maxDepth: MAX_DEPTH };
  return await broken(cell, {
    asks: () => asksWithoutOneAnswer(events, witness),
    "offered again": () => notOfferedAgain(open, client),
    ends: () => [...startsWithoutOneEnd(events), ...(jobs?.broken().ends ?? [])],
    delivery: () => wrongDeliveries(cell, events),
    limits: () => limitsPassed(events, witness),
    budget: () => budgetPassed(cell, events),
    places: () => [], // The model is a server here, and does not know who asks it.
    "at rest": () => [
      ...running.map(({ pathNames }) => `law 4: still running: ${pathNames?.join("/")}`),
      ...(jobs?.broken().atRest ?? []),
    ],
    processes: () => processesLeft(cell),
    "no errors": () => clients.flatMap(({ problems }) => problems),
    fork: () => brokenInFork(crashable, killed),
  });
}

async function brokenInFork(crashable: Crashable, { cell, forkId }: Killed): Promise<string[]> {
  if (forkId === undefined) return [];
  const fork = { cell, sessionId: forkId, clients: [] };
  const client = await rejoin(crashable, fork);
  await client.atRest(forkId);
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: forkId });
  await client.call("session.destroy", { sessionId: forkId });
  return brokenLaws(events, { clients: fork.clients, maxDepth: MAX_DEPTH }).map((each) => `in the fork: ${each}`);
}
