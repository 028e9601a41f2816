/**
 * Results that are data: what an agent is told about the schema of its answer, and what becomes of an answer that does not fit.
 *
 * Each run is judged by its final answer. One that does not fit goes back to the agent with the reason, a few times; then the run has failed, and the
 * answer stays in its turns.
 */
import { fitAnswer } from "../../tools/schema-check.ts";
import type { End } from "../moves.ts";
import type { AgentRecord } from "../record.ts";
import misfitWords from "./misfit.md";
import words from "./typed-result.md";

export const MAX_CORRECTIONS = 3;

/** A prompt with the form of its answer before it. */
export function withSchema(prompt: string, { schema }: Pick<AgentRecord, "schema">): string {
  if (!schema) return prompt;
  const asked = words.trim().replace("{{schema}}", () => JSON.stringify(schema, null, 2));
  return `${asked}\n\n${prompt}`;
}

/** For endpoints that can be told the form of an answer; these take objects only. */
export function responseFormat({ schema }: Pick<AgentRecord, "schema">): unknown {
  if (schema?.type !== "object") return undefined;
  return { type: "json_schema", jsonSchema: { name: "result", schema, strict: false } };
}

/** `next` is what the agent must read before its run can end. */
export type Judged = { end: End } | { next: string };

export async function judge(end: End, record: AgentRecord): Promise<Judged> {
  const { schema, corrections = 0 } = record;
  if (!schema || end.way !== "completed") return { end };
  const fit = await fitAnswer(schema, end.text ?? "");
  if (fit.ok) return { end: { ...end, text: JSON.stringify(fit.value), result: { value: fit.value } } };
  if (corrections < MAX_CORRECTIONS) return { next: misfitWords.trim().replace("{{problem}}", () => fit.problem) };
  const error = `The answer does not fit the schema, after ${MAX_CORRECTIONS} corrections: ${fit.problem}`;
  return { end: { way: "failed", error, text: end.text } };
}
