import { describe, expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "../server/handlers/small-world.ts";
import { unusedOptions } from "./unused-options.ts";

const warnings = (client: TestClient) => client.of("session.warning");

describe("a client that sets an option without effect", () => {
  test("is warned which options have no effect, after the session has started, and the warning is not recorded", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create({ requestAutoModeSwitch: true, toolSearch: { enabled: true }, streaming: true });
      expect(await client.received("session.warning")).toEqual({
        warningType: "unused_option",
        message: "These session options have no effect yet: requestAutoModeSwitch, toolSearch.",
      });
      const types = client.events.map(({ type }) => type);
      expect(types.indexOf("session.start")).toBeLessThan(types.indexOf("session.warning"));
      const { events } = await client.call("session.getMessages", { sessionId });
      expect(events.map((event) => (event as { type: string }).type)).not.toContain("session.warning");
    });
  });

  test("is warned once, also when it resumes, and then only of options that are new", async () => {
    await inSmallWorld([[say("ok")]], async ({ client, create, send }) => {
      const sessionId = await create({ requestAutoModeSwitch: true });
      await client.call("session.resume", { sessionId, requestAutoModeSwitch: true });
      await client.call("session.resume", { sessionId, requestAutoModeSwitch: true, enableFileChangeTracking: true });
      await send(sessionId, "go");
      expect(warnings(client).map(({ message }) => message)).toEqual([
        "These session options have no effect yet: requestAutoModeSwitch.",
        "These session options have no effect yet: enableFileChangeTracking.",
      ]);
    });
  });

  test("is warned even when another client was warned before", async () => {
    await inSmallWorld([], async ({ client, create, anotherClient }) => {
      const sessionId = await create({ requestAutoModeSwitch: true });
      const other = anotherClient();
      await other.call("session.resume", { sessionId, requestAutoModeSwitch: true });
      await other.received("session.warning");
      expect(warnings(client).length).toBeGreaterThan(0);
    });
  });
});

test("an option that changes nothing is not warned of", () => {
  const asksNothing = {
    configDir: "",
    contextTier: "default" as const,
    customAgentsLocalOnly: true,
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

test("switching off what is always on is warned of", () => {
  const off = { enableSkills: false, enableSessionStore: false, enableHostGitOperations: false };
  expect(unusedOptions(off)).toEqual(["enableHostGitOperations", "enableSessionStore", "enableSkills"]);
});
