/** Two programs on one session: one drives it, the other joins over TCP, listens, brings a tool, and steers. */
import assert from "node:assert/strict";
import { approveAll, defineTool, RetinueClient, RuntimeConnection } from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import { offline } from "./support/offline.ts";

await using world = await offline([call("office_hours"), say("The office opens at nine."), say("It closes at five.")]);

const connectionToken = "a secret that both programs know";
await using driver = new RetinueClient({
  ...world.client,
  connection: RuntimeConnection.forTcp({ path: world.path, connectionToken }),
});
const session = await driver.createSession({ ...world.session, onPermissionRequest: approveAll });

await using guest = new RetinueClient({
  connection: RuntimeConnection.forUri(`127.0.0.1:${driver.runtimePort}`, { connectionToken }),
});
const joined = await guest.resumeSession(session.sessionId, {
  suppressResumeEvent: true,
  tools: [defineTool("office_hours", { description: "When the office is open", handler: () => "9–17" })],
});
const seen: string[] = [];
joined.on("assistant.message", ({ data }) => {
  if (data.content) seen.push(data.content);
});

await session.sendAndWait("When does the office open?");
const answer = await joined.sendAndWait("And when does it close?");

console.log(seen.join("\n"));
assert.deepEqual(world.model.requests[1]?.results, ["9–17"]);
assert.equal(answer?.data.content, "It closes at five.");
assert.deepEqual(seen, ["The office opens at nine.", "It closes at five."]);
