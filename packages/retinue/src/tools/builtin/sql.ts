/** Runs SQL on the session's own database, and announces when the todos changed. */
import { lazy, messageOf } from "@retinue/protocol";
import * as z from "zod";
import { refuseTooLong } from "../longest.ts";
import { boundOutput, type OutputLimit } from "../output.ts";
import { type SqlStatement, splitStatements } from "../sql/sql-statements.ts";
import { type CallContext, defineTool, failure, type Outcome, type SqlResult, success, type Tool } from "../tool.ts";
import description from "./sql.md";

const input = lazy(() =>
  z.object({
    description: z.string().optional().describe("What it is for, in a few words."),
    query: z.string().describe("One or more SQL statements."),
  }),
);

export const sqlTool = (limit: OutputLimit = {}): Tool =>
  defineTool({
    name: "sql",
    description,
    input,
    readOnly: false,
    prepare({ query }, context) {
      refuseTooLong("sql", query);
      return { run: () => sql(query, { context, limit }) };
    },
  });

async function sql(query: string, { context, limit }: { context: CallContext; limit: OutputLimit }): Promise<Outcome> {
  const { sessionFolder, signal, services } = context;
  if (!services.database) return failure("There is no database in this session.");
  const statements = splitStatements(query);
  if (statements.length === 0) return sqlError("there is no statement in the query");
  let results: SqlResult[];
  try {
    results = await services.database.run({ folder: sessionFolder, statements }, { signal });
  } catch (error) {
    return sqlError(messageOf(error));
  }
  if (statements.some(changesTodos)) context.announce("session.todos_changed", {});
  const parts = statements.flatMap((statement, index) => {
    const result = results[index];
    return result ? [describeResult(result, statement)] : [];
  });
  const { text } = boundOutput(parts.join("\n\n"), {
    maxBytes: limit.maxBytes,
    tempFolder: limit.folder ?? context.tempFolder,
    name: "sql",
  });
  return success(text, { detail: `SQL: ${query}\n\n${text}` });
}

const sqlError = (message: string) => failure(`SQL Error: ${message}`, { error: `Error: ${message}` });

const READS = new Set(["SELECT", "EXPLAIN", "PRAGMA", "VALUES"]);
const isRead = ({ verb, text }: SqlStatement) =>
  READS.has(verb) || (verb === "WITH" && !/\b(insert|update|delete|replace)\b/i.test(text));
const changesTodos = (statement: SqlStatement) => !isRead(statement) && /\btodo(s|_deps)\b/i.test(statement.text);

function describeResult(result: SqlResult, statement: SqlStatement): string {
  if (result.rows.length > 0) return describeRows(result);
  if (isRead(statement)) return "0 row(s) returned.";
  switch (statement.verb) {
    case "INSERT":
    case "REPLACE":
      return `${result.changes} row(s) inserted. Last inserted row ID: ${result.lastId}.`;
    case "UPDATE":
      return `${result.changes} row(s) updated.`;
    case "DELETE":
      return `${result.changes} row(s) deleted.`;
    case "WITH":
      return `${result.changes} row(s) changed.`;
    default:
      return `Done: ${statement.verb}.`;
  }
}

function describeRows({ rows, isCut }: SqlResult): string {
  const columns = Object.keys(rows[0] ?? {});
  const line = (cells: readonly unknown[]) => `| ${cells.map(cell).join(" | ")} |`;
  const table = [line(columns), line(columns.map(() => "---")), ...rows.map((row) => line(Object.values(row)))];
  const note = isCut ? `\n\n[only the first ${rows.length} rows are shown]` : "";
  return `${rows.length} row(s) returned:\n\n${table.join("\n")}${note}`;
}

function cell(value: unknown): string {
  if (value === null) return "NULL";
  return String(value).replaceAll("|", "\\|").replace(/\r?\n/g, "<br>");
}
