/**
 * A heavy tool that the main agent does not even see: `defaultAgent.excludedTools` hides it, and only the agent that
 * lists it can call it. The main agent's context stays small; its answers come from the sub-agent's summary.
 */
import assert from "node:assert/strict";
import { approveAll, defineTool, RetinueClient } from "@retinue/sdk";
import { call, say } from "@retinue/sdk/testing";
import * as z from "zod";
import { offline } from "./support/offline.ts";

const calls: string[] = [];
const analyze = defineTool("analyze-codebase", {
  description: "Analyses the whole codebase and returns a great deal of text",
  parameters: z.object({ query: z.string() }),
  handler: ({ query }, { agentName }) => {
    calls.push(`${agentName}: ${query}`);
    return { analysis: "x".repeat(5_000) };
  },
});

await using world = await offline(({ system, results }) => {
  if (system.includes("You analyse codebases.")) {
    return results.length === 0 ? call("analyze-codebase", { query: "layers" }) : say("There are three layers.");
  }
  if (results.length > 0) return say("The codebase has three layers.");
  return call("task", {
    name: "look",
    agent_type: "researcher",
    description: "look",
    prompt: "Which layers are there?",
  });
});

await using client = new RetinueClient(world.client);
const session = await client.createSession({
  ...world.session,
  tools: [analyze],
  defaultAgent: { excludedTools: ["analyze-codebase"] },
  customAgents: [
    {
      name: "researcher",
      displayName: "Researcher",
      description: "Deep analysis with tools that produce much text",
      tools: ["analyze-codebase"],
      prompt: "You analyse codebases.",
    },
  ],
  onPermissionRequest: approveAll,
});
const answer = await session.sendAndWait("How is this codebase layered?");

console.log(answer?.data.content);
const main = world.model.requests.filter(({ system }) => !system.includes("You analyse codebases."));
assert.ok(
  main.every(({ tools }) => !tools.includes("analyze-codebase")),
  "the main agent does not see the tool",
);
assert.ok(
  main.every(({ body }) => !JSON.stringify(body).includes("x".repeat(5_000))),
  "nor what it returned",
);
assert.deepEqual(calls, ["researcher: layers"]);
