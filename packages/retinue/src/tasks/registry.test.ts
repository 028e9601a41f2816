/** What a client and a model see of sub-agents as tasks: start, states, messages, waiting, notices. */
import { describe, expect, test } from "vitest";
import type { ModelRequest } from "../models/provider.ts";
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
  idIn,
  LEAD,
  lifeOf,
  main,
  mainHeld,
  mainOn,
  never,
  quiet,
  resultsIn,
  send,
  startAgent,
  userTexts,
} from "./test-tasks.ts";

const background = { mode: "background" };

describe("an agent that is started", () => {
  test("by a call that waits gives its answer as the result of the call, and is then idle", async () => {
    await inSmallWorld([main(delegate("dig")), by("dig", say("gold")), main(say("done"))], async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      expect(resultsIn(provider.requests.at(-1))).toEqual(["gold"]);
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({
        type: "agent",
        status: "idle",
        toolCallId: "call_1",
        executionMode: "sync",
        canPromoteToBackground: false,
        latestResponse: "gold",
        result: "gold",
        prompt: "do dig",
        description: "does dig",
        pathNames: ["dig"],
      });
      expect(agent.idleSince).toBeDefined();
      expect(agent).not.toHaveProperty("completedAt");
      expect(agent).not.toHaveProperty("parentId");
      expect(lifeOf(client, agent.id)).toEqual(["started", "completed"]);
      provider.assertSpent();
    });
  });

  test("in the background lets its call return at once, and notifies its owner once, before the session is idle", async () => {
    const dig = held(say("gold"));
    const turns = [main(delegate("dig", background)), main(say("started")), byHeld("dig", dig), main(say("seen"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await client.received("assistant.idle");
      await dig.reached;
      const { id, status, executionMode, canPromoteToBackground } = await agentNamed(client, sessionId, "dig");
      expect([status, executionMode, canPromoteToBackground]).toEqual(["running", "background", false]);
      expect(client.of("tool.execution_complete")[0]?.result?.content).toContain(`agent_id: ${id}`);
      dig.go();
      await client.received("session.idle");
      const [, started, notified] = provider.requests.filter((request) => userTexts(request)[0]?.endsWith("go"));
      expect(started && userTexts(started)).toHaveLength(1);
      expect(notified && userTexts(notified).slice(1)).toEqual([
        expect.stringContaining(`"dig" has answered and is idle. Read its answer with read_agent, agent_id "${id}"`),
      ]);
      expect(client.of("system.notification")).toHaveLength(1);
      expect((await agentNamed(client, sessionId, "dig")).status).toBe("idle");
      provider.assertSpent();
    });
  });

  test("by a client is a background agent whose call is itself", async () => {
    const turns = [by("dig", say("gold")), main(say("seen"))];
    await inSmallWorld(turns, async ({ client, create }) => {
      const sessionId = await create();
      const agentId = await startAgent(client, sessionId, "dig");
      await client.received("session.idle");
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({ id: agentId, toolCallId: agentId, executionMode: "background", status: "idle" });
    });
  });

  test("by a client with an unknown agent is refused, and nothing is listed", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create();
      const params = { sessionId, agentType: "wizard", name: "w", prompt: "p" };
      await expect(client.call("session.tasks.startAgent", params)).rejects.toThrow(
        /Unknown agent type: wizard. Valid types: .*explore/,
      );
      expect(await agentsOf(client, sessionId)).toEqual([]);
    });
  });

  test("by a sub-agent has one run: it is completed with its answer and has its parent's id", async () => {
    const turns = [
      main(delegate("outer")),
      by("outer", delegate("inner")),
      by("inner", say("ore")),
      by("outer", say("gold")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const outer = await agentNamed(client, sessionId, "outer");
      const inner = await agentNamed(client, sessionId, "inner");
      expect(inner).toMatchObject({
        status: "completed",
        parentId: outer.id,
        pathNames: ["outer", "inner"],
        result: "ore",
      });
      expect(inner).not.toHaveProperty("idleSince");
      const sent = await client.call("session.tasks.sendMessage", { sessionId, id: inner.id, message: "more" });
      expect(sent).toEqual({
        sent: false,
        error: `Agent ${inner.id} has ended (completed) and takes no more messages. Start a new one.`,
      });
    });
  });

  test("in the background by a sub-agent runs as sync and says so, unless the sub-agent may have background work", async () => {
    const turns = [
      main(delegate("plain")),
      by("plain", delegate("inner", background)),
      by("inner", say("ore")),
      by("plain", say("gold")),
      main(delegate("leader", { agent_type: "lead" })),
      by("leader", delegate("below", background)),
      by("leader", say("started it")),
      by("below", say("coal")),
      by("leader", say("and it has answered")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create({ customAgents: [LEAD] });
      await world.send(sessionId, "go");
      const results = provider.requests.map((request) => resultsIn(request).at(-1) ?? "");
      expect(results).toContainEqual(
        expect.stringMatching(/^ore\n\n\(Inside a sub-agent, background work runs as sync/),
      );
      expect(results).toContainEqual(expect.stringContaining("Agent started in background"));
      expect((await agentNamed(client, sessionId, "inner")).executionMode).toBe("sync");
      expect((await agentNamed(client, sessionId, "below")).executionMode).toBe("background");
      expect(resultsIn(provider.requests.at(-1)).at(-1)).toBe("and it has answered");
      provider.assertSpent();
    });
  });
});

