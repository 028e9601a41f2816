import { describe, expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { unusedOptions } from "./unused-options.ts";

const warnings = (client: TestClient) => client.of("session.warning");

describe("a client that asks for something that is not built", () => {
  test("is told which options have no effect, after the session has begun, and nothing of it is kept", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create({ enableFileHooks: true, toolSearch: { enabled: true }, streaming: true });
      expect(await client.heard("session.warning")).toEqual({
        warningType: "unused_option",
        message: "These session options have no effect yet: enableFileHooks, toolSearch.",
      });
      const types = client.events.map(({ type }) => type);
      expect(types.indexOf("session.start")).toBeLessThan(types.indexOf("session.warning"));
      const { events } = await client.call("session.getMessages", { sessionId });
      expect(events.map((event) => (event as { type: string }).type)).not.toContain("session.warning");
    });
  });

  test("is told once, also when it resumes, and then only of options that are new", async () => {
    await inSmallWorld([[say("ok")]], async ({ client, create, send }) => {
      const sessionId = await create({ enableFileHooks: true });
      await client.call("session.resume", { sessionId, enableFileHooks: true });
      await client.call("session.resume", { sessionId, enableFileHooks: true, enableFileChangeTracking: true });
      await send(sessionId, "go");
      expect(warnings(client).map(({ message }) => message)).toEqual([
        "These session options have no effect yet: enableFileHooks.",
        "These session options have no effect yet: enableFileChangeTracking.",
      ]);
    });
  });

  test("is told as well when another client was told before", async () => {
    await inSmallWorld([], async ({ client, create, anotherClient }) => {
      const sessionId = await create({ enableFileHooks: true });
      const other = anotherClient();
      await other.call("session.resume", { sessionId, enableFileHooks: true });
      await other.heard("session.warning");
      expect(warnings(client).length).toBeGreaterThan(0);
    });
  });
});

test("what asks for nothing, or for what happens anyway, is no reason to warn", () => {
  const asksNothing = {
    configDir: "",
    contextTier: "default" as const,
    customAgentsLocalOnly: true,
    enableFileHooks: false,
    enableHostGitOperations: true,
    enableSessionStore: true,
    enableSkills: true,
    envValueMode: "direct" as const,
    requestAutoModeSwitch: false,
    sessionLimits: {},
    toolSearch: { enabled: false },
    traceparent: undefined,
    model: "large",
    tools: [],
  };
  expect(unusedOptions(asksNothing)).toEqual([]);
});

test("what is always on cannot be switched off yet, and asking for that is told", () => {
  const off = { enableSkills: false, enableSessionStore: false, enableHostGitOperations: false };
  expect(unusedOptions(off)).toEqual(["enableHostGitOperations", "enableSessionStore", "enableSkills"]);
});
