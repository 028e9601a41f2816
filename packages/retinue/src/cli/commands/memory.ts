/** `retinue search`, `transcript`, `checkpoint` and `op`: what was said in sessions. */

import { nearest } from "../../nearest.ts";
import { continuityContext } from "../continuity-context.ts";
import { UsageError } from "../usage-error.ts";
import { jsonObject, time, wholeNumber } from "./checked-values.ts";
import { command } from "./command.ts";
import { agentId, home, json } from "./shared-fields.ts";
import { optional, text, words } from "./values.ts";

const load = () => import("../../continuity/serve/cli.ts");
const loadKeys = () => import("../session-key.ts");

export const search = command({
  name: "search",
  summary: "search everything that was said in any session",
  fields: {
    query: { term: "<query...>", about: 'words, a question, a "phrase in quotes" or a prefix*', is: words },
    sessionKey: {
      term: "--session <id>",
      about: "only in this session, by the beginning of its id",
      is: optional(text),
    },
    project: { term: "--project <folder>", about: "only in sessions of this folder", is: optional(text) },
    harness: { term: "--harness <name>", about: "only in sessions of this agent program", is: optional(text) },
    agentId,
    since: { term: "--since <time>", about: "only what was said since this day or time", is: optional(time) },
    limit: {
      term: "--limit <n>",
      about: "at most this many (default: 10)",
      is: optional(wholeNumber({ from: 1, to: 100 })),
    },
    offset: {
      term: "--offset <n>",
      about: "leave out this many",
      is: optional(wholeNumber({ from: 0, to: 10_000 })),
    },
    json,
    home,
  },
  examples: ['retinue search "lock file"', "retinue search zebra --harness codex --since 2026-11-01"],
  async run({ query, home: given, sessionKey: key, ...input }, context) {
    const [{ searchSessions }, { fullKey }] = await Promise.all([load(), loadKeys()]);
    const place = continuityContext(given, context);
    const sessionKey = key === undefined ? undefined : await fullKey(place, { key, agentId: input.agentId });
    await searchSessions(place, { ...input, sessionKey, query: query.join(" ") });
  },
});

export const transcript = command({
  name: "transcript",
  summary: "print what was said in a session",
  fields: {
    key: { term: "<session>", about: "the beginning of its id", is: text },
    after: {
      term: "--after <n>",
      about: "only turns after this number",
      is: optional(wholeNumber({ from: 0 })),
    },
    limit: {
      term: "--limit <n>",
      about: "at most this many turns (default: 200)",
      is: optional(wholeNumber({ from: 1, to: 1_000 })),
    },
    json,
    home,
  },
  examples: ["retinue transcript 3f2a91c0 --limit 20"],
  async run({ json: isJson, home: given, ...input }, context) {
    const [{ showTranscript }, { fullKey }] = await Promise.all([load(), loadKeys()]);
    const place = continuityContext(given, context);
    await showTranscript(place, { ...input, key: await fullKey(place, input), format: isJson ? "json" : "text" });
  },
});

export const checkpoint = command({
  name: "checkpoint",
  summary: "keep a summary of a session up to now",
  fields: {
    key: { term: "<session>", about: "the beginning of its id", is: text },
    words: { term: "[summary...]", about: "the summary", is: words },
    summary: { term: "--summary <text>", about: "the summary as one option instead of words", is: optional(text) },
    entities: { term: "--entity <name>", about: "what it is about (repeatable)", is: words, repeats: true },
    agentId,
    home,
  },
  examples: ['retinue checkpoint 3f2a91c0 --summary "The lock file is gone" --entity store'],
  async run({ words: typed, home: given, ...input }, context) {
    const summary = input.summary ?? typed.join(" ");
    if (summary.trim() === "")
      throw new UsageError("the summary is empty. Try: retinue checkpoint <session> --summary …");
    const [{ addCheckpointTo }, { fullKey }] = await Promise.all([load(), loadKeys()]);
    const place = continuityContext(given, context);
    await addCheckpointTo(place, { ...input, key: await fullKey(place, input), summary });
  },
});

export const op = command({
  name: "op",
  summary: "run one operation of the daemon's HTTP API on the store itself, and print its answer",
  more: "The operations are the routes in docs/continuity.md, by name: session_list, entity_add, token_add and so on.",
  fields: {
    operation: { term: "<operation>", about: "its name", is: text },
    input: { term: "[input]", about: "its fields as JSON (default: {})", is: optional(jsonObject) },
    home,
  },
  examples: ["retinue op session_list '{\"limit\": 5}'"],
  async run({ operation, input = {}, home: given }, context) {
    const [{ call }, { operations }] = await Promise.all([load(), import("../../continuity/serve/operations.ts")]);
    const names = operations.map(({ name }) => name);
    if (!names.includes(operation)) throw unknownOperation(operation, names);
    const answer = await call(continuityContext(given, context), operation, input);
    context.terminal.out(`${JSON.stringify(answer, null, 2)}\n`);
  },
});

function unknownOperation(name: string, names: readonly string[]): UsageError {
  const meant = nearest(name, names);
  return new UsageError(
    `there is no operation ${name}. ${meant ? `Did you mean ${meant}?` : `There are: ${names.join(", ")}`}`,
  );
}
