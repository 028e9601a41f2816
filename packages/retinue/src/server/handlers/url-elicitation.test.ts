/** MCP servers that send a person to an address instead of showing a form. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

const ASKING = fileURLToPath(new URL("../../mcp/fixtures/asking-server.mjs", import.meta.url));
const url = "https://pay.example.com/invoice?id=7";

test("an address that a server sends a person to reaches the client, and its answer has no content", async () => {
  const params = { mode: "url", message: "Please pay", url, elicitationId: "e-1" };
  await inSmallWorld(
    [[call("asking-ask", { method: "elicitation/create", params })], [say("done")]],
    async ({ client, create }) => {
      const asking = { command: process.execPath, args: [ASKING] };
      const sessionId = await create({ mcpServers: { asking }, requestElicitation: true });
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await client.received("session.mcp_servers_loaded");
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId, ...asked } = await client.received("elicitation.requested");
      expect(asked).toMatchObject({ mode: "url", url, message: "Please pay", elicitationSource: "asking" });
      expect(asked).not.toHaveProperty("requestedSchema");
      const result = { action: "accept" as const, content: { left: "over" } };
      await client.call("session.ui.handlePendingElicitation", { sessionId, requestId, result });
      await client.received("session.idle");
      const [answer] = client.of("tool.execution_complete");
      expect(JSON.parse(String(answer?.result?.content))).toEqual({ action: "accept" });
    },
  );
});
