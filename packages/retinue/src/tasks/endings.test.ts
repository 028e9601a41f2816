/** Every way in which a sub-agent ends, as a client and a model see it. */
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";
import {
  agentNamed,
  agentsOf,
  by,
  byHeld,
  delegate,
  gate,
  held,
  LEAD,
  lifeOf,
  main,
  never,
  quiet,
  resultsIn,
  send,
  startAgent,
} from "./test-tasks.ts";

const background = { mode: "background" };

describe("an agent fails", () => {
  test("when it ends without an answer", async () => {
    await inSmallWorld([main(delegate("dig")), by("dig", say("  ")), main(say("done"))], async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      expect(resultsIn(provider.requests.at(-1))).toEqual(["The agent ended without an answer."]);
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ status: "failed", error: "The agent ended without an answer." });
      expect(agent.completedAt).toBeDefined();
      expect(lifeOf(client, agent.id)).toEqual(["started", "failed"]);
      expect(client.of("subagent.failed")[0]).not.toHaveProperty("reason");
    });
  });

  test("when its model fails, and its text so far is kept", async () => {
    const turns = [
      main(delegate("dig")),
      by("dig", say("half of it"), call("list_agents")),
      by("dig", new Error("no model")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const [result] = resultsIn(provider.requests.at(-1));
      expect(result).toMatch(/no model.*\n\nWhat it had so far:\nhalf of it$/s);
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ status: "failed", latestResponse: "half of it" });
      expect(agent.error).toContain("no model");
      expect(client.of("subagent.failed")).toMatchObject([{ error: agent.error, totalToolCalls: 1 }]);
    });
  });

  test("at its time limit, with the reason and the limit in words", async () => {
    const dig = never();
    const turns = [main(delegate("dig", { budget: { maxSeconds: 0.05 } })), byHeld("dig", dig), main(say("done"))];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      expect(resultsIn(provider.requests.at(-1))).toEqual(["The agent was stopped after 0.05 s."]);
      expect(client.of("subagent.failed")).toMatchObject([{ reason: "timed_out" }]);
      expect((await agentNamed(client, sessionId, "dig")).status).toBe("failed");
    });
  });

  test("when its budget is used up, with the text of its last turn", async () => {
    const turns = [
      main(delegate("dig", { budget: { maxTurns: 2 } })),
      by("dig", call("list_agents")),
      by("dig", say("this is all I have")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      expect(resultsIn(provider.requests.at(-1))).toEqual([
        "The budget is used up.\n\nWhat it had so far:\nthis is all I have",
      ]);
      expect(client.of("subagent.failed")).toMatchObject([{ reason: "over_budget", error: "The budget is used up." }]);
    });
  });

  test("in a later run with an end of that run, and its owner is notified", async () => {
    const turns = [
      by("dig", say("gold")),
      main(say("seen")),
      by("dig", new Error("no model")),
      main(say("seen that it failed")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await client.received("session.idle");
      const after = client.events.length;
      await client.call("session.tasks.sendMessage", { sessionId, id, message: "more" });
      await client.received("session.idle", { after });
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ status: "failed", error: expect.stringContaining("no model") });
      expect(agent).not.toHaveProperty("idleSince");
      expect(lifeOf(client, id)).toEqual(["started", "completed", "started", "failed"]);
      expect(client.of("system.notification").map(({ kind }) => kind)).toMatchObject([
        { type: "agent_idle" },
        { type: "agent_completed", status: "failed" },
      ]);
      provider.assertSpent();
    });
  });

  test("together with the agents that still work below it", async () => {
    const below = never();
    const turns = [
      main(delegate("top", { agent_type: "lead" })),
      by("top", delegate("below", background)),
      byHeld("below", below),
      byHeld("top", { turn: async () => [below.reached, new Error("no model")] }),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create({ customAgents: [LEAD] });
      await world.send(sessionId, "go");
      expect((await agentNamed(client, sessionId, "top")).status).toBe("failed");
      const lower = await agentNamed(client, sessionId, "below");
      expect(lower.status).toBe("cancelled");
      expect(lifeOf(client, lower.id)).toEqual(["started", "completed (cancelled)"]);
    });
  });
});

