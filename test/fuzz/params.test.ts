/** Every method with parameters that are missing, wrong or huge, and with ids of other things: each gets an answer, and nothing breaks. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ERRORS, SERVER_METHODS } from "@retinue/protocol";
import { expect, test } from "vitest";
import type { LawClient } from "../laws/law-client.ts";
import { World } from "../laws/world.ts";
import { PATIENCE_MS } from "../support/patience.ts";

const NUMBERS = new Set<number>(Object.values(ERRORS).map(({ rpc }) => rpc));
const HUGE = "x".repeat(1_000_000);
const ODD_IDS = ["nope", "../../outside", "a/b", "..", ".", "", "a\0b", "%2e%2e%2f"];
/** Names of parameters that take an id, a name or a path, in any method. */
const FIELDS = [
  "id",
  "requestId",
  "path",
  "name",
  "filename",
  "eventId",
  "shellId",
  "serverName",
  "agentType",
  "model",
  "number",
  "workingDirectory",
  "directory",
];

const WHOLE = [
  undefined,
  null,
  [],
  [null],
  "text",
  42,
  true,
  {},
  { sessionId: 1 },
  { sessionId: {} },
  { sessionId: null },
];
/** Faults of the program, as opposed to answers to bad input. */
const BUG =
  /Cannot read propert|is not a function|is not iterable|undefined|Cannot destructure|Maximum call stack|SQLITE|FOREIGN KEY|must be of type/;

function badParams(sessionId: string): unknown[] {
  const ids = [...ODD_IDS, HUGE].map((odd) => ({ sessionId: odd }));
  const fields = FIELDS.flatMap((field) =>
    [...ODD_IDS, 7, {}, [], null].map((value) => ({ sessionId, [field]: value })),
  );
  const all = [...ODD_IDS, HUGE, 7, null, []].map((value) => ({
    sessionId,
    ...Object.fromEntries(FIELDS.map((field) => [field, value])),
  }));
  return [...WHOLE, ...ids, { sessionId }, ...fields, ...all];
}

/** Undefined when a client can handle the answer. */
async function complaint(client: LawClient, method: string, params: unknown): Promise<string | undefined> {
  const shown = JSON.stringify(params)?.slice(0, 120);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`${method} ${shown}: no answer`), PATIENCE_MS);
  });
  const answered = client.call(method, params as object).then(
    () => undefined,
    (error: { rpcCode?: number; message: string }) => {
      if (error.rpcCode === undefined || !NUMBERS.has(error.rpcCode))
        return `${method} ${shown}: ${error.rpcCode} ${error.message}`;
      return BUG.test(error.message.slice(0, 500)) ? `${method} ${shown}: ${error.message.slice(0, 200)}` : undefined;
    },
  );
  const found = await Promise.race([answered, late]);
  clearTimeout(timer);
  return found;
}

/** These wait for something by design. */
const WAITING = new Set(["session.eventLog.read", "session.ui.elicitation"]);

const methods = Object.keys(SERVER_METHODS).filter((method) => method !== "runtime.shutdown" && !WAITING.has(method));

test.each(methods)("%s answers bad parameters and the session lives on", async (method) => {
  await using world = new World();
  const canary = path.join(world.folder, "..", "outside");
  writeFileSync(canary, "still here");
  const before = readdirSync(path.join(world.folder, "..")).sort();
  const client = world.connect({ attached: "nobody" });
  await client.call("connect", {});
  const problems: string[] = [];
  const { sessionId } = await client.call<{ sessionId: string }>("session.create", { workingDirectory: world.folder });
  for (const params of badParams(sessionId)) {
    const found = await complaint(client, method, params);
    if (found) problems.push(found);
  }
  expect(problems.slice(0, 5)).toEqual([]);
  expect(await client.call("ping", { message: "still" })).toMatchObject({ message: "pong: still" });
  expect(existsSync(canary)).toBe(true);
  expect(readdirSync(path.join(world.folder, "..")).sort()).toEqual(expect.arrayContaining(before));
  expect(
    readdirSync(path.join(world.folder, "..")).filter((name) => !["home", "outside", "tmp", "work"].includes(name)),
  ).toEqual([]);
});
