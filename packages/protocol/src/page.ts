/** docs/protocol.md, made from the tables, so that the page cannot disagree with the code. */
import * as z from "zod";
import type { EventDefinition } from "./events/event.ts";
import { EVENTS } from "./events/index.ts";
import { HOOKS } from "./hooks.ts";
import type { Method } from "./method.ts";
import { CLIENT_CALLS, NOTIFICATIONS, SERVER_METHODS } from "./methods/index.ts";

const MAX_FIELDS = 14;

const INTRODUCTION = `# Protocol

JSON-RPC 2.0 in both directions, framed by \`Content-Length\` headers, over stdio or TCP; version 3 of the Copilot SDK
protocol, and version 2 for older clients. This page is generated from \`packages/protocol\` by \`npm run docs\`; a test fails
when it is stale. Errors are in [errors.md](errors.md).

A field with \`?\` is optional. Every \`session.…\` method takes \`sessionId\`, which the tables leave out. Unknown fields of
parameters are dropped, a top-level \`null\` means "not given", and unknown fields of events are kept.
`;

export function protocolPage(): string {
  return [
    INTRODUCTION,
    "## Methods that a client calls on a runtime\n",
    ...groups(Object.values(SERVER_METHODS)).map(([name, methods]) => `### ${name}\n\n${methodTable(methods)}`),
    "## Methods that a runtime calls on a client\n",
    methodTable(Object.values(CLIENT_CALLS)),
    "## Notifications from a runtime to its clients\n",
    methodTable(Object.values(NOTIFICATIONS)),
    "## Events\n",
    "Events arrive as `session.event` notifications. *Stored* events are in the log and in `session.getMessages`; the others\nare marked `ephemeral` and sent once. `agentId` in the envelope names the sub-agent whose event it is.\n",
    eventTable(Object.values(EVENTS)),
    "## Hooks\n",
    "`hooks.invoke` names one of these types. Every input also has `sessionId`, `timestamp`, `cwd` and, for a sub-agent,\n`agentId`, `agentName`, `agentPath` (ids) and `agentPathNames`.\n",
    hookTable(),
  ].join("\n");
}

/** By namespace, in the order of the table. */
function groups(methods: readonly Method[]): [string, Method[]][] {
  const found = new Map<string, Method[]>();
  for (const one of methods) {
    const group = found.get(namespaceOf(one.name));
    if (group) group.push(one);
    else found.set(namespaceOf(one.name), [one]);
  }
  return [...found];
}

function namespaceOf(name: string): string {
  const parts = name.split(".");
  if (parts[0] === "sessions") return "sessions.*";
  if (parts[0] !== "session") return "Connection and runtime";
  return parts.length === 2 ? "session" : `session.${parts[1]}.*`;
}

function methodTable(methods: readonly Method[]): string {
  return table(
    ["method", "parameters", "result", "what it does"],
    methods.map(({ name, params, result, summary }) => [
      code(name),
      fields(params(), ["sessionId"]),
      fields(result()),
      summary,
    ]),
  );
}

function eventTable(events: readonly EventDefinition[]): string {
  return table(
    ["event", "stored", "data", "when"],
    events.map(({ name, data, persisted, summary }) => [code(name), persisted ? "yes" : "", fields(data()), summary]),
  );
}

function hookTable(): string {
  const common = ["sessionId", "timestamp", "cwd", "agentId", "agentName", "agentPath", "agentPathNames"];
  return table(
    ["hook", "input", "output", "when"],
    Object.entries(HOOKS).map(([name, { input, output, summary }]) => [
      code(name),
      fields(input(), common),
      fields(output()),
      summary,
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${lines.join("\n")}\n`;
}

function fields(schema: z.ZodType, leaveOut: readonly string[] = []): string {
  if (!(schema instanceof z.ZodObject)) return nameOf(schema);
  const names = Object.entries(schema.shape as Record<string, z.ZodType>)
    .filter(([name]) => !leaveOut.includes(name))
    .map(([name, field]) => (field.safeParse(undefined).success ? `${name}?` : name));
  const shown = names.slice(0, MAX_FIELDS).map(code).join(", ");
  return names.length > MAX_FIELDS ? `${shown} and ${names.length - MAX_FIELDS} more` : shown || "–";
}

/** Results that are not objects with fields. */
function nameOf(schema: z.ZodType): string {
  if (schema.safeParse(null).success) return code("null");
  if (schema instanceof z.ZodEnum) return schema.options.map((word) => code(JSON.stringify(word))).join(", ");
  if (schema instanceof z.ZodNumber) return "a number";
  if (schema instanceof z.ZodRecord) return "an object with free keys";
  if (schema instanceof z.ZodDiscriminatedUnion)
    return `one of several shapes, distinguished by ${code(schema.def.discriminator)}`;
  return "a text, or an object";
}

const code = (text: string): string => `\`${text}\``;