describe("a message", () => {
  test("wakes an idle agent; its answer is a second turn with an end of its own, and the owner is notified", async () => {
    const turns = [
      main(delegate("dig")),
      by("dig", say("gold")),
      main(say("done")),
      by("dig", say("silver")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const { id } = await agentNamed(client, sessionId, "dig");
      const after = client.events.length;
      expect(await client.call("session.tasks.sendMessage", { sessionId, id, message: "and what else?" })).toEqual({
        sent: true,
      });
      await client.received("session.idle", { after });
      const agent = await agentNamed(client, sessionId, "dig");
      expect(agent).toMatchObject({
        status: "idle",
        executionMode: "background",
        latestResponse: "silver",
        prompt: "and what else?",
      });
      expect(lifeOf(client, id)).toEqual(["started", "completed", "started", "completed"]);
      expect(client.of("system.notification")).toHaveLength(1);
      const asked = provider.requests.find((request) => userTexts(request).at(-1)?.endsWith("and what else?"));
      expect(asked && userTexts(asked)).toHaveLength(2);
      const prompts = client.events.filter(({ type, agentId }) => type === "user.message" && agentId === id);
      expect(prompts.map(({ data }) => data.source)).toEqual([`agent-${sessionId}`, "user"]);
    });
  });

  test("to a running agent waits for its answer, and the owner is notified of both answers", async () => {
    const dig = held(say("gold"));
    const turns = [byHeld("dig", dig), by("dig", say("silver")), main(say("seen")), main(say("seen"))];
    await inSmallWorld(turns, async ({ client, create }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await dig.reached;
      const params = { sessionId, id, message: "silver too", fromAgentId: "somebody" };
      expect(await client.call("session.tasks.sendMessage", params)).toEqual({ sent: true });
      const { status, prompt } = await agentNamed(client, sessionId, "dig");
      expect([status, prompt]).toEqual(["running", "silver too"]);
      dig.go();
      await client.received("session.idle");
      expect((await agentNamed(client, sessionId, "dig")).latestResponse).toBe("silver");
      expect(client.of("system.notification")).toHaveLength(2);
      const prompts = client.events.filter(({ type, agentId }) => type === "user.message" && agentId === id);
      expect(prompts.map(({ data }) => data.source)).toEqual([`agent-${sessionId}`, "agent-somebody"]);
    });
  });

  test("to an unknown or a cancelled agent is not sent and says why", async () => {
    const dig = never();
    await inSmallWorld([byHeld("dig", dig)], async ({ client, create }) => {
      const sessionId = await create();
      const unknown = await client.call("session.tasks.sendMessage", { sessionId, id: "nobody", message: "m" });
      expect(unknown).toEqual({ sent: false, error: "Agent not found: nobody" });
      const id = await startAgent(client, sessionId, "dig");
      await dig.reached;
      await client.call("session.tasks.cancel", { sessionId, id });
      expect((await client.call("session.tasks.sendMessage", { sessionId, id, message: "m" })).error).toMatch(
        /has ended \(cancelled\)/,
      );
    });
  });

  test("from the model goes to all agents that it names, and the result names each that cannot take it", async () => {
    const turns = [
      main(delegate("a"), delegate("b")),
      by("a", say("A")),
      by("b", say("B")),
      main(call("write_agent", { message: "more", scope: "children" })),
      by("a", say("AA")),
      by("b", say("BB")),
      main(call("write_agent", { message: "more", agent_ids: ["x", "y"] })),
      main(call("write_agent", { message: "more" })),
      main(call("write_agent", { message: "more", agent_id: "x" })),
      main(say("done")),
      main(say("seen")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const ended = client.events.filter(({ type, agentId }) => type === "tool.execution_complete" && !agentId);
      const texts = ended.map(({ data }) => (data as { result?: { content: string } }).result?.content);
      const problems = ended.map(({ data }) => (data as { error?: { message: string } }).error?.message);
      const ids = (await agentsOf(client, sessionId)).map(({ id }) => id);
      expect(texts[2]).toBe(
        ids.map((id) => `Message delivered to agent ${id}. You will be told when it has answered.`).join("\n"),
      );
      expect(problems.slice(3)).toEqual([
        "Agent not found: x\nAgent not found: y",
        "No agent to write to: name agent_id, agent_ids or a scope.",
        "Agent not found",
      ]);
    });
  });
});

