/**
 * A test of an agent of yours. The runtime and the client are real and run in this process; the model follows the test's script.
 * In this repository: node --import tsx --import ./examples/support/markdown.mjs examples/test-your-agent.ts
 */
import assert from "node:assert/strict";
import { approveAll, childrenOf, defineTool, mainNode, type SessionConfig } from "@retinue/sdk";
import { call, say, scripted, startInMemory } from "retinue/testing";
import * as z from "zod";

// What you ship: a session whose main agent leaves orders to a clerk, the only one with the tool.
const asked: string[] = [];
const lookUpOrder = defineTool("look_up_order", {
  description: "Finds an order by its number",
  parameters: z.object({ number: z.string() }),
  handler: ({ number }) => {
    asked.push(number);
    return { number, status: "shipped" };
  },
});
const shop: SessionConfig = {
  tools: [lookUpOrder],
  defaultAgent: { excludedTools: ["look_up_order"] },
  customAgents: [
    { name: "clerk", description: "Knows the orders", prompt: "You look up orders.", tools: ["look_up_order"] },
  ],
  onPermissionRequest: approveAll,
};

// The test: what the model says, turn by turn, for the main agent and for the clerk.
const provider = scripted([
  [call("task", { agent_type: "clerk", name: "orders", description: "find the order", prompt: "Find order A-17." })],
  [call("look_up_order", { number: "A-17" })],
  [say("A-17 is shipped.")],
  [say("Your order is on its way.")],
]);
await using app = await startInMemory({ provider });
const session = await app.client.createSession(shop);
const answer = await session.sendAndWait("Where is my order A-17?");

const [main, clerk] = provider.requests;
const [child] = childrenOf(session.tree(), mainNode(session.tree()));
assert.equal(answer?.data.content, "Your order is on its way.");
assert.deepEqual(asked, ["A-17"]);
assert.equal(child?.name, "clerk");
assert.deepEqual(
  clerk?.tools.map(({ name }) => name),
  ["look_up_order"],
);
assert.ok(!main?.tools.some(({ name }) => name === "look_up_order"));
provider.assertSpent();
console.log(`${child.name}: ${child.latest}`);
