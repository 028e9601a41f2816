/**
 * The four laws, checked on the log of a session that has come to rest, and on what its clients did.
 *
 * Knows nothing about the scenario: what holds here holds for every session tree. Each broken law is a sentence.
 */
import { readdirSync, readFileSync } from "node:fs";
import { ASK_KINDS } from "../../packages/retinue/src/asks/kinds.ts";
import type { Runtime } from "../../packages/retinue/src/server/runtime.ts";
import type { LawEvent } from "./law-event.ts";
import type { LawHost } from "./law-host.ts";

export interface Witness {
  clients: readonly LawHost[];
  maxDepth: number;
  /** The session was resumed without its pending work: calls that were answered and not recorded yet are interrupted. */
  isGivenUp?: boolean;
}

export function brokenLaws(events: readonly LawEvent[], witness: Witness): string[] {
  return [...asksWithoutOneAnswer(events, witness), ...startsWithoutOneEnd(events), ...limitsPassed(events, witness)];
}

/** Law 1: every ask is settled once, an answer that was taken counts, and a refusal without an ask is on record. */
export function asksWithoutOneAnswer(events: readonly LawEvent[], { clients, isGivenUp = false }: Witness): string[] {
  const broken: string[] = [];
  for (const kind of ["permission", "external_tool"]) {
    for (const { data } of of(events, `${kind}.requested`)) {
      const settled = of(events, `${kind}.completed`).filter((event) => event.data.requestId === data.requestId).length;
      if (settled !== 1)
        broken.push(
          `law 1: ${kind} ${data.toolName ?? data.permissionRequest?.kind} of ${place(data.agentPathNames)} was settled ${settled} times`,
        );
    }
  }
  for (const { data } of of(events, "external_tool.requested")) {
    const callId = data.toolCallId ?? "";
    const runs = clients.reduce((sum, client) => sum + (client.hostRuns.get(callId) ?? 0), 0);
    if (runs > 1) broken.push(`law 1: the host ran ${callId} of ${place(data.agentPathNames)} ${runs} times`);
    if (clients.filter((client) => client.acknowledged.has(data.requestId ?? "")).length > 1)
      broken.push(`law 1: two answers to ${callId} were taken`);
    const wasTaken = clients.some((client) => client.acknowledged.has(data.requestId ?? ""));
    const end = endOf(events, callId);
    if (wasTaken && end && !end.data.success && !(isGivenUp && codeOf(end) === "interrupted"))
      broken.push(`law 1: the answer to ${callId} was taken and then lost: ${codeOf(end)}`);
  }
  for (const event of of(events, "tool.execution_complete")) {
    if (codeOf(event) !== "denied" && codeOf(event) !== "rejected") continue;
    const decision = of(events, "permission.completed").some(({ data }) => data.toolCallId === event.data.toolCallId);
    if (!decision) broken.push(`law 1: ${event.data.toolCallId} was denied, and no event says who decided`);
  }
  return broken;
}

/** Law 1 for a client that comes while asks are open: it is offered each of them once, under its id, as a repeat. */
export function notOfferedAgain(open: readonly LawEvent[], comer: LawHost): string[] {
  return open.flatMap((ask) => {
    const {
      type,
      data: { agentPathNames },
    } = ask;
    const offers = comer.offers.filter((offer) => isSameAsk(offer, ask));
    const isFine = offers.length === 1 && offers.every(({ data, ephemeral }) => data.isRepeat && ephemeral);
    const marked = offers.filter(({ data }) => data.isRepeat).length;
    return isFine
      ? []
      : [`law 1: ${type} of ${place(agentPathNames)} was offered again ${offers.length} times, ${marked} as a repeat`];
  });
}

/** By the call that asks; where both know its id, by that too. */
function isSameAsk(offer: LawEvent, ask: LawEvent): boolean {
  const callOf = ({ data }: LawEvent) => data.toolCallId ?? data.permissionRequest?.toolCallId;
  const ids = [offer.data.requestId, ask.data.requestId].filter((id) => id !== undefined);
  return offer.type === ask.type && callOf(offer) === callOf(ask) && new Set(ids).size <= 1;
}