describe("reading an agent", () => {
  test("shows its state and its answers, and leaves out turns that were seen", async () => {
    const turns = [
      main(delegate("dig", background)),
      mainOn("read_agent", { wait: true }),
      by("dig", say("gold")),
      mainOn("write_agent", { message: "and what else?" }),
      mainOn("read_agent", { wait: true, since_turn: 1 }),
      by("dig", say("silver")),
      mainOn("read_agent"),
      mainOn("read_agent", { since_turn: 2 }),
      main(call("read_agent", { agent_id: "nobody" })),
      main(say("done")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      await world.send(sessionId, "go");
      const { id } = await agentNamed(client, sessionId, "dig");
      const head = (turns: number) =>
        `Agent is idle (waiting for messages). agent_id: ${id}, agent_type: general-purpose, status: idle, description: does dig, elapsed: 0s, total_turns: ${turns}`;
      const second = "[Turn 1]\n[Message]\nand what else?\n[Response]\nsilver";
      const [, first, , added, both, none, nobody] = resultsIn(provider.requests.at(-1)).map((text) =>
        text.replace(/elapsed: \d+s/, "elapsed: 0s"),
      );
      expect(first).toBe(`${head(1)}\n\n[Turn 0]\ngold`);
      expect(added).toBe(`${head(2)}\n\n${second}`);
      expect(both).toBe(`${head(2)}\n\n[Turn 0]\ngold\n\n${second}`);
      expect(none).toBe(head(2));
      expect(nobody).toBe("Agent not found");
      // An owner that has waited for the answer, or read it, gets no notice.
      expect(client.of("system.notification")).toEqual([]);
      provider.assertSpent();
    });
  });

  test("that is running does not wait unless asked to, and not longer than the time limit", async () => {
    const dig = held(say("gold"));
    const turns = [
      main(delegate("dig", background)),
      byHeld("dig", dig),
      mainOn("read_agent"),
      mainOn("read_agent", { wait: true, timeout: 0 }),
      main(say("it takes its time")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await client.received("assistant.idle");
      const results = resultsIn(provider.requests.at(-1)).slice(1);
      expect(results).toHaveLength(2);
      for (const result of results) expect(result).toMatch(/^Agent is running. .* status: running, .* total_turns: 0$/);
      dig.go();
      await client.received("session.idle");
      expect(client.of("system.notification")).toHaveLength(1);
    });
  });

  test("drops its waiting notice", async () => {
    const [asked, door] = [gate(), gate()];
    const reads = (request: ModelRequest) => {
      asked.open();
      return [door.opened, call("read_agent", { agent_id: idIn(request) })];
    };
    const turns = [
      main(delegate("dig", background)),
      mainHeld({ turn: reads }),
      by("dig", say("gold")),
      main(say("done")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await asked.opened;
      await client.until(({ type }) => type === "subagent.completed");
      await client.call("session.tasks.waitForPending", { sessionId });
      door.open();
      await client.received("session.idle");
      expect(resultsIn(provider.requests.at(-1)).at(-1)).toContain("gold");
      expect(client.of("system.notification")).toEqual([]);
      provider.assertSpent();
    });
  });

  test("that has failed is a failure with its reason; one that was cancelled says so", async () => {
    const dig = never();
    const turns = [
      by("broken", new Error("no model")),
      main(say("seen")),
      mainOn("read_agent"),
      main(say("read")),
      byHeld("dig", dig),
      mainOn("read_agent"),
      main(say("read")),
    ];
    await inSmallWorld(turns, async (world) => {
      const { client, create, provider } = world;
      const sessionId = await create();
      const broken = await startAgent(client, sessionId, "broken");
      await client.received("session.idle");
      await world.send(sessionId, `agent_id: ${broken}`);
      const failed = client.of("tool.execution_complete").at(-1);
      expect(failed).toMatchObject({
        success: false,
        modelText: expect.stringMatching(/^Agent has failed: .*no model/),
      });
      const id = await startAgent(client, sessionId, "dig");
      await dig.reached;
      await client.call("session.tasks.cancel", { sessionId, id });
      await world.send(sessionId, `agent_id: ${id}`);
      expect(resultsIn(provider.requests.at(-1)).at(-1)).toMatch(/^Agent was cancelled\. .* status: cancelled/);
    });
  });

  test("is for the main agent, its parent and its siblings only", async () => {
    const peek = call("list_agents", { include_completed: true });
    const turns = [
      main(delegate("outer")),
      by("outer", delegate("inner")),
      by("inner", say("ore")),
      by("outer", say("gold")),
      main(delegate("other")),
      byHeld("other", {
        turn: () => [call("read_agent", { agent_id: innerId }), call("read_agent", { agent_id: outerId })],
      }),
      by("other", peek),
      by("other", say("looked")),
      main(say("done")),
    ];
    let innerId = "";
    let outerId = "";
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      const inner = await client.until(({ type, data }) => type === "subagent.started" && data.parentId !== undefined);
      innerId = inner.agentId ?? "";
      outerId = String(inner.data.parentId);
      await client.received("session.idle");
      const other = provider.requests.findLast((request) => userTexts(request)[0]?.endsWith("do other"));
      const [ofInner, ofOuter, list] = resultsIn(other);
      expect(ofInner).toBe("Agent not found");
      expect(ofOuter).toMatch(/^Agent is idle/);
      expect(list).toMatch(/Running \(1\):\n {2}other \(.*relation: sibling\)/);
      expect(list).toMatch(
        /Idle \(1\):\n {2}outer \(.*\): general-purpose - "does outer" \(\d+s, owner: .*, relation: sibling\)/,
      );
      expect(list).toMatch(/Completed \(1\):\n {2}inner \(.*relation: other\)/);
    });
  });
});

