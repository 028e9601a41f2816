/** Fleets of a session as its program sees them: todos, most of all a graph of its own, that several agents work off. */
import type { FleetDependency, FleetReport, FleetResult, FleetTodo } from "@retinue/protocol";
import { AnswerError } from "./ask.ts";
import { checkResult, formOf, type ResultOf, type ResultSchema } from "./result-schema.ts";
import type { SessionRpc } from "./rpc.ts";

export interface FleetOptions<Schema extends ResultSchema | undefined = ResultSchema | undefined> {
  /** How many agents work at the same time at most. */
  maxConcurrent?: number;
  /** How often a todo that failed is tried again (default 1). */
  retries?: number;
  /** `worktree`: each agent writes in a git worktree of its own, and its changes are merged when it has completed. */
  isolation?: "none" | "worktree";
  /** What the results of todos without a schema of their own must be: JSON Schema, or a schema that can describe itself so, such as zod. */
  schema?: Schema;
}

/** A todo of a graph. With a schema its result is data. */
export interface TypedTodo extends Omit<FleetTodo, "schema"> {
  schema?: ResultSchema;
}

export interface FleetGraph<
  Todos extends readonly TypedTodo[] = readonly TypedTodo[],
  Schema extends ResultSchema | undefined = ResultSchema | undefined,
> extends FleetOptions<Schema> {
  todos: Todos;
  /** What must be done before what. */
  deps?: readonly FleetDependency[];
}

export interface FleetPlan<Schema extends ResultSchema | undefined = ResultSchema | undefined>
  extends FleetOptions<Schema> {
  /** The work that the main agent splits into todos. */
  prompt?: string;
}

/** By the id of its todo, what each agent with a schema has answered. One that is not done has nothing. */
export type FleetData<Todos extends readonly TypedTodo[], Schema> = {
  [Todo in Todos[number] as Todo["id"]]?: Todo extends { schema: infer Own } ? ResultOf<Own> : ResultOf<Schema>;
};

export interface TypedFleetReport<Data> extends FleetReport {
  data: Data;
}

export class SessionFleet {
  readonly #rpc: SessionRpc;

  constructor(rpc: SessionRpc) {
    this.#rpc = rpc;
  }

  /** Starts a fleet, for a graph or for what the main agent plans. Resolves with its id; the main agent is told when it has ended. */
  async start(work: FleetGraph | FleetPlan): Promise<string> {
    return (await this.#rpc.fleet.start(sent(work))).fleetId ?? "";
  }

  /**
   * The same, and resolves when it is over with what every todo came to. A todo that failed does not reject; its result says so. `data` has the
   * results of todos with a schema, with its type.
   */
  run<const Todos extends readonly TypedTodo[], Schema extends ResultSchema | undefined = undefined>(
    work: FleetGraph<Todos, Schema>,
  ): Promise<TypedFleetReport<FleetData<Todos, Schema>>>;
  run<Schema extends ResultSchema | undefined = undefined>(
    work: FleetPlan<Schema>,
  ): Promise<TypedFleetReport<Record<string, ResultOf<Schema>>>>;
  async run(work: FleetGraph | FleetPlan): Promise<TypedFleetReport<Record<string, unknown>>> {
    const { report, fleetId } = await this.#rpc.fleet.start({ ...sent(work), wait: true });
    return await withData(report ?? (await this.read(fleetId)), work);
  }

  /** What the todos have come to so far; of the latest fleet when none is named. */
  async read(fleetId?: string): Promise<FleetReport> {
    return await this.#rpc.fleet.read({ fleetId });
  }

  /** The same when it is over: for a program that comes back to a fleet which it has left. */
  async wait(fleetId?: string): Promise<FleetReport> {
    return await this.#rpc.fleet.read({ fleetId, wait: true });
  }
}

function sent({ schema: all, ...work }: FleetGraph | FleetPlan) {
  const schema = all && formOf(all);
  if (!("todos" in work)) return { ...work, schema };
  const todos = work.todos.map((todo) => ({ ...todo, schema: todo.schema && formOf(todo.schema) }));
  return { ...work, schema, todos, deps: work.deps && [...work.deps] };
}

/** One result that the program's own schema does not take must not cost the others, so it is an error of that result. */
async function withData(
  report: FleetReport,
  work: FleetGraph | FleetPlan,
): Promise<TypedFleetReport<Record<string, unknown>>> {
  const own = new Map("todos" in work ? work.todos.map(({ id, schema }) => [id, schema]) : []);
  const data: [string, unknown][] = [];
  const results: FleetResult[] = [];
  for (const result of report.results) {
    const { todoId, typedResult, text = "" } = result;
    const schema = own.get(todoId) ?? work.schema;
    const checked = typedResult === undefined ? undefined : await checkResult(typedResult, schema ?? {});
    results.push(checked?.issues ? { ...result, error: new AnswerError(text, checked.issues).message } : result);
    if (checked && !checked.issues) data.push([todoId, checked.value]);
  }
  return { ...report, results, data: Object.fromEntries(data) };
}
