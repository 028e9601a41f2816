/** The shortest session: start a runtime, open a session, ask, print the answer as it comes, leave. */
import assert from "node:assert/strict";
import { approveAll, RetinueClient } from "@retinue/sdk";
import { say } from "@retinue/sdk/testing";
import { offline } from "./support/offline.ts";

await using world = await offline([say("Paris is the capital of France.")]);

await using client = new RetinueClient(world.client);
await using session = await client.createSession({
  ...world.session,
  streaming: true,
  onPermissionRequest: approveAll,
});

let streamed = "";
session.on("assistant.message_delta", ({ data }) => {
  streamed += data.deltaContent;
});
const answer = await session.sendAndWait("What is the capital of France?");

console.log(answer?.data.content);
assert.equal(answer?.data.content, "Paris is the capital of France.");
assert.equal(streamed, answer.data.content);