/** Law 2: each run of an agent has a start and then an end; calls, hooks, checks of gates and autopilot end once. */
export function startsWithoutOneEnd(events: readonly LawEvent[]): string[] {
  const broken = [
    ...pairsWithoutOneEnd(events, { what: "hook", idOf: ({ hookInvocationId }) => hookInvocationId }),
    ...pairsWithoutOneEnd(events, { what: "gate", idOf: ({ checkId }) => checkId }),
    ...boundariesAmiss(events),
    ...endsOfAutopilotAmiss(events),
  ];
  for (const [agentId, runs] of runsOf(events)) {
    const who = `law 2: agent ${agentId.slice(0, 8)}`;
    const told = runs.map((isStart) => (isStart ? "start" : "end")).join(" ");
    if (!runs.includes(true)) broken.push(`${who} ended and never started`);
    else if (runs.some((isStart, at) => isStart !== (at % 2 === 0)) || runs.length % 2 !== 0)
      broken.push(`${who} has not one end after each start: ${told}`);
  }
  const callOf = ({ agentId = "main", data }: LawEvent) => `${agentId.slice(0, 8)}/${data.toolCallId}`;
  const ends = countBy(of(events, "tool.execution_complete"), callOf);
  for (const [call, starts] of countBy(of(events, "tool.execution_start"), callOf)) {
    if (starts !== 1 || ends.get(call) !== 1)
      broken.push(`law 2: call ${call} has ${starts} starts and ${ends.get(call) ?? 0} ends`);
  }
  for (const message of of(events, "assistant.message")) {
    for (const { toolCallId, name } of message.data.toolRequests ?? []) {
      if (!ends.has(callOf({ ...message, data: { toolCallId } })))
        broken.push(`law 2: the model asked for ${name} and never got a result`);
    }
  }
  return broken;
}

const PAIRS = { hook: ["hook.start", "hook.end"], gate: ["gate.started", "gate.completed"] } as const;

/** What is matched by an id: one start, and after it one end. */
function pairsWithoutOneEnd(
  events: readonly LawEvent[],
  { what, idOf }: { what: keyof typeof PAIRS; idOf: (data: LawEvent["data"]) => string | undefined },
): string[] {
  const [start, end] = PAIRS[what];
  const lives = new Map<string, string[]>();
  for (const { type, data, ephemeral } of events) {
    if (ephemeral || (type !== start && type !== end)) continue;
    const id = idOf(data) ?? "nothing";
    lives.set(id, [...(lives.get(id) ?? []), `${type} ${data.hookType ?? ""}`.trim()]);
  }
  return [...lives.values()]
    .filter((life) => life.length !== 2 || !life[0]?.startsWith(start) || !life[1]?.startsWith(end))
    .map((life) => `law 2: a ${what} has not one start and then one end: ${life.join(", ")}`);
}

/** The boundaries of each agent: start and end in turns, and those of its n-th run say so. */
function boundariesAmiss(events: readonly LawEvent[]): string[] {
  const told = new Map<string, string[]>();
  for (const { agentId = "", data } of of(events, "subagent_session_boundary")) {
    const side = data.phase === "start" ? "start" : "end";
    told.set(agentId, [...(told.get(agentId) ?? []), `${side} ${data.run}`]);
  }
  const agents = new Set([...told.keys(), ...runsOf(events).keys()]);
  return [...agents].flatMap((agentId) => {
    const runs = runsOf(events).get(agentId) ?? [];
    const wanted = runs.map((isStart, at) => `${isStart ? "start" : "end"} ${Math.floor(at / 2) + 1}`).join(", ");
    const seen = (told.get(agentId) ?? []).join(", ");
    return seen === wanted
      ? []
      : [`law 2: the boundaries of agent ${agentId.slice(0, 8)} are "${seen}", not "${wanted}"`];
  });
}

/** After each prompt of the user autopilot ends at most once. */
function endsOfAutopilotAmiss(events: readonly LawEvent[]): string[] {
  const broken: string[] = [];
  let ends: string[] = [];
  for (const { type, agentId, data, ephemeral } of events) {
    if (ephemeral || agentId !== undefined) continue;
    if (type === "session.autopilot_ended") ends.push(data.reason ?? "?");
    if (type === "user.message" && isPromptOfUser(data)) ends = [];
    if (ends.length > 1 && type === "session.autopilot_ended")
      broken.push(`law 2: autopilot ended more than once for one prompt: ${ends.join(", ")}`);
  }
  return broken;
}

const isPromptOfUser = ({ source, delivery, isSentBack }: LawEvent["data"]): boolean =>
  source === undefined && delivery !== "steering" && !isSentBack;

/** By agent: its starts (true) and ends (false) in order. */
function runsOf(events: readonly LawEvent[]): Map<string, boolean[]> {
  const runs = new Map<string, boolean[]>();
  for (const { type, agentId = "", ephemeral } of events) {
    if (ephemeral || !/^subagent\.(started|completed|failed)$/.test(type)) continue;
    runs.set(agentId, [...(runs.get(agentId) ?? []), type === "subagent.started"]);
  }
  return runs;
}

/**
 * Law 2 for background agents of the main agent: it is notified of what they came to, and not more often than they came to something. Only
 * where nothing was read by a call, which drops the notice.
 */
