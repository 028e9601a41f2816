/** The runtime is killed while a sub-agent works. Another one resumes the session, and everything that was begun is finished. */
import assert from "node:assert/strict";
import {
  approveAll,
  childrenOf,
  defineTool,
  mainNode,
  RetinueClient,
  renderTree,
  type SessionConfig,
} from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import * as z from "zod";
import { offline } from "./support/offline.ts";

let isReading = () => {};
const reading = new Promise<void>((resolve) => {
  isReading = resolve;
});
let kills = 0;

await using world = await offline(async ({ system, results }) => {
  if (system.includes("You read.")) {
    if (results.length === 0) return call("read_page", { page: 7 });
    return say(`the page says: ${results[0]}`);
  }
  if (results.length === 0)
    return call("task", { name: "r", agent_type: "reader", description: "read", prompt: "Page 7?" });
  return say(`finished after ${kills} kill`);
});

const readPage = defineTool("read_page", {
  description: "Reads a page",
  parameters: z.object({ page: z.number() }),
  handler: async ({ page }, { signal }) => {
    isReading();
    // The first time nobody lives to see the answer.
    if (kills === 0) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return `page ${page}`;
  },
});

const config: SessionConfig = {
  ...world.session,
  tools: [readPage],
  customAgents: [{ name: "reader", description: "Reads pages", prompt: "You read.", tools: ["read_page"] }],
  onPermissionRequest: approveAll,
};

const first = new RetinueClient(world.client);
const begun = await first.createSession(config);
await begun.send("What is on page 7?");
await reading;
process.kill(first.runtimePid ?? 0, "SIGKILL");
kills += 1;
await first.stop();

await using second = new RetinueClient(world.client);
const session = await second.resumeSession(begun.sessionId, { ...config, continuePendingWork: true });
console.log(renderTree(session.tree()));
await session.waitForIdle();

console.log(renderTree(session.tree()));
const [reader] = childrenOf(session.tree(), mainNode(session.tree()));
assert.equal(reader?.name, "reader");
assert.equal(reader.status, "completed");
assert.equal(reader.latest, "the page says: page 7");
assert.equal(mainNode(session.tree()).latest, "finished after 1 kill");

await assert.rejects(second.resumeSession("no-such-session"), { code: "session_not_found" });
