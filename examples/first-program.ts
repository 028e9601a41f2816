import { approveAll, defineTool, RetinueClient, RuntimeConnection } from "@retinue/sdk";
import * as z from "zod";

const lookUp = defineTool("look_up_order", {
  description: "Finds an order by its number",
  parameters: z.object({ number: z.string() }),
  handler: ({ number }) => ({ number, status: "shipped" }),
});

await using client = new RetinueClient({ connection: RuntimeConnection.forStdio({ path: "bin/retinue.js" }) });
await using session = await client.createSession({
  streaming: true,
  tools: [lookUp],
  customAgents: [
    { name: "clerk", description: "Knows the orders", prompt: "You look up orders.", tools: ["look_up_order"] },
  ],
  onPermissionRequest: approveAll,
});

session.on("subagent.started", ({ data }) => console.log(`\n→ ${data.agentDisplayName}`));
session.on("assistant.message_delta", ({ data, agentId }) => {
  if (agentId === undefined) process.stdout.write(data.deltaContent);
});
await session.sendAndWait("Explore this project with two sub-agents.");
