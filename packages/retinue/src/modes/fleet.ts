/**
 * Starting a fleet, for everybody who can: a slash command, an approved plan, a program.
 *
 * Either the main agent is asked for the plan, or a program gives the graph. What happens then is in tasks/executors/fleet.ts.
 */
import { AppError, type CommandOutcome, type Params } from "@retinue/protocol";
import { fleetRecord } from "../host/fleet-report.ts";
import type { HostedSession } from "../host/hosted-session.ts";
import { followTrust } from "../host/project-trust.ts";
import { readPlan } from "../session/folder.ts";
import type { AgentMode } from "../session/inbox-entry.ts";
import { unusableSchema } from "../tools/schema-check.ts";
import { repositoryAround } from "../workspace/worktrees/repository.ts";
import { type CommandCall, completed } from "./command.ts";
import fleetWords from "./words/fleet.md";

export type FleetRequest = Omit<Params<"session.fleet.start">, "sessionId" | "wait">;

export function fleetPrompt(request: string): string {
  return request === "" ? fleetWords.trim() : `${fleetWords.trim()}\n\nThe work:\n\n${request}`;
}

export const fleetTitle = (request: string): string =>
  request === "" ? "Fleet deployed" : `Fleet deployed: ${request}`;

/** `/fleet [--worktree] the work`. An option that is none is refused, since nobody means it for the model; after `--` all is the work. */
export async function fleetCommand({ target, input, signal, sent }: CommandCall): Promise<CommandOutcome> {
  let prompt = input.trim();
  let isolation: FleetRequest["isolation"];
  for (let word = optionIn(prompt); word !== undefined; word = optionIn(prompt)) {
    prompt = prompt.slice(word.length).trimStart();
    if (word === "--") break;
    if (word !== "--worktree") throw new AppError("invalid_params", `/fleet knows the option --worktree, not ${word}`);
    isolation = "worktree";
  }
  if (prompt === "" && !hasWork(target))
    throw new AppError("invalid_params", "/fleet needs the work: nothing was said or planned in this session yet");
  const { attachments, agentMode } = sent ?? {};
  await startFleet(target, { prompt, isolation, attachments }, { signal, agentMode });
  return completed(fleetTitle(prompt));
}

const optionIn = (line: string): string | undefined => /^--\S*/.exec(line)?.[0];

/** Without words the work is what was talked about or planned. */
const hasWork = ({ session }: HostedSession): boolean =>
  session.state.userPrompts > 0 || Boolean(readPlan(session.place.folder)?.trim());

/** Resolves with its id when the start is recorded. */
export async function startFleet(
  target: HostedSession,
  request: FleetRequest,
  { signal, agentMode }: { signal: AbortSignal; agentMode?: AgentMode },
): Promise<string> {
  const { prompt = "", attachments, todos, deps = [], maxConcurrent, retries, isolation = "none", schema } = request;
  if (!todos && deps.length > 0) throw invalid("deps without todos");
  checkSchema(schema, "the fleet");
  if (todos) checkGraph(todos, deps);
  const { session, tasks, runner } = target;
  // Said now and not by every agent, which would cost the plan.
  if (isolation === "worktree") await repositoryAround(session.place.workingDirectory, signal);
  await followTrust(target);
  const { id } = await tasks.fleets.begin({
    request: prompt,
    prompt: todos
      ? undefined
      : { prompt: fleetPrompt(prompt), displayPrompt: fleetTitle(prompt), attachments, agentMode },
    graph: todos && { todos, deps },
    maxConcurrent,
    retries,
    isolation: isolation === "none" ? undefined : isolation,
    schema,
  });
  session.announce("pending_messages.modified", {});
  runner.wake();
  return id;
}

/** The whole of it: for a plan, until the main agent has had the last word; for given todos, until they have ended. */
export async function fleetOver(target: HostedSession, id: string, { signal }: { signal: AbortSignal }): Promise<void> {
  const { tasks, runner } = target;
  const { isGiven } = fleetRecord(target, id);
  // Whoever gave the todos gets the results, so the main agent is not woken to report them.
  await tasks.registry.wait(id, { afterTurns: Number.POSITIVE_INFINITY, isBystander: !isGiven, signal });
  if (!isGiven) await runner.ended();
}

function checkGraph(todos: NonNullable<FleetRequest["todos"]>, deps: NonNullable<FleetRequest["deps"]>): void {
  const ids = new Set(todos.map(({ id }) => id));
  if (todos.length === 0) throw invalid("todos is empty");
  if (ids.size < todos.length) {
    const seen = new Set<string>();
    const twice = todos.find(({ id }) => seen.has(id) || !seen.add(id))?.id;
    throw invalid(`two todos have the id ${twice}`);
  }
  for (const { todoId, dependsOn } of deps)
    for (const id of [todoId, dependsOn])
      if (!ids.has(id)) throw invalid(`deps name ${id}, which is none of the todos`);
  for (const { id, schema } of todos) checkSchema(schema, `the todo ${id}`);
}

/** Said at the start, since a program has a mistake to mend; one that the model plans with is refused with its agent. */
function checkSchema(schema: FleetRequest["schema"], whose: string): void {
  const unusable = schema && unusableSchema(schema);
  if (unusable !== undefined) throw invalid(`${unusable} It is that of ${whose}.`);
}

const invalid = (words: string) => new AppError("invalid_params", `Invalid fleet: ${words}`);
