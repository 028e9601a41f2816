/** Tools, agents, streaming and permissions in one program: a team that answers, seen part by part, and an answer as data. */
import assert from "node:assert/strict";
import { defineTool, RetinueClient } from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import * as z from "zod";
import { offline } from "./support/offline.ts";

await using world = await offline(({ system, results, prompt }) => {
  if (prompt.includes("JSON Schema")) return say('{"orders":2,"late":["A-17"]}');
  if (system.includes("You look up orders.")) {
    if (results.length === 0) return call("look_up", { order: "A-17" });
    return say(results.length === 1 ? `A-17 is ${results[0]}` : "unknown");
  }
  if (results.length === 0)
    return call("task", { name: "a", agent_type: "clerk", description: "look up", prompt: "Where is A-17?" });
  if (results.length === 1) return call("bash", { command: "rm -rf orders", description: "clean up" });
  return say("A-17 is late, and nothing was deleted.");
});

const lookUp = defineTool("look_up", {
  description: "Where an order is",
  parameters: z.object({ order: z.string() }),
  handler: ({ order }) => (order === "A-17" ? "late" : "delivered"),
});

const asked: string[] = [];
await using client = new RetinueClient(world.client);
await using session = await client.createSession({
  ...world.session,
  streaming: true,
  tools: [lookUp],
  customAgents: [
    {
      name: "clerk",
      displayName: "Clerk",
      description: "Looks up orders",
      prompt: "You look up orders.",
      tools: ["look_up"],
    },
  ],
  permissions: { rules: { approved: [{ kind: "custom-tool", argument: "look_up" }] } },
  onPermissionRequest: (request, { agentName }) => {
    asked.push(`${agentName ?? "main"} ${request.kind}`);
    return request.kind === "shell" ? { kind: "reject", feedback: "Delete nothing." } : { kind: "approve-once" };
  },
});

let said = "";
const seen: string[] = [];
for await (const part of session.stream("Where is A-17? Clean up afterwards.")) {
  if (part.type === "text") said += part.text;
  else if (part.type === "agent-start" || part.type === "agent-end") seen.push(`${part.type} ${part.name}`);
  else if (part.type === "tool-end") seen.push(`${part.toolName} ${part.success ? "worked" : "failed"}`);
}
console.log(said, seen);
assert.equal(said, "A-17 is late, and nothing was deleted.");
assert.deepEqual(seen, ["agent-start clerk", "look_up worked", "agent-end clerk", "task worked", "bash failed"]);
assert.deepEqual(asked, ["main shell"]);

const Report = z.object({ orders: z.number(), late: z.array(z.string()) });
const report = await session.ask("Sum it up.", { schema: Report });
console.log(report.late);
assert.deepEqual(report, { orders: 2, late: ["A-17"] });
