/** A graph of todos that the program gives: a fleet of agents works it off, in the order that the dependencies ask for. */
import assert from "node:assert/strict";
import { approveAll, RetinueClient, renderTree } from "@retinue/sdk";
import { type ModelRequest, type ModelTurn, say } from "@retinue/sdk/testing";
import { offline } from "./support/offline.ts";

const order: string[] = [];

/** Every agent reports its own todo, and `release` says what it was told of the others. */
function script({ prompt }: ModelRequest): ModelTurn {
  const todo = /todo `(\w+)`/.exec(prompt)?.[1] ?? "";
  order.push(todo);
  return say(
    todo === "release" ? `Released: ${/All \d+ tests pass/.exec(prompt)?.[0]}.` : `${todo}: All 12 tests pass`,
  );
}

await using world = await offline(script);
await using client = new RetinueClient(world.client);
const session = await client.createSession({ ...world.session, onPermissionRequest: approveAll });

const report = await session.fleet.run({
  todos: [
    { id: "parser", title: "Test the parser", description: "Run the tests of the parser and report what fails." },
    { id: "printer", title: "Test the printer", description: "Run the tests of the printer and report what fails." },
    { id: "release", title: "Write the release notes", description: "Say what was tested.", agent: "general-purpose" },
  ],
  deps: [
    { todoId: "release", dependsOn: "parser" },
    { todoId: "release", dependsOn: "printer" },
  ],
  maxConcurrent: 2,
});

for (const { todoId, status, text } of report.results) console.log(`${todoId}: ${status}: ${text}`);
console.log(renderTree(session.tree()));
assert.equal(report.status, "completed");
assert.equal(order.at(-1), "release");
assert.equal(report.results.find(({ todoId }) => todoId === "release")?.text, "Released: All 12 tests pass.");
