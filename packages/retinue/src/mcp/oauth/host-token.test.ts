/** Tokens of the host, as a program with the SDK gives them. */
import { approveAll } from "@retinue/sdk";
import { call, say, scripted, startInMemory } from "retinue/testing";
import { expect, test } from "vitest";
import { startOAuthServer } from "./test-oauth-server.ts";

test("the first prompt has the tools of a server for which the program gives a token", async () => {
  await using oauth = await startOAuthServer();
  const provider = scripted([[call("guarded-echo", { text: "hi" })], [say("done")]]);
  await using app = await startInMemory({ provider, config: { serverWaitMs: 3_600_000 } });
  const asked: string[] = [];
  const session = await app.client.createSession({
    mcpServers: { guarded: { type: "http", url: oauth.url } },
    onPermissionRequest: approveAll,
    onMcpAuthRequest: ({ serverName, reason, serverUrl }) => {
      asked.push(`${serverName} ${reason} ${serverUrl === oauth.url}`);
      return { accessToken: oauth.grant() };
    },
  });
  expect((await session.sendAndWait("Call it."))?.data.content).toBe("done");
  expect(asked).toEqual(["guarded initial true"]);
  expect(provider.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", text: "echo: hi" });
});

test("a handler that throws cancels, the program hears of it, and the prompt is answered without the server", async () => {
  await using oauth = await startOAuthServer();
  const provider = scripted([[say("without")]]);
  const errors: unknown[] = [];
  await using app = await startInMemory({ provider, config: { serverWaitMs: 3_600_000 } });
  const session = await app.client.createSession({
    mcpServers: { guarded: { type: "http", url: oauth.url } },
    onMcpAuthRequest: () => {
      errors.push("asked");
      throw new Error("no token today");
    },
  });
  expect((await session.sendAndWait("Go."))?.data.content).toBe("without");
  const { servers } = await session.rpc.mcp.list();
  expect(servers.map(({ name, status }) => `${name} ${status}`)).toEqual(["guarded needs-auth"]);
  expect(errors).toEqual(["asked"]);
});
