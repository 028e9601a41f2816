/**
 * Settings of config.json by their names, such as `model` or `providers.ollama.baseUrl`: which there are, and what one holds.
 *
 * The names come from the schema that reads the file. In a list of things that have a name or an id, these stand for the position.
 */
import * as z from "zod";
import { ModelsConfig } from "../models/config.ts";
import { nearest } from "../nearest.ts";
import { UsageError } from "./usage-error.ts";

/** The part of JSON Schema that our schema uses. */
interface Shape {
  type?: string;
  properties?: Readonly<Record<string, Shape>>;
  additionalProperties?: boolean | Shape;
  items?: Shape;
  anyOf?: readonly Shape[];
}

const Shape: z.ZodType<Shape> = z.lazy(() =>
  z.object({
    type: z.string().optional().catch(undefined),
    properties: z.record(z.string(), Shape).optional(),
    additionalProperties: z.union([z.boolean(), Shape]).optional(),
    items: Shape.optional(),
    anyOf: z.array(Shape).optional(),
  }),
);

let whole: Shape | undefined;

function wholeShape(): Shape {
  whole ??= Shape.parse(z.toJSONSchema(ModelsConfig(), { io: "input", unrepresentable: "any" }));
  return whole;
}

/** Undefined when it is not set. */
export function valueAt(config: unknown, key: string): unknown {
  return found(config, { shape: wholeShape(), path: pathOf(key), key });
}

/** The configuration with another value; without it when the value is undefined. */
export function withValueAt(config: unknown, key: string, value: unknown): unknown {
  refuseUnknown(value, shapeAt(wholeShape(), pathOf(key), key));
  return replaced(config, { shape: wholeShape(), path: pathOf(key), key }, value);
}

/** What was typed, as the setting holds it: text where it must be text, else JSON. */
export function readValue(key: string, typed: string): unknown {
  if (shapeAt(wholeShape(), pathOf(key), key).type === "string") return typed;
  try {
    return JSON.parse(typed);
  } catch {
    return typed; // The check of the whole file says what it should be.
  }
}

interface Way {
  shape: Shape;
  path: readonly string[];
  /** As it was typed. */
  key: string;
}

function pathOf(key: string): string[] {
  const path = key.split(".");
  if (path.some((name) => name === "")) throw new UsageError(`"${key}" is not the name of a setting`);
  return path;
}

function found(node: unknown, { shape, path: [name, ...path], key }: Way): unknown {
  if (name === undefined) return node;
  const below = shapeBelow(shape, name, key);
  const member = Array.isArray(node) ? node.find((item) => nameIn(item, shape) === name) : membersOf(node)[name];
  return found(member, { shape: below, path, key });
}

function replaced(node: unknown, { shape, path: [name, ...path], key }: Way, value: unknown): unknown {
  if (name === undefined) return value;
  const below = { shape: shapeBelow(shape, name, key), path, key };
  if (shape.items) return replacedItem(Array.isArray(node) ? node : [], { name, shape, below }, value);
  const { [name]: old, ...others } = membersOf(node);
  const member = replaced(old, below, value);
  return member === undefined ? others : { ...membersOf(node), [name]: member };
}

function replacedItem(
  items: readonly unknown[],
  { name, shape, below }: { name: string; shape: Shape; below: Way },
  value: unknown,
): unknown[] {
  const at = items.findIndex((item) => nameIn(item, shape) === name);
  const old = at < 0 ? { [nameKey(shape)]: name } : items[at];
  const changed = replaced(old, below, value);
  const item = isObject(changed) ? { [nameKey(shape)]: name, ...changed } : changed;
  if (item === undefined) return items.filter((_, index) => index !== at);
  return at < 0 ? [...items, item] : items.map((each, index) => (index === at ? item : each));
}

function shapeAt(shape: Shape, path: readonly string[], key: string): Shape {
  const [name, ...rest] = path;
  return name === undefined ? shape : shapeAt(shapeBelow(shape, name, key), rest, key);
}

function shapeBelow(shape: Shape, name: string, key: string): Shape {
  if (shape.items) return objectIn(shape.items);
  const { properties = {}, additionalProperties } = shape;
  const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (own) return own;
  if (typeof additionalProperties === "object" && Object.keys(properties).length === 0) return additionalProperties;
  throw unknownSetting(key, name, Object.keys(properties));
}

/** A model is its id alone, or an object. */
function objectIn(shape: Shape): Shape {
  return shape.anyOf?.find(({ properties }) => properties !== undefined) ?? shape;
}

function unknownSetting(key: string, name: string, names: readonly string[]): UsageError {
  const meant = nearest(name, names);
  const hint = meant
    ? `Did you mean ${meant}?`
    : names.length > 0
      ? `There are: ${names.join(", ")}.`
      : "It holds no others.";
  return new UsageError(`there is no setting ${key}${key === name ? "" : ` (${name})`}. ${hint}`);
}

/** A value that was given as JSON may hold names of its own. */
function refuseUnknown(node: unknown, shape: Shape): void {
  if (Array.isArray(node)) {
    for (const item of node) if (shape.items) refuseUnknown(item, objectIn(shape.items));
  } else if (isObject(node) && (shape.properties || shape.additionalProperties)) {
    for (const [name, value] of Object.entries(node)) refuseUnknown(value, shapeBelow(shape, name, name));
  }
}

/** Models have names too, for people; their id is what they are called by. */
function nameKey({ items = {} }: Shape): string {
  return objectIn(items).properties?.id ? "id" : "name";
}

function nameIn(item: unknown, shape: Shape): unknown {
  return isObject(item) ? item[nameKey(shape)] : item;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const membersOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});
