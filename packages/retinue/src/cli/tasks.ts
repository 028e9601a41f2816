/**
 * `retinue tasks`: the background work of this home, in whichever process: tasks of sessions, and processes that a session has left behind.
 *
 * What a record says is compared with who is alive: work whose process is gone is not running.
 */
import { visible } from "@retinue/protocol";
import { listRuns, type RunState, stateOf } from "../host/background-runs.ts";
import type { Store } from "../store/store.ts";
import { TASK, type TaskRecord } from "../tasks/record.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { wholeSeconds } from "./seconds.ts";

export interface BackgroundWork {
  id: string;
  kind: TaskRecord["kind"] | "consolidation";
  name: string;
  description: string;
  /** `parked`: its process is gone, and it goes on when its session is resumed. */
  status: TaskRecord["status"] | RunState | "parked";
  sessionId: string;
  startedAt: string;
  endedAt?: string;
  pid?: number;
  error?: string;
}

export async function listTasks(
  flags: CommonFlags & { all: boolean; limit: number },
  context: CliContext,
): Promise<void> {
  const { terminal } = context;
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const { store } = own.runtime.sessions;
  const all = [...(await tasksOf(store)), ...(await runsOf(store))];
  all.sort((a, b) => Number(isActive(b)) - Number(isActive(a)) || b.startedAt.localeCompare(a.startedAt));
  const shown = flags.all ? all : all.slice(0, flags.limit);
  if (flags.json) return terminal.out(`${JSON.stringify(shown, null, 2)}\n`);
  if (shown.length === 0) return terminal.out("There is no background work, and there was none lately.\n");
  for (const each of shown) terminal.out(`${lineOf(each)}\n`);
  if (shown.length < all.length) terminal.note(`${all.length - shown.length} more: retinue tasks --all`);
}

const isActive = ({ status }: BackgroundWork): boolean => status === "running" || status === "starting";

function lineOf({
  status,
  kind,
  name,
  description,
  sessionId,
  startedAt,
  endedAt,
  pid,
  error,
}: BackgroundWork): string {
  const took = wholeSeconds((endedAt === undefined ? Date.now() : Date.parse(endedAt)) - Date.parse(startedAt));
  const facts = [took, `session ${visible(sessionId.slice(0, 8))}`, ...(pid === undefined ? [] : [`process ${pid}`])];
  const why = error === undefined || error === "" ? "" : `\n           ${visible(error.slice(0, MAX_WORDS))}`;
  const title = visible(`${name}: ${description}`.slice(0, MAX_WORDS));
  return `${status.padEnd(9)}  ${kind} ${title} (${facts.join(", ")})${why}`;
}

const MAX_WORDS = 200;

async function tasksOf({ documents, leases }: Store): Promise<BackgroundWork[]> {
  const { found } = await TASK.list(documents, "");
  const background = found.map(({ value }) => value).filter(({ mode }) => mode === "background");
  const open = new Map<string, boolean>();
  for (const { rootId, status } of background)
    if (status === "running" && !open.has(rootId)) open.set(rootId, (await leases.holder(rootId)) !== undefined);
  return background.map((task) => ({
    id: task.id,
    kind: task.kind,
    name: task.name,
    description: task.description,
    status: task.status === "running" && !open.get(task.rootId) ? "parked" : task.status,
    sessionId: task.rootId,
    startedAt: iso(task.startedAt),
    ...(task.completedAt === undefined ? {} : { endedAt: iso(task.completedAt) }),
    ...(task.error === undefined ? {} : { error: task.error }),
  }));
}

async function runsOf({ documents }: Store): Promise<BackgroundWork[]> {
  const now = Date.now();
  return (await listRuns(documents)).map(({ id, run }) => ({
    id,
    kind: run.kind,
    name: "rem-consolidate",
    description: "Consolidate session learnings",
    status: stateOf(run, now),
    sessionId: run.sessionId,
    startedAt: iso(run.startedAt),
    ...(run.end ? { endedAt: iso(run.end.at), error: run.end.words } : {}),
    ...(run.holder ? { pid: run.holder.pid } : {}),
  }));
}

const iso = (ms: number): string => new Date(ms).toISOString();
