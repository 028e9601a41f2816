/**
 * Whether an answer fits a JSON Schema: for gates and for results that are data.
 *
 * The validator is loaded with the first check. It interprets the schema and makes no code of it, because a schema may come from a model.
 */
import { runInNewContext } from "node:vm";
import { messageOf, wrongPlace } from "@retinue/protocol";
import * as z from "zod";
import { badReference } from "./schema-references.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Fit = { ok: true; value: unknown } | { ok: false; problem: string };

/** More is no result that anybody reads. */
const MAX_CHARACTERS = 1024 * 1024;
const MAX_PROBLEM = 2000;
/** A pattern of a schema can take for ever on an answer that was written for it. */
const LIMIT_MS = 1000;

/** The value in an answer: the whole of it is JSON, or it has exactly one fenced block and that is JSON. */
export async function fitAnswer(schema: JsonSchema, answer: string): Promise<Fit> {
  if (answer.length > MAX_CHARACTERS) return unfit(`it is longer than ${MAX_CHARACTERS} characters`);
  const read = jsonIn(answer);
  return read.ok ? await fitValue(schema, read.value) : read;
}

export async function fitValue(schema: JsonSchema, value: unknown): Promise<Fit> {
  const { CfWorkerJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/cf-worker");
  try {
    const validate = new CfWorkerJsonSchemaValidator({ shortcircuit: false }).getValidator(schema);
    const { valid, errorMessage } = within(LIMIT_MS, () => validate(value));
    return valid ? { ok: true, value } : unfit(errorMessage ?? "it does not fit");
  } catch (error) {
    return unfit(`the schema cannot be used: ${messageOf(error)}`);
  }
}

/** A timer cannot interrupt what runs without a pause; the engine can, even in the middle of a pattern. */
function within<T>(ms: number, work: () => T): T {
  const done: T[] = [];
  runInNewContext("work()", { work: () => done.push(work()) }, { timeout: ms });
  const [first] = done;
  if (first === undefined) throw new Error("it came to nothing");
  return first;
}

/** A larger one would fill the context of the agent. */
const MAX_SCHEMA = 64 * 1024;

/** Why an agent cannot be asked for this, in words; undefined when it can. */
export function unusableSchema(schema: JsonSchema): string | undefined {
  const problem = schemaProblem(schema);
  if (problem !== undefined) return `The schema cannot be used: ${problem}.`;
  const { length } = JSON.stringify(schema);
  return length > MAX_SCHEMA ? `The schema has ${length} characters; at most ${MAX_SCHEMA} are read.` : undefined;
}

/** What is wrong with a schema; undefined when it can be used. The validator itself takes a misspelt type for one that nothing has. */
export function schemaProblem(schema: unknown): string | undefined {
  if (depthOf(schema) > MAX_DEPTH) return `it is deeper than ${MAX_DEPTH} levels`;
  const parsed = Schema.safeParse(schema);
  if (parsed.success) return badReference(schema);
  const [issue] = parsed.error.issues;
  if (issue === undefined) return "it cannot be read";
  const { path, message } = wrongPlace(issue);
  return path.length === 0 ? `it is no JSON Schema (${message})` : `"${path.join(".")}": ${message}`;
}

const MAX_DEPTH = 100;

/** Level by level: what is too deep to be read is too deep to be counted by recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  let level = [value];
  while (level.length > 0 && depth <= MAX_DEPTH) {
    depth++;
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
  return depth;
}

const TypeName = z.enum(["object", "array", "string", "number", "integer", "boolean", "null"]);

const NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const COUNTS = [
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"],
  ...["minContains", "maxContains"],
];

const Schema: z.ZodType = z.lazy(() =>
  z.looseObject({
    $schema: z.string().refine(isKnownDialect, "expected 2020-12, 2019-09, draft-07 or draft-06").optional(),
    $ref: z.string().startsWith("#", "only references into the schema itself are followed").optional(),
    $dynamicRef: z.undefined({ error: "it is not followed; use $ref" }).optional(),
    type: z
      .union([TypeName, z.array(TypeName).min(1)], {
        error: `expected ${TypeName.options.join(", ")} or a list of these`,
      })
      .optional(),
    properties: z.record(z.string(), Below).optional(),
    patternProperties: z.record(z.string().refine(isPattern), Below).optional(),
    additionalProperties: Below.optional(),
    unevaluatedProperties: Below.optional(),
    propertyNames: Below.optional(),
    dependentSchemas: z.record(z.string(), Below).optional(),
    items: z.union([Below, z.array(Below)]).optional(),
    prefixItems: z.array(Below).optional(),
    additionalItems: Below.optional(),
    unevaluatedItems: Below.optional(),
    contains: Below.optional(),
    required: z.array(z.string()).optional(),
    enum: z.array(z.unknown()).optional(),
    pattern: z.string().refine(isPattern, "it is no regular expression").optional(),
    anyOf: z.array(Below).optional(),
    oneOf: z.array(Below).optional(),
    allOf: z.array(Below).optional(),
    not: Below.optional(),
    if: Below.optional(),
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    then: Below.optional(),
    else: Below.optional(),
    ...Object.fromEntries(NUMBERS.map((key) => [key, z.number().optional()])),
    ...Object.fromEntries(COUNTS.map((key) => [key, z.number().int().min(0).optional()])),
    multipleOf: z.number().positive().optional(),
    $defs: z.record(z.string(), Below).optional(),
    definitions: z.record(z.string(), Below).optional(),
  }),
);

const Below: z.ZodType = z.lazy(() => z.union([z.boolean(), Schema]));

const isKnownDialect = (name: string): boolean =>
  /^https?:\/\/json-schema\.org\/(draft\/(2020-12|2019-09)|draft-0[67])\/schema#?$/.test(name);

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false; // The message is that of the field.
  }
}

function jsonIn(answer: string): Fit {
  const text = answer.trim();
  const whole = parsed(text);
  if (whole) return { ok: true, value: whole.value };
  const blocks = fencedBlocks(text);
  const [only] = blocks;
  const inBlock = only !== undefined && blocks.length === 1 ? parsed(only) : undefined;
  if (inBlock) return { ok: true, value: inBlock.value };
  return unfit("it is not JSON. Answer with the JSON value alone");
}

/** By lines: a pattern over the whole text could take quadratic time. */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: string[] | undefined;
  for (const line of text.split("\n")) {
    const isFence = line.trimStart().startsWith("```");
    if (!isFence) open?.push(line);
    else if (open) {
      blocks.push(open.join("\n"));
      open = undefined;
    } else open = [];
  }
  return blocks;
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: z.json().parse(JSON.parse(text)) };
  } catch {
    return undefined; // It is not JSON; the caller says so.
  }
}

const unfit = (problem: string): Fit => ({
  ok: false,
  problem: problem.length > MAX_PROBLEM ? `${problem.slice(0, MAX_PROBLEM)}…` : problem,
});