describe("cancelling", () => {
  test("an agent ends everything below it, deepest first, and the parent reads it in the result of its call", async () => {
    const deep = never();
    const turns = [
      main(delegate("a")),
      by("a", delegate("b")),
      by("b", delegate("c")),
      byHeld("c", deep),
      main(say("done")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await deep.reached;
      const { id } = await agentNamed(client, sessionId, "a");
      expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
      await client.received("session.idle");
      const agents = await agentsOf(client, sessionId);
      expect(agents.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
      for (const agent of agents) {
        expect(lifeOf(client, agent.id)).toEqual(["started", "completed (cancelled)"]);
        expect(agent.completedAt).toBeDefined();
      }
      expect(resultsIn(provider.requests.at(-1))).toEqual(["The agent was cancelled before it had answered."]);
      // Each running call in the tree has an end.
      const started = client.of("tool.execution_start").map(({ toolCallId }) => toolCallId);
      expect(client.of("tool.execution_complete").map(({ toolCallId }) => toolCallId)).toHaveLength(started.length);
      provider.assertSpent();
    });
  });

  test("an agent in the middle leaves the one above it running", async () => {
    const deep = never();
    const turns = [
      main(delegate("a")),
      by("a", delegate("b")),
      by("b", delegate("c")),
      byHeld("c", deep),
      by("a", say("without b, then")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await deep.reached;
      const { id } = await agentNamed(client, sessionId, "b");
      await client.call("session.tasks.cancel", { sessionId, id });
      await client.received("session.idle");
      expect((await agentsOf(client, sessionId)).map(({ status }) => status)).toEqual([
        "idle",
        "cancelled",
        "cancelled",
      ]);
      expect(resultsIn(provider.requests.at(-1))).toEqual(["without b, then"]);
    });
  });

  test("twice ends it once, and an ended or unknown task cannot be cancelled", async () => {
    const dig = never();
    await inSmallWorld([byHeld("dig", dig)], async ({ client, create }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await dig.reached;
      const cancel = async (which = id) =>
        (await client.call("session.tasks.cancel", { sessionId, id: which })).cancelled;
      await Promise.all([cancel(), cancel()]);
      expect(lifeOf(client, id)).toEqual(["started", "completed (cancelled)"]);
      expect(await cancel()).toBe(false);
      expect(await cancel("nobody")).toBe(false);
    });
  });

  test("an idle agent ends it as completed, without a second end event", async () => {
    await inSmallWorld([by("dig", say("gold")), main(say("seen"))], async ({ client, create }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await client.received("session.idle");
      expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ status: "completed", latestResponse: "gold" });
      expect(agent).not.toHaveProperty("idleSince");
      expect(lifeOf(client, id)).toEqual(["started", "completed"]);
    });
  });

  test("an agent before its run prevents the run", async () => {
    const asked = gate();
    await inSmallWorld([], async ({ client, create, provider }) => {
      client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) => {
        if (hookType !== "subagentStart") return {};
        asked.open();
        return new Promise(() => undefined);
      });
      const sessionId = await create({ hooks: true });
      const id = await startAgent(client, sessionId, "dig");
      await asked.opened;
      expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
      await quiet(client, sessionId);
      expect(lifeOf(client, id)).toEqual(["started", "completed (cancelled)"]);
      expect(provider.requests).toEqual([]);
    });
  });

  test("an agent runs its stop hook, which runs once for an agent that answers", async () => {
    const dig = never();
    await inSmallWorld([byHeld("dig", dig), by("ok", say("gold")), main(say("seen"))], async ({ client, create }) => {
      const stops: unknown[] = [];
      client.answers.set(
        "hooks.invoke",
        ({ hookType, input }: { hookType: string; input: { stopReason?: string } }) => {
          if (hookType === "subagentStop") stops.push(input.stopReason);
          return {};
        },
      );
      const sessionId = await create({ hooks: true });
      const id = await startAgent(client, sessionId, "dig");
      await dig.reached;
      await client.call("session.tasks.cancel", { sessionId, id });
      expect(stops).toEqual(["cancelled"]);
      const after = client.events.length;
      await startAgent(client, sessionId, "ok");
      await client.received("session.idle", { after });
      expect(stops).toEqual(["cancelled", "end_turn"]);
    });
  });

  test("a parent by aborting the session ends its background agents as well, and nothing goes on", async () => {
    const [sync, behind] = [never(), never()];
    const turns = [
      main(delegate("behind", background), delegate("sync")),
      byHeld("behind", behind),
      byHeld("sync", sync),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await Promise.all([sync.reached, behind.reached]);
      await client.call("session.abort", { sessionId });
      await client.received("session.idle");
      expect((await agentsOf(client, sessionId)).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
      expect(client.of("session.idle")).toMatchObject([{ aborted: true }]);
      await quiet(client, sessionId);
      expect(provider.requests).toHaveLength(3);
    });
  });

  test("the turn that waits for an agent cancels the agent, and leaves background agents running", async () => {
    const [sync, behind] = [never(), held(say("gold"))];
    const turns = [
      main(delegate("behind", background), delegate("sync")),
      byHeld("behind", behind),
      byHeld("sync", sync),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async ({ client, create }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await Promise.all([sync.reached, behind.reached]);
      await client.call("session.interruptMainTurn", { sessionId });
      expect((await agentNamed(client, sessionId, "sync")).status).toBe("cancelled");
      expect((await agentNamed(client, sessionId, "behind")).status).toBe("running");
      behind.go();
      await client.received("session.idle");
      expect((await agentNamed(client, sessionId, "behind")).status).toBe("idle");
    });
  });
});
