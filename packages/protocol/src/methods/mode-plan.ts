/** Calls about the mode of a session and its plan. */
import * as z from "zod";
import { byName, justSession, method, nothing, ofSession } from "../method.ts";
import { flag, lazy, Mode, type Of, text } from "../schema.ts";

export const Todo = lazy(() =>
  z.object({ id: text(), title: text(), description: z.string().nullish(), status: text(), createdAt: text() }),
);
export type Todo = Of<typeof Todo>;

export const MODE_METHODS = byName(
  method("session.mode.get", {
    summary: "The mode, as a bare word.",
    params: justSession,
    result: Mode,
  }),
  method("session.mode.set", {
    summary: "Changes the mode.",
    params: () => ofSession({ mode: Mode(), expectedMode: Mode().optional(), planModel: text() }),
    result: () =>
      z.object({
        status: z.string(),
        modelChanged: z.boolean(),
        modeApplied: flag(),
        warning: text(),
        message: text(),
      }),
  }),
);

export const PLAN_METHODS = byName(
  method("session.plan.read", {
    summary: "The text of plan.md.",
    params: justSession,
    result: () => z.object({ exists: z.boolean(), content: z.string().nullable(), path: z.string().nullable() }),
  }),
  method("session.plan.update", {
    summary: "Writes plan.md.",
    params: () => ofSession({ content: z.string() }),
    result: nothing,
  }),
  method("session.plan.delete", {
    summary: "Removes plan.md.",
    params: justSession,
    result: nothing,
  }),
  method("session.plan.readSqlTodos", {
    summary: "The todos of the session database.",
    params: justSession,
    result: () => z.object({ rows: z.array(Todo()) }),
  }),
  method("session.plan.readSqlTodosWithDependencies", {
    summary: "The todos and what each waits for.",
    params: justSession,
    result: () =>
      z.object({
        rows: z.array(Todo()),
        dependencies: z.array(z.object({ todoId: z.string(), dependsOn: z.string() })),
      }),
  }),
);
