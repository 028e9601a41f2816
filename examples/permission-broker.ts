/**
 * Permissions answered by a web page: every ask waits in a list until somebody decides, however deep the agent is that
 * asks. Here the "page" is a second HTTP client that rejects what deletes and allows the rest.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type PermissionDecision, type PermissionRequest, RetinueClient } from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import { offline } from "./support/offline.ts";

interface Waiting {
  request: PermissionRequest;
  agent: string;
  decide(decision: PermissionDecision): void;
}
const waiting = new Map<string, Waiting>();
let arrived: () => void = () => undefined;

/** GET /asks lists what is open; POST /asks/<id> with a decision settles one. */
const server = createServer(async (incoming, response) => {
  const id = incoming.url?.split("/")[2] ?? "";
  if (incoming.method === "GET") {
    const open = [...waiting].map(([key, { request, agent }]) => ({ id: key, request, agent }));
    response.end(JSON.stringify(open));
    return;
  }
  let body = "";
  for await (const chunk of incoming) body += chunk;
  waiting.get(id)?.decide(JSON.parse(body));
  response.statusCode = waiting.delete(id) ? 204 : 404;
  response.end();
}).listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
const url = `http://127.0.0.1:${address && typeof address === "object" ? address.port : 0}/asks`;

await using world = await offline(({ system, results }) => {
  if (system.includes("You tidy up.")) {
    if (results.length === 0) return call("bash", { command: "rm -rf build", description: "Remove the build folder" });
    return results.length === 1 ? call("bash", { command: "ls", description: "Look" }) : say("Kept the build folder.");
  }
  if (results.length > 0) return say("The sub-agent was not allowed to delete, and looked instead.");
  return call("task", { name: "tidy", agent_type: "tidier", description: "tidy", prompt: "Tidy up." });
});

await using client = new RetinueClient(world.client);
const session = await client.createSession({
  ...world.session,
  customAgents: [
    { name: "tidier", displayName: "Tidier", description: "Tidies", tools: ["bash"], prompt: "You tidy up." },
  ],
  onPermissionRequest: (request, { requestId = "", agentName = "main" }) =>
    new Promise((decide) => {
      waiting.set(requestId, { request, agent: agentName, decide });
      arrived();
    }),
});

/** What the page does, for as long as there is something to decide. */
async function page(): Promise<string[]> {
  const seen: string[] = [];
  while (seen.length < 2) {
    if (waiting.size === 0) await new Promise<void>((resolve) => (arrived = resolve));
    const listed = await (await fetch(url)).text();
    const open: { id: string; agent: string; request: PermissionRequest }[] = JSON.parse(listed);
    for (const { id, agent, request } of open) {
      const command = request.kind === "shell" ? request.fullCommandText : request.kind;
      seen.push(`${agent}: ${command}`);
      const decision: PermissionDecision = command.startsWith("rm")
        ? { kind: "reject", feedback: "Deleting is not allowed." }
        : { kind: "approve-once" };
      await fetch(`${url}/${id}`, { method: "POST", body: JSON.stringify(decision) });
    }
  }
  return seen;
}

const [answer, seen] = await Promise.all([session.sendAndWait("Tidy up."), page()]);
server.close();
server.closeAllConnections();

console.log(answer?.data.content);
assert.deepEqual(seen, ["tidier: rm -rf build", "tidier: ls"]);
const results = world.model.requests.flatMap((request) => request.results);
assert.ok(
  results.some((result) => result.includes("Deleting is not allowed.")),
  "the model reads why",
);
