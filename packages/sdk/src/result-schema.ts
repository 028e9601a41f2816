/** The schema of a sub-agent's result: JSON Schema, which the runtime checks, or one such as zod, which also gives the result its type. */
import { AppError } from "@retinue/protocol";
import type { AnswerSchema, Checked } from "./ask.ts";

export type ResultSchema = AnswerSchema | Record<string, unknown>;

export type ResultOf<Schema> = Schema extends AnswerSchema<infer Data> ? Data : unknown;

const isStandard = (schema: ResultSchema): schema is AnswerSchema => "~standard" in schema;

/** What the runtime and the model read. */
export function formOf(schema: ResultSchema): Record<string, unknown> {
  const form = isStandard(schema) ? schema.toJSONSchema?.({ io: "input" }) : schema;
  if (!form) throw new AppError("invalid_params", "The schema cannot describe itself as JSON Schema.");
  return { ...form };
}

/** A result that the runtime has found to fit, as the schema itself sees it: it may ask for more than its JSON Schema says, and change the value. */
export async function checkResult(value: unknown, schema: ResultSchema): Promise<Checked<unknown>> {
  return isStandard(schema) ? await schema["~standard"].validate(value) : { value };
}
