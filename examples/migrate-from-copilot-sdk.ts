/**
 * A program written for `@github/copilot-sdk`. Two words changed: the package it imports from, and the class name.
 * What it does is the official guide's own example: custom agents, a typed tool, events, one answer.
 */
import assert from "node:assert/strict";
import { approveAll, defineTool, RetinueClient, RuntimeConnection, type SessionEvent } from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import { z } from "zod";
import { offline } from "./support/offline.ts";

await using world = await offline(({ system, results }) => {
  if (system.includes("You are a research assistant.")) {
    return results.length === 0
      ? call("search_docs", { query: "authentication" })
      : say("Tokens are checked in auth.ts.");
  }
  if (results.length > 0) return say("Authentication is done with tokens, checked in auth.ts.");
  return call("task", {
    name: "auth",
    agent_type: "researcher",
    description: "auth",
    prompt: "How does authentication work?",
  });
});

const client = new RetinueClient({
  connection: RuntimeConnection.forStdio({ path: world.path }),
  workingDirectory: world.folder,
  baseDirectory: world.client.baseDirectory,
});
await client.start();

const session = await client.createSession({
  ...world.session,
  tools: [
    defineTool("search_docs", {
      description: "Searches the documentation",
      parameters: z.object({ query: z.string() }),
      handler: async ({ query }) => ({ found: `auth.ts mentions ${query}` }),
    }),
  ],
  customAgents: [
    {
      name: "researcher",
      displayName: "Research Agent",
      description: "Explores codebases and answers questions using read-only tools",
      tools: ["grep", "glob", "view", "search_docs"],
      prompt: "You are a research assistant. Analyze code and answer questions. Do not modify any files.",
    },
    {
      name: "editor",
      displayName: "Editor Agent",
      description: "Makes targeted code changes",
      tools: ["view", "edit", "bash"],
      prompt: "You are a code editor. Make minimal, surgical changes to files as requested.",
    },
  ],
  hooks: { onPreToolUse: async ({ toolName }) => void used.push(toolName) },
  onPermissionRequest: approveAll,
});
const used: string[] = [];

const seen: string[] = [];
const unsubscribe = session.on((event: SessionEvent) => {
  switch (event.type) {
    case "subagent.started":
      seen.push(`started ${event.data.agentDisplayName}`);
      break;
    case "subagent.completed":
      seen.push(`completed ${event.data.agentDisplayName}`);
      break;
    case "subagent.failed":
      seen.push(`failed ${event.data.error}`);
      break;
  }
});

const response = await session.sendAndWait({ prompt: "Research how authentication works in this codebase" });
console.log(response?.data.content);
const { agents } = await session.rpc.agent.list();
unsubscribe();
await session.disconnect();
await client.stop();

assert.equal(response?.data.content, "Authentication is done with tokens, checked in auth.ts.");
assert.deepEqual(seen, ["started Research Agent", "completed Research Agent"]);
assert.deepEqual(agents.map(({ name }) => name).sort(), ["editor", "researcher"]);
assert.ok(used.includes("task") && used.includes("search_docs"), "hooks ran for the main agent and the sub-agent");
