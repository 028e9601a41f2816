/** A host program of the official SDK that gives tokens for an MCP server. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startOAuthServer } from "../../packages/retinue/src/mcp/oauth/test-oauth-server.ts";
import { call, say } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient({ env: { RETINUE_MCP_WAIT_MS: "3600000" } });
});
afterAll(() => world[Symbol.asyncDispose]());

test("onMcpAuthRequest of the official SDK is asked for a token, and the server's tools are there", async () => {
  await using oauth = await startOAuthServer();
  const asked: string[] = [];
  await using talk = await openTalk(world, {
    mcpServers: { guarded: { type: "http", url: oauth.url, tools: ["*"] } },
    onMcpAuthRequest: ({ serverName, reason, wwwAuthenticateParams }) => {
      asked.push(`${serverName} ${reason} ${wwwAuthenticateParams?.scope}`);
      return { accessToken: oauth.grant() };
    },
  });
  talk.model.script(call("guarded-echo", { text: "hi" }), say("done"));
  expect(await talk.ask("Call it.")).toBe("done");
  expect(talk.model.lastRequest.texts("tool")[0]).toContain("echo: hi");
  expect(asked).toEqual(["guarded initial use"]);
});
