/** A tool that runs in your program: the model calls it, your function answers, arguments are checked by its schema. */
import assert from "node:assert/strict";
import { approveAll, defineTool, RetinueClient } from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import * as z from "zod";
import { offline } from "./support/offline.ts";

const orders = new Map([["A-17", { status: "shipped", items: 3 }]]);

const lookUpOrder = defineTool("look_up_order", {
  description: "Finds an order by its number",
  parameters: z.object({ number: z.string().describe("The order number, such as A-17") }),
  handler: ({ number }) => orders.get(number) ?? { error: `no order ${number}` },
});

await using world = await offline([
  call("look_up_order", { number: "A-17" }),
  say("Your order has been shipped. It has 3 items."),
]);

await using client = new RetinueClient(world.client);
const session = await client.createSession({ ...world.session, tools: [lookUpOrder], onPermissionRequest: approveAll });
const answer = await session.sendAndWait("Where is my order A-17?");

console.log(answer?.data.content);
assert.deepEqual(world.model.requests[1]?.results, ['{"status":"shipped","items":3}']);
