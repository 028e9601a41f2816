/** Keys of the configuration file that nobody reads, with the nearest one that somebody does. */
import * as z from "zod";
import { nearest } from "../nearest.ts";

export interface UnknownKey {
  /** Inside a part that is ours, or near to one of our keys. */
  isError: boolean;
  words: string;
}

/** `data` has passed `schema`. */
export function unknownKeys(data: unknown, schema: z.ZodType): UnknownKey[] {
  return walk(data, schema, []);
}

function walk(data: unknown, schema: z.core.$ZodType, path: readonly (string | number)[]): UnknownKey[] {
  const inner = bare(schema);
  if (inner instanceof z.ZodUnion) {
    const objects = inner.options.filter((option) => bare(option) instanceof z.ZodObject);
    return objects.flatMap((option) => walk(data, option, path));
  }
  if (inner instanceof z.ZodArray && Array.isArray(data))
    return data.flatMap((item, index) => walk(item, inner.element, [...path, index]));
  if (!(inner instanceof z.ZodObject) || typeof data !== "object" || data === null) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = inner.shape;
  return Object.entries(data).flatMap(([key, value]) => {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field) return walk(value, field, [...path, key]);
    return key.startsWith("$") ? [] : [complaint(key, Object.keys(shape), path)]; // `$schema` is for editors.
  });
}

function complaint(key: string, known: readonly string[], path: readonly (string | number)[]): UnknownKey {
  const meant =
    known.find((each) => each.toLowerCase() === key.toLowerCase().replaceAll(/[_-]/g, "")) ?? nearest(key, known);
  const hint = meant === undefined ? `There are: ${known.join(", ")}` : `Did you mean ${meant}?`;
  return {
    isError: path.length > 0 || meant !== undefined,
    words: `there is no setting '${dotted([...path, key])}'. ${hint}`,
  };
}

/** `providers[0].baseUrl` */
export function dotted(path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`));
  return parts.join("").replace(/^\./, "");
}

/** Without what makes a field optional or gives it a default. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return bare(schema.unwrap());
  return schema instanceof z.ZodLazy ? bare(schema.unwrap()) : schema;
}
