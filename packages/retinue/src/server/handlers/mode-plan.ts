/** The mode of a session, its plan and its todos. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Result, Todo } from "@retinue/protocol";
import * as z from "zod";
import type { HostedSession } from "../../host/hosted-session.ts";
import { setMode } from "../../host/mode.ts";
import { checkModel, switchModel } from "../../host/model-switch.ts";
import { planPath, readPlan } from "../../session/folder.ts";
import { writePrivateFile } from "../../store/private-files.ts";
import { splitStatements } from "../../tools/sql/sql-statements.ts";
import { type Handlers, hosted } from "../handler.ts";

export const modeHandlers: Handlers = {
  "session.mode.get": (params, scope) => hosted(params, scope).session.state.mode,
  "session.mode.set": (params, scope) => {
    const target = hosted(params, scope);
    const { tree, session } = target;
    const { mode, expectedMode, planModel } = params;
    if (expectedMode !== undefined && expectedMode !== session.state.mode) {
      const message = `The mode is ${session.state.mode}, not ${expectedMode}`;
      return { status: "unchanged", modelChanged: false, modeApplied: false, message };
    }
    const modelChanged = mode === "plan" && planModel !== undefined && planModel !== session.state.model;
    if (modelChanged) {
      checkModel(tree, planModel);
      switchModel(target, { model: planModel, source: "sdk", cause: "plan_mode" });
    }
    setMode(session, mode);
    return { status: modelChanged ? "applied" : "unchanged", modelChanged, modeApplied: true };
  },

  "session.plan.read": (params, scope) => {
    const { folder } = hosted(params, scope).session.place;
    const content = readPlan(folder);
    return { exists: content !== undefined, content: content ?? null, path: planPath(folder) };
  },
  "session.plan.update": (params, scope) => {
    const { session } = hosted(params, scope);
    const { folder } = session.place;
    const operation = existsSync(planPath(folder)) ? "update" : "create";
    writePrivateFile(planPath(folder), params.content);
    session.append("session.plan_changed", { operation });
  },
  "session.plan.delete": (params, scope) => {
    const { session } = hosted(params, scope);
    const path = planPath(session.place.folder);
    if (!existsSync(path)) return;
    rmSync(path);
    session.append("session.plan_changed", { operation: "delete" });
  },
  "session.plan.readSqlTodos": async (params, scope) => ({
    rows: (await readTodos(hosted(params, scope), scope)).rows,
  }),
  "session.plan.readSqlTodosWithDependencies": (params, scope) => readTodos(hosted(params, scope), scope),
};

const Row = z
  .object({
    id: z.string(),
    title: z.string(),
    description: z.string().nullable(),
    status: z.string(),
    created_at: z.string(),
  })
  .transform(({ created_at: createdAt, ...todo }): Todo => ({ ...todo, createdAt }));
const Dependency = z
  .object({ todo_id: z.string(), depends_on: z.string() })
  .transform(({ todo_id: todoId, depends_on: dependsOn }) => ({ todoId, dependsOn }));

const TODOS = splitStatements(`
  SELECT * FROM todos ORDER BY created_at, rowid;
  SELECT * FROM todo_deps ORDER BY todo_id, depends_on;
`);
const MAX_TODOS = 100_000;

/** The model may have changed the tables: rows that are not valid todos are left out. */
async function readTodos(
  { session, tree }: HostedSession,
  { signal }: { signal: AbortSignal },
): Promise<Result<"session.plan.readSqlTodosWithDependencies">> {
  const { folder } = session.place;
  if (!existsSync(join(folder, "session.db"))) return { rows: [], dependencies: [] };
  const [todos, dependencies] = await tree.services.database.run(
    { folder, statements: TODOS, maxRows: MAX_TODOS },
    { signal },
  );
  return { rows: readable(todos?.rows ?? [], Row), dependencies: readable(dependencies?.rows ?? [], Dependency) };
}

function readable<Schema extends z.ZodType>(rows: readonly unknown[], schema: Schema): z.output<Schema>[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}
