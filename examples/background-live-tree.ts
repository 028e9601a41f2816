/** Sub-agents in the background, drawn while they run. One gets a second message when it is done with the first. */
import assert from "node:assert/strict";
import { approveAll, RetinueClient, renderTree, walk } from "@retinue/sdk";
import { say } from "@retinue/sdk/testing";
import { offline } from "./support/offline.ts";

await using world = await offline(async ({ prompt }) => {
  await new Promise((resolve) => setTimeout(resolve, 30));
  return say(/count (\w+)/.exec(prompt)?.[1] ?? "noted");
});

await using client = new RetinueClient(world.client);
const session = await client.createSession({ ...world.session, onPermissionRequest: approveAll });

let frames = 0;
session.on((event) => {
  if (event.ephemeral && event.type !== "session.idle") return;
  frames += 1;
  if (process.stdout.isTTY) console.log(`\u001b[2J\u001b[H${renderTree(session.tree(), { color: true })}`);
});

const names = ["lines", "files", "tests"];
const ids = await Promise.all(
  names.map((name) => session.tasks.start({ agentType: "general-purpose", name, prompt: `count ${name}` })),
);
const tasks = await Promise.all(ids.map((id) => session.waitForTask(id)));
for (const task of tasks) console.log(task.id, task.status);

const [first = ""] = ids;
await session.tasks.send(first, "count words");
const again = await session.waitForTask(first);
await session.waitForIdle();

console.log(renderTree(session.tree()));
assert.equal(again.type === "agent" && again.latestResponse, "words");
assert.deepEqual(
  walk(session.tree())
    .map(({ displayName }) => displayName)
    .sort(),
  ["files", "lines", "main", "tests"],
);
assert.ok(frames > 0);
