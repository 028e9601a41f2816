/**
 * What a method is: its wire name, its parameters, its result and one sentence about it.
 *
 * The server's table, the client's calls, the generated page and the tests all read these values. Schemas are built on first use.
 */
import * as z from "zod";
import { AppError } from "./errors.ts";
import { type Lazy, lazy } from "./schema.ts";
import { wrongPlace } from "./wrong-place.ts";

export interface Method<
  Name extends string = string,
  Params extends z.ZodType = z.ZodType,
  Result extends z.ZodType = z.ZodType,
> {
  readonly name: Name;
  readonly params: Lazy<Params>;
  readonly result: Lazy<Result>;
  readonly summary: string;
}

export function method<const Name extends string, Params extends z.ZodType, Result extends z.ZodType>(
  name: Name,
  { params, result, summary }: { params: () => Params; result: () => Result; summary: string },
): Method<Name, Params, Result> {
  return { name, params: lazy(params), result: lazy(result), summary };
}

type ByName<Named extends { readonly name: string }> = { readonly [One in Named as One["name"]]: One };

/** Methods as a record by wire name. */
export function byName<const All extends readonly { readonly name: string }[]>(...all: All): ByName<All[number]> {
  return Object.fromEntries(all.map((one) => [one.name, one])) as ByName<All[number]>;
}

/** Parameters of a call on a session. */
export function ofSession<Shape extends z.core.$ZodShape>(shape: Shape) {
  return z.object({ sessionId: z.string(), ...shape });
}

/** Parameters of a call on a session that takes nothing else. */
export const justSession = lazy(() => z.object({ sessionId: z.string() }));
/** No parameters. */
export const noParams = lazy(() => z.object({}));

/** `null` on the wire; a handler may return nothing. */
export const nothing = lazy(() => z.union([z.null(), z.void()]));
/** `{}` on the wire. */
export const empty = lazy(() => z.object({}));
export const success = lazy(() => z.object({ success: z.boolean() }));
export const successOrReason = lazy(() => z.object({ success: z.boolean(), error: z.string().optional() }));

/** Compiling a parser pays off after thousands of uses. Methods are called a few times, and the first call should be fast. */
const COLD = { jitless: true };

/** Parses parameters as they came. What does not fit becomes an error of one line for a person. */
export function readParams<Params extends z.ZodType>(
  { params: schema }: { readonly params: Lazy<Params> },
  params: unknown,
): z.output<Params> {
  const given = withoutNulls(params ?? {});
  const parsed = schema().safeParse(given, COLD);
  if (parsed.success) return parsed.data;
  throw new AppError("invalid_params", complaint(parsed.error, given), { cause: parsed.error });
}

/** A top-level `null` means "not given". */
function withoutNulls(params: unknown): unknown {
  if (typeof params !== "object" || params === null || Array.isArray(params)) return params;
  const entries = Object.entries(params);
  if (!entries.some(([, value]) => value === null)) return params;
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}

function complaint(error: z.ZodError, given: unknown): string {
  const [issue] = error.issues;
  const [field, ...below] = issue?.path ?? [];
  if (issue === undefined || field === undefined) return "params must be an object";
  if (field === "sessionId" && below.length === 0) return "Missing sessionId parameter";
  const missing = below.length === 0 && typeof given === "object" && given !== null && !(field in given);
  if (missing) return `missing parameter '${String(field)}'`;
  const { path, message } = wrongPlace(issue);
  return `invalid parameter '${path.join(".")}': ${message}`;
}