export function wrongNotices(events: readonly LawEvent[]): string[] {
  const broken: string[] = [];
  const starts = of(events, "subagent.started").filter(({ data }) => data.parentId === undefined);
  for (const agentId of new Set(starts.map((event) => event.agentId))) {
    const [first] = starts.filter((event) => event.agentId === agentId);
    const ends = [...of(events, "subagent.completed"), ...of(events, "subagent.failed")].filter(
      (event) => event.agentId === agentId && !event.data.cancelled,
    ).length;
    const notices = of(events, "system.notification").filter(({ data }) => data.kind?.agentId === agentId).length;
    const who = `law 2: agent ${agentId?.slice(0, 8)}`;
    if (notices > ends) broken.push(`${who} came to something ${ends} times, and ${notices} notices were delivered`);
    if (first?.data.executionMode === "background" && ends > 0 && notices === 0)
      broken.push(`${who} came to something, and its owner was never notified`);
  }
  return broken;
}

/** Law 3, the part that a log shows: depth, and hooks before every call wherever there are hooks. */
export function limitsPassed(events: readonly LawEvent[], { maxDepth }: Witness): string[] {
  const started = of(events, "subagent.started");
  const fleets = new Set(started.filter(({ data }) => data.agentType === "fleet").map(({ agentId }) => agentId)); // No agents.
  const broken = started
    .filter(({ data }) => data.agentType !== "mcp-task")
    .filter(({ data }) => (data.path ?? []).filter((id) => !fleets.has(id)).length > maxDepth)
    .map(({ data }) => `law 3: ${place(data.pathNames)} is deeper than ${maxDepth}`);
  if (of(events, "hook.start").length === 0) return broken;
  const hooked = countBy(
    of(events, "hook.start").filter(({ data }) => data.hookType === "preToolUse"),
    ({ agentId = "main" }) => agentId,
  );
  const ran = of(events, "tool.execution_complete").filter((event) => event.data.success);
  for (const [agentId, calls] of countBy(ran, ({ agentId = "main" }) => agentId)) {
    if ((hooked.get(agentId) ?? 0) < calls)
      broken.push(`law 3: ${agentId.slice(0, 8)} ran ${calls} calls and hooks saw ${hooked.get(agentId) ?? 0}`);
  }
  return broken;
}

/** Law 4 while the session is at rest: nothing runs, waits or holds a slot. */
export function leftBehind({ sessions }: Runtime): string[] {
  const broken: string[] = [];
  for (const { tree, tasks, runner } of sessions.open) {
    if (tree.limiter.taken > 0) broken.push(`law 4: ${tree.limiter.taken} places are still held`);
    if (tree.limiter.waiting > 0) broken.push(`law 4: ${tree.limiter.waiting} agents still wait for a place`);
    const asks = ASK_KINDS.flatMap((kind) => tree.asks.list(kind).map(() => kind));
    if (asks.length > 0) broken.push(`law 4: open asks: ${asks.join(", ")}`);
    if (runner.isRunning || tasks.agents.opened.some((child) => child.runner.isRunning))
      broken.push("law 4: a run goes on");
    const records = tasks.registry.records
      .list()
      .filter(({ kind }) => kind === "agent" || kind === "mcp-task" || kind === "fleet");
    const open = records.filter(({ status }) => status === "running");
    if (open.length > 0) broken.push(`law 4: still running: ${open.map(({ name }) => name).join(", ")}`);
    const idle = records.filter(({ status }) => status === "idle").map(({ id }) => id);
    const kept = tasks.agents.opened.filter(({ session }) => !idle.includes(session.id));
    if (kept.length > 0)
      broken.push(
        `law 4: open children that are not idle: ${kept.map(({ agent }) => place(agent.pathNames)).join(", ")}`,
      );
  }
  return broken;
}

/** Processes whose command line holds the mark. */
export function processesWith(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && commandLine(name).includes(mark))
    .map(Number)
    .filter((pid) => pid !== process.pid);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // It ended meanwhile.
  }
}

function of(events: readonly LawEvent[], type: string): LawEvent[] {
  return events.filter((event) => event.type === type && !event.ephemeral);
}

function endOf(events: readonly LawEvent[], callId: string): LawEvent | undefined {
  return of(events, "tool.execution_complete").find(({ data }) => data.toolCallId === callId);
}

function codeOf({ data: { error } }: LawEvent): string | undefined {
  return typeof error === "object" ? error.code : undefined;
}

function place(path: readonly string[] | undefined): string {
  return path && path.length > 0 ? path.join("/") : "main";
}

function countBy<T>(all: readonly T[], key: (each: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const each of all) counts.set(key(each), (counts.get(key(each)) ?? 0) + 1);
  return counts;
}
