/**
 * The references of a JSON Schema: each must lead to a schema, and following them must come to an end. The validator would say so only when
 * an agent has done all its work.
 */
type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

/** Where schemas are in a schema; anything else is data. */
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const SINGLES = [
  ...["not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contains"],
  ...["additionalProperties", "unevaluatedProperties", "propertyNames"],
];
/** These look at the same value as the schema that they are in. */
const SAME_VALUE: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "not", "if", "then", "else"]);

interface Placed {
  node: Node;
  /** Keywords and names down to it. */
  path: readonly string[];
  /** The nearest schema with an address of its own; references begin there. */
  base: Node;
}

/** What is wrong and where; undefined when nothing is. */
export function badReference(schema: unknown): string | undefined {
  if (!isNode(schema)) return undefined;
  const placed = [...nodesOf(schema)];
  const anchors = new Map(placed.flatMap(({ node }) => anchorsOf(node).map((name) => [name, node])));
  const targets = new Map<Node, Node>();
  for (const { node, path, base } of placed) {
    if (typeof node.$ref !== "string") continue;
    const found = anchors.get(node.$ref) ?? at(base, node.$ref) ?? at(schema, node.$ref);
    if (found === undefined) return `"${[...path, "$ref"].join(".")}": "${node.$ref}" leads to no schema`;
    if (isNode(found)) targets.set(node, found);
  }
  const endless = endlessOf([...targets.keys()], targets);
  const where = placed.find(({ node }) => node === endless);
  return where && `"${where.path.join(".") || "$ref"}": it leads back to itself without an end`;
}

function* nodesOf(schema: Node): Generator<Placed> {
  const left: Placed[] = [{ node: schema, path: [], base: schema }];
  for (let next = left.pop(); next; next = left.pop()) {
    yield next;
    for (const [keys, below] of belowOf(next.node)) {
      const base = typeof below.$id === "string" && !below.$id.startsWith("#") ? below : next.base;
      left.push({ node: below, path: [...next.path, ...keys], base });
    }
  }
}

function* belowOf(node: Node): Generator<[keys: string[], below: Node]> {
  for (const key of SINGLES) {
    const below = node[key];
    if (isNode(below)) yield [[key], below];
  }
  for (const key of [...MAPS, ...LISTS]) {
    const all = node[key];
    const isRead = MAPS.includes(key) ? isNode(all) : Array.isArray(all);
    for (const [name, below] of isRead ? Object.entries(all ?? {}) : []) if (isNode(below)) yield [[key, name], below];
  }
}

const anchorsOf = ({ $anchor, $dynamicAnchor, $id }: Node): string[] => [
  ...[$anchor, $dynamicAnchor].flatMap((name) => (typeof name === "string" ? [`#${name}`] : [])),
  ...(typeof $id === "string" && $id.startsWith("#") ? [$id] : []),
];

/** What a JSON pointer leads to, when that can be a schema. */
function at(root: Node, reference: string): Node | boolean | undefined {
  let value: unknown = root;
  for (const key of keysOf(reference) ?? [NOWHERE]) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return isNode(value) || typeof value === "boolean" ? value : undefined;
}

const NOWHERE = "\u0000";

function keysOf(reference: string): string[] | undefined {
  if (reference === "#") return [];
  if (!reference.startsWith("#/")) return undefined;
  try {
    const keys = decodeURIComponent(reference.slice(2)).split("/");
    return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    return undefined; // It is no address; the caller says so.
  }
}

/** Checking a value against it, one comes back to a schema with the same value. Each schema is looked at once. */
function endlessOf(starts: readonly Node[], targets: ReadonlyMap<Node, Node>): Node | undefined {
  const done = new Set<Node>();
  for (const start of starts) {
    const open = new Map([[start, sameValue(start, targets)]]);
    const path = [start];
    for (let node = path.at(-1); node && !done.has(start); node = path.at(-1)) {
      const next = open.get(node)?.pop();
      if (next === undefined) {
        done.add(node);
        path.pop();
        open.delete(node);
      } else if (open.has(next)) return next;
      else if (!done.has(next)) {
        open.set(next, sameValue(next, targets));
        path.push(next);
      }
    }
  }
  return undefined;
}

function sameValue(node: Node, targets: ReadonlyMap<Node, Node>): Node[] {
  const target = targets.get(node);
  const below = [...belowOf(node)].flatMap(([[key = ""], each]) => (SAME_VALUE.has(key) ? [each] : []));
  return target ? [target, ...below] : below;
}
