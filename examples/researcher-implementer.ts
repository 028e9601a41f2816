/** Two agents with different tools: one may only read, the other may write. The main agent hands work to each. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { approveAll, RetinueClient, renderTree, walk } from "@retinue/sdk";
import { call, type ModelRequest, type ModelTurn, say } from "@retinue/sdk/testing";
import { offline } from "./support/offline.ts";

const RESEARCHER = "You are a code analyst. Find things; change nothing.";
const IMPLEMENTER = "You make small, targeted changes.";

/** What each of the three agents does in this example. */
function script({ system, results }: ModelRequest): ModelTurn {
  const file = join(world.folder, "config.txt");
  if (system.includes(RESEARCHER))
    return results.length === 0 ? call("view", { path: file }) : say("The limit is in config.txt.");
  if (system.includes(IMPLEMENTER)) {
    if (results.length === 0) return call("edit", { path: file, old_str: "limit=1", new_str: "limit=2" });
    return say("The limit is 2 now.");
  }
  const spawn = (agent_type: string, prompt: string) =>
    call("task", { name: agent_type, agent_type, description: prompt, prompt });
  if (results.length === 0) return spawn("researcher", "Where is the limit set?");
  if (results.length === 1) return spawn("implementer", "Set the limit to 2.");
  return say("Done: the limit is 2.");
}

await using world = await offline(script);
writeFileSync(join(world.folder, "config.txt"), "limit=1\n");

await using client = new RetinueClient(world.client);
const session = await client.createSession({
  ...world.session,
  customAgents: [
    {
      name: "researcher",
      displayName: "Researcher",
      description: "Analyses code structure and answers questions",
      tools: ["grep", "glob", "view"],
      prompt: RESEARCHER,
    },
    {
      name: "implementer",
      displayName: "Implementer",
      description: "Changes code based on an analysis",
      tools: ["view", "edit"],
      prompt: IMPLEMENTER,
    },
  ],
  onPermissionRequest: approveAll,
});
const answer = await session.sendAndWait("Raise the limit to 2.");

console.log(answer?.data.content);
console.log(renderTree(session.tree()));
assert.equal(readFileSync(join(world.folder, "config.txt"), "utf8"), "limit=2\n");
assert.deepEqual(
  walk(session.tree()).map(({ displayName }) => displayName),
  ["main", "Researcher", "Implementer"],
);
const offered = world.model.requests.find(({ system }) => system.includes(RESEARCHER))?.tools ?? [];
assert.ok(offered.includes("view") && !offered.includes("edit"), "the researcher is offered no tool that writes");
