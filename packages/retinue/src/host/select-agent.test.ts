/** The model of an agent that the main agent takes on. */
import { expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";

const agent = (name: string, more: object = {}) => ({ name, description: "d", prompt: `You are ${name}.`, ...more });
const AGENTS = [
  agent("plain"),
  agent("able", { model: "grand", reasoningEffort: "high" }),
  agent("quick", { model: "mini" }),
];
const answers = (count: number) => Array.from({ length: count }, () => [say("hello")]);

test("counts from its selection on, and the session has its own again afterwards", async () => {
  await inSmallWorld(answers(6), async ({ client, create, send, provider }) => {
    const sessionId = await create({ customAgents: AGENTS, model: "main", agent: "able", reasoningEffort: "low" });
    const select = (name: string) => client.call("session.agent.select", { sessionId, name });
    await send(sessionId, "1");
    await select("quick");
    await send(sessionId, "2");
    await select("plain");
    await send(sessionId, "3");
    await select("able");
    await client.call("session.agent.deselect", { sessionId });
    await send(sessionId, "4");
    await select("able");
    await client.call("session.model.switchTo", { sessionId, modelId: "chosen" });
    await client.call("session.agent.deselect", { sessionId });
    await send(sessionId, "5");
    expect(provider.requests.map(({ model, reasoningEffort }) => [model, reasoningEffort])).toEqual([
      ["grand", "high"],
      ["mini", undefined],
      ["main", "low"],
      ["main", "low"],
      ["chosen", undefined],
    ]);
  });
});

test("stays when the session is resumed with the model that it was created with", async () => {
  await inSmallWorld(
    answers(3),
    async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ customAgents: AGENTS, model: "main", agent: "able" });
      await world.send(sessionId, "1");
      client.close();
      const { client: again } = await world.restart();
      await again.call("session.resume", { sessionId, customAgents: AGENTS, model: "main", requestPermission: true });
      await again.call("session.send", { sessionId, prompt: "2" });
      await again.received("session.idle");
      await again.call("session.agent.deselect", { sessionId });
      const after = again.events.length;
      await again.call("session.send", { sessionId, prompt: "3" });
      await again.received("session.idle", { after });
      expect(provider.requests.map(({ model }) => model)).toEqual(["grand", "grand", "main"]);
    },
    { isOnDisk: true },
  );
});

test("that is not available is named in a warning, and the session's is used", async () => {
  const providers = [{ name: "p", baseUrl: "http://127.0.0.1:9" }];
  const models = [{ id: "main", provider: "p" }];
  await inSmallWorld(answers(1), async ({ client, create, send, provider }) => {
    const sessionId = await create({ customAgents: AGENTS, agent: "able", model: "main", providers, models });
    await send(sessionId, "1");
    expect(provider.requests[0]?.model).toBe("main");
    expect(client.of("session.warning").map(({ message }) => message)).toContain(
      "The model grand of the agent able is not available here, so main is used.",
    );
  });
});
