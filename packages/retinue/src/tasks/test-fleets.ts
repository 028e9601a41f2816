/** For tests of fleets: turns of a todo's agent, and what the tables say. */
import type { FleetReport } from "@retinue/protocol";
import type { ModelRequest } from "../models/provider.ts";
import { call, type ScriptedCall, type Step, type Turn, when } from "../models/scripted.ts";
import type { TestClient } from "../server/handlers/small-world.ts";
import type { Held } from "./test-tasks.ts";
import { userTexts } from "./test-tasks.ts";

/** The next turn of the agent of this todo. */
export const todo = (id: string, ...steps: Step[]): Turn => todoTurn(id, steps);
export const todoHeld = (id: string, { turn }: Pick<Held, "turn">): Turn => todoTurn(id, turn);

function todoTurn(id: string, turn: Turn): Turn {
  return when((request) => todoOf(request) === id, turn);
}

/** The next turn of the main agent. */
export const lead = (...steps: Step[]): Turn => leadHeld({ turn: steps });
export const leadHeld = ({ turn }: { turn: Turn }): Turn => when((request) => todoOf(request) === undefined, turn);

/** The todo that the agent of a request works on. */
export function todoOf(request: ModelRequest): string | undefined {
  return /Yours is the todo `([^`]+)`/.exec(userTexts(request)[0] ?? "")?.[1];
}

/** The main agent writes a plan: `b<a` says that b waits for a. */
export function plan(...todos: string[]): ScriptedCall {
  const rows = todos.map((each) => each.split("<"));
  const inserts = rows.map(
    ([id]) => `INSERT INTO todos (id, title, description) VALUES ('${id}', 'Do ${id}', 'All about ${id}.')`,
  );
  const deps = rows.flatMap(([id, ...needed]) =>
    needed.map((each) => `INSERT INTO todo_deps (todo_id, depends_on) VALUES ('${id}', '${each}')`),
  );
  return sql([...inserts, ...deps].join("; "));
}

export const sql = (query: string): ScriptedCall => call("sql", { query });

/** A graph that a program gives, in the same notation. */
export function graph(...todos: string[]) {
  const rows = todos.map((each) => each.split("<"));
  return {
    todos: rows.map(([id = ""]) => ({ id, title: `Do ${id}`, description: `All about ${id}.` })),
    deps: rows.flatMap(([todoId = "", ...needed]) => needed.map((dependsOn) => ({ todoId, dependsOn }))),
  };
}

export async function statuses(client: TestClient, sessionId: string): Promise<Record<string, string>> {
  const { rows } = await client.call("session.plan.readSqlTodos", { sessionId });
  return Object.fromEntries(rows.map(({ id, status }) => [id, status ?? ""]));
}

export function shortly({ results }: Pick<FleetReport, "results">): Record<string, string> {
  return Object.fromEntries(results.map(({ todoId, status, text, error }) => [todoId, `${status}: ${text ?? error}`]));
}