test("agents are listed by scope, ended ones on request", async () => {
  const lists = [
    call("list_agents"),
    call("list_agents", { scope: "children" }),
    call("list_agents", { scope: "siblings" }),
    call("list_agents", { include_completed: true, scope: "children" }),
  ];
  const turns = [
    main(...lists),
    main(delegate("good"), delegate("bad")),
    by("good", say("gold")),
    by("bad"),
    main(...lists),
    main(say("done")),
  ];
  await inSmallWorld(turns, async (world) => {
    const { create, provider } = world;
    const sessionId = await create();
    await world.send(sessionId, "go");
    const results = resultsIn(provider.requests.at(-1));
    expect(results.slice(0, 4)).toEqual(Array(4).fill("<no background agents>"));
    const [all, children, siblings, ended] = results.slice(6);
    expect(all).toMatch(
      /^Idle \(1\):\n {2}good \(\S+\): general-purpose - "does good" \(\d+s, owner: \S+, relation: child\)$/,
    );
    expect(children).toBe(all);
    expect(siblings).toBe("<no background agents>");
    expect(ended).toMatch(/^Idle \(1\):\n.*good.*\nFailed \(1\):\n {2}bad/);
  });
});

describe("promotion", () => {
  test("lets the waiting call return while the agent works on, and its notice comes later", async () => {
    const dig = held(say("gold"));
    const turns = [main(delegate("dig")), byHeld("dig", dig), main(say("meanwhile")), main(say("seen"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await dig.reached;
      const { task } = await client.call("session.tasks.getCurrentPromotable", { sessionId });
      const id = task?.id ?? "";
      expect(task).toMatchObject({ type: "agent", executionMode: "sync", canPromoteToBackground: true });
      expect(await client.call("session.tasks.promoteToBackground", { sessionId, id })).toEqual({ promoted: true });
      await client.received("assistant.idle");
      expect(resultsIn(provider.requests.at(-1))).toEqual([
        `The agent was moved to the background and goes on there. agent_id: ${id}. You will be told when it has answered.`,
      ]);
      expect(await client.call("session.tasks.promoteToBackground", { sessionId, id })).toEqual({ promoted: false });
      expect(await client.call("session.tasks.getCurrentPromotable", { sessionId })).toEqual({});
      expect(await agentNamed(client, sessionId, "dig")).toMatchObject({
        status: "running",
        executionMode: "background",
        canPromoteToBackground: false,
      });
      expect(client.of("session.idle")).toEqual([]);
      dig.go();
      await client.received("session.idle");
      expect(client.of("system.notification")).toHaveLength(1);
      expect(await client.call("session.tasks.promoteToBackground", { sessionId, id })).toEqual({ promoted: false });
      provider.assertSpent();
    });
  });

  test("of the current turn's task takes the agent that was started last", async () => {
    const [a, b] = [held(say("A")), held(say("B"))];
    const turns = [
      main(delegate("a"), delegate("b")),
      byHeld("a", a),
      byHeld("b", b),
      main(say("go on")),
      main(say("seen")),
    ];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      expect(await client.call("session.tasks.promoteCurrentToBackground", { sessionId })).toEqual({});
      await send({ client }, sessionId);
      await Promise.all([a.reached, b.reached]);
      const { task } = await client.call("session.tasks.promoteCurrentToBackground", { sessionId });
      expect(task).toMatchObject({ displayName: "b" });
      a.go();
      await client.received("assistant.message");
      await client.until(({ type, agentId }) => type === "assistant.idle" && agentId === undefined);
      b.go();
      await client.received("session.idle");
      expect(resultsIn(provider.requests.at(-1))).toContain("A");
    });
  });
});

