/**
 * A program written from the README of the official SDK and from nothing else. It knows no runtime: the SDK starts the
 * one that COPILOT_CLI_PATH names. Prints what it saw as one JSON object.
 */
import { CopilotClient, defineTool } from "@github/copilot-sdk";
import { z } from "zod";

const provider = { type: "openai" as const, baseUrl: process.env.MODEL_URL ?? "", apiKey: "key" };
const seen = { deltas: "", final: "", looked: [] as string[], asked: "", refused: "", hooks: [] as string[] };

const client = new CopilotClient();
await client.start();

const session = await client.createSession({
  model: "gpt-5",
  provider,
  streaming: true,
  tools: [
    defineTool("lookup_issue", {
      description: "Fetch issue details from our tracker",
      parameters: z.object({ id: z.string().describe("Issue identifier") }),
      handler: async ({ id }) => {
        seen.looked.push(id);
        return { id, title: "It is too slow" };
      },
    }),
  ],
  onPermissionRequest: (request) => {
    if (request.kind === "shell") {
      seen.refused = request.fullCommandText;
      return { kind: "reject", feedback: "Shell commands are not allowed." };
    }
    return { kind: "approve-once" };
  },
  onUserInputRequest: async (request) => {
    seen.asked = `${request.question} ${request.choices?.join("/")}`;
    return { answer: "tomorrow", wasFreeform: false };
  },
  hooks: {
    onSessionStart: async ({ source }) => {
      seen.hooks.push(`start:${source}`);
      return { additionalContext: "Our tracker is called Beetle." };
    },
    onUserPromptSubmitted: async ({ prompt }) => {
      seen.hooks.push(`prompt:${prompt}`);
      return { modifiedPrompt: prompt };
    },
    onPreToolUse: async ({ toolName }) => {
      seen.hooks.push(`pre:${toolName}`);
    },
    onPostToolUse: async ({ toolName }) => {
      seen.hooks.push(`post:${toolName}`);
      return { additionalContext: "Post-execution notes" };
    },
    onSessionEnd: async ({ reason }) => {
      seen.hooks.push(`end:${reason}`);
    },
  },
});

const done = new Promise<void>((resolve) => {
  session.on("assistant.message_delta", (event) => {
    seen.deltas += event.data.deltaContent;
  });
  session.on("assistant.message", (event) => {
    seen.final = event.data.content;
  });
  session.on("session.idle", () => resolve());
});
await session.send({ prompt: "Plan the fix of issue 7" });
await done;

const { sessionId } = session;
await session.disconnect();
await client.stop();

const second = new CopilotClient();
await using resumed = await second.resumeSession(sessionId, { model: "gpt-5", provider });
const before = (await resumed.getEvents()).filter((event) => event.type === "user.message").length;
const answer = await resumed.sendAndWait({ prompt: "What did we plan?" });
const listed = (await second.listSessions()).some((known) => known.sessionId === sessionId);
await resumed.disconnect();
await second.deleteSession(sessionId);
const errors = await second.stop();

console.log(JSON.stringify({ ...seen, before, answer: answer?.data.content, listed, errors: errors.length }));
