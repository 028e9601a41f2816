/**
 * Markdown with a YAML head (`---`): splits, parses and checks it, with file and line in every error.
 *
 * Used for agents (`*.agent.md`) and skills (`SKILL.md`). The head is data only; nothing in it is ever run.
 */
import { AppError } from "@retinue/protocol";
import { isNode, LineCounter, parseDocument } from "yaml";
import type * as z from "zod";

export interface FrontMatter<Head> {
  head: Head;
  /** The text after the head, trimmed. */
  body: string;
}

const FENCE = /^---[ \t]*$/;

/** Parses `text`; `file` is only for messages. A text without a head is checked as an empty head. */
export function parseFrontMatter<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  file: string,
): FrontMatter<z.output<Schema>> {
  const { yaml, body } = split(text.replace(/^\uFEFF/, ""), file);
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
  const [broken] = document.errors;
  // The head starts on line 2 of the file, under the fence.
  if (broken) throw complaint(file, lines.linePos(broken.pos[0]).line + 1, broken.message);

  const parsed = schema.safeParse(document.toJS({ maxAliasCount: 20 }) ?? {});
  if (parsed.success) return { head: parsed.data, body };
  const [issue] = parsed.error.issues;
  const path = issue?.path.map(String) ?? [];
  throw complaint(file, lineOf(path), `${path.join(".") || "front matter"}: ${issue?.message ?? "not valid"}`);

  /** The line of the deepest value on the path that exists. */
  function lineOf(wanted: readonly string[]): number {
    for (let length = wanted.length; length > 0; length--) {
      const node = document.getIn(wanted.slice(0, length), true);
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line + 1;
    }
    return 1;
  }
}

function split(text: string, file: string): { yaml: string; body: string } {
  const lines = text.split(/\r?\n/);
  if (!FENCE.test(lines[0] ?? "")) return { yaml: "", body: text.trim() };
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end < 0) throw complaint(file, 1, "the front matter has no closing ---");
  const yaml = lines.slice(1, end).join("\n");
  return {
    yaml,
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

function complaint(file: string, line: number, problem: string): AppError {
  return new AppError("invalid_params", `${file}:${line}: ${problem}`);
}