describe("notices of background agents", () => {
  test("that come while the main agent works are delivered together", async () => {
    const busy = held(say("busy"));
    const turns = [mainHeld(busy), by("a", say("A")), by("b"), main(say("seen"))];
    await inSmallWorld(turns, async ({ client, create, provider }) => {
      const sessionId = await create();
      await send({ client }, sessionId);
      await busy.reached;
      await startAgent(client, sessionId, "a");
      await startAgent(client, sessionId, "b");
      await client.call("session.tasks.waitForPending", { sessionId });
      busy.go();
      await client.received("session.idle");
      const notices = client.of("system.notification");
      expect(
        notices.map(({ kind }) => kind).sort((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1)),
      ).toMatchObject([
        { type: "agent_completed", displayName: "b", status: "failed" },
        { type: "agent_idle", displayName: "a" },
      ]);
      expect(provider.requests.filter((request) => userTexts(request)[0]?.endsWith("go"))).toHaveLength(2);
      provider.assertSpent();
    });
  });

  test("are not sent for a cancelled agent", async () => {
    const dig = never();
    await inSmallWorld([byHeld("dig", dig)], async ({ client, create, provider }) => {
      const sessionId = await create();
      const id = await startAgent(client, sessionId, "dig");
      await dig.reached;
      expect(await client.call("session.tasks.cancel", { sessionId, id })).toEqual({ cancelled: true });
      await quiet(client, sessionId);
      expect(client.of("system.notification")).toEqual([]);
      expect(provider.requests).toHaveLength(1);
    });
  });
});

