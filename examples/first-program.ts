import { approveAll, defineTool, RetinueClient, RuntimeConnection } from "@retinue/sdk";
import * as z from "zod";

const lookUp = defineTool("look_up_order", {
  description: "Finds an order by its number",
  parameters: z.object({ number: z.string() }),
  handler: ({ number }) => ({ number, status: "shipped" }),
});

await using client = new RetinueClient({ connection: RuntimeConnection.forStdio({ path: "bin/retinue.js" }) });
await using session = await client.createSession({
  tools: [lookUp],
  customAgents: [
    { name: "clerk", description: "Knows the orders", prompt: "You look up orders.", tools: ["look_up_order"] },
  ],
  onPermissionRequest: approveAll,
});

session.on("subagent.started", ({ data }) => console.log(`→ ${data.agentName} starts`));
session.on("tool.execution_start", ({ data, agentId }) => {
  if (agentId !== undefined) console.log(`  it calls ${data.toolName} ${JSON.stringify(data.arguments)}`);
});
const answer = await session.sendAndWait("Ask the clerk to look up order A-17.");
console.log(answer?.data.content);