test("waiting for pending tasks ends with the last of them, or at once when there are none", async () => {
  const [a, b] = [held(say("A")), held(say("B"))];
  const turns = [byHeld("a", a), byHeld("b", b), main(say("seen")), main(say("seen"))];
  await inSmallWorld(turns, async ({ client, create }) => {
    const sessionId = await create();
    await client.call("session.tasks.waitForPending", { sessionId });
    await startAgent(client, sessionId, "a");
    await startAgent(client, sessionId, "b");
    await Promise.all([a.reached, b.reached]);
    let isOver = false;
    const waiting = client.call("session.tasks.waitForPending", { sessionId }).then(() => {
      isOver = true;
    });
    a.go();
    await client.until(({ type }) => type === "subagent.completed");
    await quiet(client, sessionId);
    expect(isOver).toBe(false);
    b.go();
    await waiting;
    expect((await agentsOf(client, sessionId)).map(({ status }) => status)).toEqual(["idle", "idle"]);
  });
});

test("a task can be removed from the list only after it has ended", async () => {
  const dig = held(say("gold"));
  await inSmallWorld([byHeld("dig", dig), main(say("seen"))], async ({ client, create }) => {
    const sessionId = await create();
    const id = await startAgent(client, sessionId, "dig");
    const remove = async () => (await client.call("session.tasks.remove", { sessionId, id })).removed;
    await dig.reached;
    expect(await remove()).toBe(false);
    dig.go();
    await client.received("session.idle");
    expect(await remove()).toBe(false); // It is only idle.
    await client.call("session.tasks.cancel", { sessionId, id });
    expect(await remove()).toBe(true);
    expect(await agentsOf(client, sessionId)).toEqual([]);
    expect(await remove()).toBe(false);
    expect(await client.call("session.tasks.getProgress", { sessionId, id })).toEqual({ progress: null });
  });
});

test("an agent whose start is cut from the log is no longer a task, and an earlier one stays and takes messages", async () => {
  const turns = [
    main(delegate("kept")),
    by("kept", say("gold")),
    main(say("one")),
    main(delegate("cut")),
    by("cut", say("coal")),
    main(say("two")),
    by("kept", say("silver")),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async (world) => {
    const { client, create } = world;
    const sessionId = await create();
    await world.send(sessionId, "go");
    const { id } = await agentNamed(client, sessionId, "kept");
    await world.send(sessionId, "again");
    const again = client.events.find(({ type, data }) => type === "user.message" && data.content === "again");
    await client.call("session.history.truncate", { sessionId, eventId: again?.id ?? "" });
    expect((await agentsOf(client, sessionId)).map(({ displayName }) => displayName)).toEqual(["kept"]);
    const after = client.events.length;
    expect(await client.call("session.tasks.sendMessage", { sessionId, id, message: "more" })).toEqual({ sent: true });
    await client.received("session.idle", { after });
    expect((await agentNamed(client, sessionId, "kept")).latestResponse).toBe("silver");
  });
});

test("the progress of an agent shows its usage and its latest activity", async () => {
  const dig = held(say("gold"));
  const turns = [by("dig", call("list_agents", {})), byHeld("dig", dig), main(say("seen"))];
  await inSmallWorld(turns, async ({ client, create }) => {
    const sessionId = await create();
    const id = await startAgent(client, sessionId, "dig");
    await dig.reached;
    const { progress } = await client.call("session.tasks.getProgress", { sessionId, id });
    expect(progress).toMatchObject({ type: "agent", totalToolCalls: 1 });
    expect(progress?.type === "agent" && progress.recentActivity.length).toBeGreaterThan(0);
    dig.go();
    await client.received("session.idle");
    expect((await client.call("session.tasks.getProgress", { sessionId, id })).progress).toMatchObject({
      totalToolCalls: 1,
    });
  });
});
