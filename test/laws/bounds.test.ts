/** What a model, a client or a hook can do to a tree of agents without breaking it. */
import { describe, expect, test } from "vitest";
import { brokenLaws, leftBehind, processesWith } from "./checker.ts";
import type { LawClient, LawClientOptions } from "./law-client.ts";
import type { LawEvent } from "./law-event.ts";
import { type Move, type Plan, promptOf } from "./plan.ts";
import { World, type WorldOptions } from "./world.ts";

const LEAD = { name: "lead", description: "Leads others.", prompt: "Lead.", nestedBackground: true };

class Scene {
  readonly world: World;
  readonly client: LawClient;
  sessionId = "";

  constructor(options: WorldOptions = {}, client: LawClientOptions = { attached: "sdk" }) {
    this.world = new World(options);
    this.client = this.world.connect(client);
  }

  async send(plan: Plan, config: Record<string, unknown> = {}): Promise<void> {
    this.sessionId ||= await this.world.createSession(this.client, { customAgents: [LEAD], ...config });
    await this.client.call("session.send", { sessionId: this.sessionId, prompt: promptOf(plan) });
  }

  async run(plan: Plan, config: Record<string, unknown> = {}): Promise<LawEvent[]> {
    const after = this.client.events.length;
    await this.send(plan, config);
    await this.client.until("session.idle", undefined, { after });
    return await this.log();
  }

  async log(): Promise<LawEvent[]> {
    return (await this.client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: this.sessionId }))
      .events;
  }

  async tree(method: string, params: object): Promise<Record<string, unknown>> {
    return await this.client.call(method, { sessionId: this.sessionId, ...params });
  }

  /** Checks every law on the session as it is now. */
  async broken(): Promise<string[]> {
    const maxDepth = this.world.runtime.config.maxDepth;
    return [...brokenLaws(await this.log(), { clients: [this.client], maxDepth }), ...leftBehind(this.world.runtime)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]();
  }
}

const chain = (depth: number, last: Plan): Plan =>
  depth === 0
    ? last
    : {
        turns: [{ moves: [{ task: chain(depth - 1, last), name: `level${depth}`, agent: "lead" }] }],
        says: `above ${depth}`,
      };
const results = (events: readonly LawEvent[]) => events.filter(({ type }) => type === "tool.execution_complete");
const textOf = ({ data }: LawEvent) =>
  data.result?.content ?? data.modelText ?? (typeof data.error === "object" ? data.error.message : "");

describe("concurrency", () => {
  test.each([4, 6])("one place is enough for a chain of %i agents", async (depth) => {
    await using scene = new Scene({ maxConcurrent: 1, maxDepth: depth });
    const events = await scene.run(
      chain(depth, {
        turns: [
          {
            moves: [
              { call: "probe", args: { what: "deep" } },
              { call: "bash", args: { command: "echo deep" } },
            ],
          },
        ],
        says: "bottom",
      }),
    );
    expect(events.filter(({ type }) => type === "subagent.completed")).toHaveLength(depth);
    expect(scene.world.load.most).toBe(1);
    expect(await scene.broken()).toEqual([]);
  });

  test("one place is enough for a wide tree with background agents on every level", async () => {
    await using scene = new Scene({ maxConcurrent: 1 });
    const leaf: Plan = { turns: [{ moves: [{ call: "probe", args: { what: "x" } }] }], says: "leaf" };
    const level = (below: Plan): Plan => ({
      turns: [
        {
          moves: [
            { task: below, name: "s", agent: "lead" },
            { task: below, name: "b", agent: "lead", mode: "background" },
          ],
        },
      ],
      says: "level",
    });
    const events = await scene.run(level(level(level(leaf))));
    expect(events.filter(({ type }) => type === "subagent.completed")).toHaveLength(2 + 4 + 8);
    expect(scene.world.load.most).toBe(1);
    expect(await scene.broken()).toEqual([]);
  });

  test("a model that calls task 500 times in one answer gets 500 results, never more at once than allowed", async () => {
    await using scene = new Scene({ maxConcurrent: 16 }, { attached: "nobody" });
    const moves: Move[] = Array.from({ length: 500 }, (_, at) => ({ task: { says: `result ${at}` }, name: `n${at}` }));
    const events = await scene.run({ turns: [{ moves }], says: "all done" });
    const told = results(events).map(textOf);
    expect(new Set(told).size).toBe(500);
    expect(told).toHaveLength(500);
    expect(scene.world.load.most).toBeLessThanOrEqual(16);
    expect(await scene.broken()).toEqual([]);
  });
});

describe("cancel", () => {
  test("a root with 50 descendants and their shells leaves no process, place or timer", async () => {
    await using scene = new Scene({ maxConcurrent: 16 });
    const mark = `law-fifty-${process.pid}`;
    const worker: Plan = {
      turns: [
        { moves: [{ call: "bash", args: { command: `exec -a ${mark} sleep 300`, mode: "async" } }] },
        { moves: [{ call: "bash", args: { command: `exec -a ${mark} sleep 300`, initial_wait: 600 } }] },
      ],
      says: "never",
    };
    const lead = (mode: "sync" | "background"): Plan => ({
      turns: [
        { moves: Array.from({ length: 9 }, (_, at): Move => ({ task: worker, name: `w${at}`, agent: "lead", mode })) },
      ],
      says: "lead",
    });
    const root: Plan = {
      turns: [
        {
          moves: Array.from(
            { length: 5 },
            (_, at): Move => ({
              task: lead(at % 2 ? "sync" : "background"),
              name: `l${at}`,
              agent: "lead",
              mode: at % 2 ? "sync" : "background",
            }),
          ),
        },
      ],
      says: "root",
    };
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    await scene.send(root);
    // As many agents as there are slots work and have two shells each; the others wait for a slot.
    const started = () => scene.client.events.filter(({ type }) => type === "subagent.started").length;
    await scene.client.when(
      () => started() === 50 && processesWith(mark).length >= 2 * 16,
      "the shells of the workers",
    );
    const after = scene.client.events.length;
    await scene.tree("session.abort", {});
    await scene.client.until("session.idle", undefined, { after });
    expect((await scene.log()).filter(({ type }) => type === "subagent.started")).toHaveLength(50);
    expect(processesWith(mark)).toEqual([]);
    expect(await scene.broken()).toEqual([]);
    await scene.tree("session.destroy", {});
    expect(timers()).toBeLessThanOrEqual(before);
  });

  test("during the start of an agent ends it once, and its start hook does not hold that up", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const onHook = ({ hookType }: { hookType: string }) => (hookType === "subagentStart" ? held : undefined);
    await using scene = new Scene({}, { attached: "sdk", onHook });
    await scene.send({ turns: [{ moves: [{ task: { says: "never" }, name: "early" }] }], says: "root" });
    const { agentId } = await scene.client.until("subagent.started");
    const cancelled = scene.tree("session.tasks.cancel", { id: agentId });
    await scene.client.until("subagent.completed", ({ data }) => data.cancelled === true);
    release();
    expect(await cancelled).toEqual({ cancelled: true });
    await scene.client.until("session.idle");
    expect(await scene.broken()).toEqual([]);
  });

  test("of the main turn alone leaves background agents at work", async () => {
    await using scene = new Scene();
    const plan: Plan = {
      turns: [
        {
          moves: [
            {
              task: { turns: [{ gate: "background", moves: [{ call: "list_agents" }] }], says: "background done" },
              name: "b",
              mode: "background",
            },
          ],
        },
        { gate: "main", moves: [{ call: "list_agents" }] },
      ],
      says: "root",
    };
    await scene.send(plan);
    await Promise.all([scene.world.gates.reached("background"), scene.world.gates.reached("main")]);
    expect(await scene.tree("session.interruptMainTurn", {})).toEqual({ interrupted: true });
    scene.world.gates.open("background");
    scene.world.gates.open("main");
    await scene.client.until("system.notification");
    await scene.client.until("session.idle");
    expect((await scene.client.tasks(scene.sessionId)).map(({ status }) => status)).toEqual(["idle"]);
    expect(await scene.broken()).toEqual([]);
  });
});

describe("models that go wrong", () => {
  test("endless recursion ends at the depth limit, and the deepest agent is told so", async () => {
    await using scene = new Scene({ maxDepth: 3 });
    const endless = (depth: number): Plan => ({
      turns: [{ moves: [{ task: depth === 0 ? { says: "too deep" } : endless(depth - 1), name: `d${depth}` }] }],
      says: `level ${depth}`,
    });
    const events = await scene.run(endless(8));
    expect(events.filter(({ type, data }) => type === "subagent.started" && data.path)).toHaveLength(3);
    expect(
      results(events)
        .map(textOf)
        .filter((text) => text.includes("Maximum sub-agent depth of 3 reached")),
    ).toHaveLength(1);
    expect(await scene.broken()).toEqual([]);
  });

  test("a child that asks for ever is stopped by its budget, and its parent reads why", async () => {
    await using scene = new Scene();
    const asker: Plan = {
      turns: Array.from({ length: 200 }, () => ({ moves: [{ call: "ask_user", args: { question: "really?" } }] })),
      says: "never",
    };
    const bounded = { name: "asker", description: "Asks.", prompt: "Ask.", budget: { maxTurns: 5 } };
    const events = await scene.run(
      { turns: [{ moves: [{ task: asker, name: "asker", agent: "asker" }] }], says: "root" },
      { customAgents: [bounded] },
    );
    const failed = events.find(({ type }) => type === "subagent.failed");
    expect(failed?.data).toMatchObject({ reason: "over_budget" });
    expect(scene.client.questions.length).toBeLessThanOrEqual(6);
    expect(await scene.broken()).toEqual([]);
  });

  test("a child whose model fails at once has failed, and its parent goes on", async () => {
    await using scene = new Scene();
    const events = await scene.run({
      turns: [
        {
          moves: [
            { task: { turns: [{ fails: "no such model" }], says: "never" }, name: "broken" },
            { task: { says: "fine" }, name: "fine" },
          ],
        },
      ],
      says: "root",
    });
    expect(events.filter(({ type }) => type === "subagent.failed").map(({ data }) => String(data.error))).toEqual([
      expect.stringContaining("no such model"),
    ]);
    expect(results(events).map(textOf).sort()).toEqual([
      expect.stringContaining("fine"),
      expect.stringContaining("no such model"),
    ]);
    expect(await scene.broken()).toEqual([]);
  });

  test("a child that says nothing has failed", async () => {
    await using scene = new Scene();
    const events = await scene.run({ turns: [{ moves: [{ task: { says: "" }, name: "silent" }] }], says: "root" });
    expect(events.filter(({ type }) => type === "subagent.failed")).toHaveLength(1);
    expect(await scene.broken()).toEqual([]);
  });

  test("an unknown agent and an agent with a tool that does not exist are refused with what would be valid", async () => {
    await using scene = new Scene();
    const odd = { name: "odd", description: "Odd.", prompt: "Odd.", tools: ["no_such_tool"] };
    const moves: Move[] = [
      { task: { says: "never" }, name: "x", agent: "nobody-knows" },
      { task: { says: "never" }, name: "y", agent: "odd" },
    ];
    const events = await scene.run({ turns: [{ moves }], says: "root" }, { customAgents: [odd] });
    const [unknown = "", missing = ""] = results(events)
      .map(textOf)
      .sort((a) => (a.includes("nobody-knows") ? -1 : 1));
    expect(unknown).toContain("general-purpose");
    expect(missing).toContain("no_such_tool");
    expect(missing).toContain("bash");
    const told = events.filter(({ type }) => type.startsWith("subagent.")).map(({ type }) => type);
    expect(told).toEqual(["subagent.started", "subagent.failed", "subagent.started", "subagent.failed"]); // Of each of the two.
    expect(await scene.broken()).toEqual([]);
  });
});

describe("messages and names", () => {
  test("two children with one name are two agents with a result each", async () => {
    await using scene = new Scene();
    const events = await scene.run({
      turns: [
        {
          moves: [
            { task: { says: "one" }, name: "twin" },
            { task: { says: "two" }, name: "twin" },
          ],
        },
      ],
      says: "root",
    });
    expect(results(events).map(textOf).sort()).toEqual(["one", "two"]);
    expect(new Set((await scene.client.tasks(scene.sessionId)).map(({ id }) => id)).size).toBe(2);
    expect(await scene.broken()).toEqual([]);
  });

  test("a message to an ended agent and the promotion of one are refused in words", async () => {
    await using scene = new Scene();
    const events = await scene.run({
      turns: [{ moves: [{ task: { turns: [{ fails: "broken" }], says: "" }, name: "ended" }] }],
      says: "root",
    });
    const id = events.find(({ type }) => type === "subagent.failed")?.agentId;
    expect(await scene.tree("session.tasks.sendMessage", { id, message: "hello?" })).toMatchObject({
      sent: false,
      error: expect.stringContaining("ended"),
    });
    expect(await scene.tree("session.tasks.promoteToBackground", { id })).toEqual({ promoted: false });
    expect(await scene.tree("session.tasks.cancel", { id })).toEqual({ cancelled: false });
    expect(await scene.broken()).toEqual([]);
  });

  test("an idle agent takes a message, answers, and the session is told once", async () => {
    await using scene = new Scene();
    await scene.run({ turns: [{ moves: [{ task: { says: "first" }, name: "idle" }] }], says: "root" });
    const [task] = await scene.client.tasks(scene.sessionId);
    const after = scene.client.events.length;
    expect(
      await scene.tree("session.tasks.sendMessage", {
        id: task?.id,
        message: promptOf({ turns: [{ moves: [{ call: "probe", args: { what: "again" } }] }], says: "second" }),
      }),
    ).toEqual({ sent: true });
    await scene.client.when(
      () => scene.client.events.slice(after).some(({ type }) => type === "session.idle"),
      "the idle after the message",
    );
    expect((await scene.client.tasks(scene.sessionId))[0]).toMatchObject({ status: "idle", result: "second" });
    expect(await scene.broken()).toEqual([]);
  });
});

describe("hooks", () => {
  test("a stop hook that always blocks sends a sub-agent on eight times and no more", async () => {
    const onHook = ({ hookType }: { hookType: string }) =>
      hookType === "subagentStop" ? { decision: "block", reason: promptOf({ says: "again" }) } : undefined;
    await using scene = new Scene({}, { attached: "sdk", onHook });
    const events = await scene.run({ turns: [{ moves: [{ task: { says: "done" }, name: "blocked" }] }], says: "root" });
    const child = events.find(({ type }) => type === "subagent.started")?.agentId;
    expect(events.filter(({ type, agentId }) => type === "assistant.message" && agentId === child)).toHaveLength(9);
    expect(await scene.broken()).toEqual([]);
  });

  test("a hook that hangs is given up, and the call of the child goes on", async () => {
    const onHook = ({ hookType, input }: { hookType: string; input: Record<string, unknown> }) =>
      hookType === "preToolUse" && input.agentId ? new Promise(() => undefined) : undefined;
    await using scene = new Scene({ hookLimitMs: 50 }, { attached: "sdk", onHook });
    const events = await scene.run({
      turns: [
        {
          moves: [
            { task: { turns: [{ moves: [{ call: "probe", args: { what: "x" } }] }], says: "done" }, name: "hooked" },
          ],
        },
      ],
      says: "root",
    });
    expect(events.filter(({ type, data }) => type === "hook.end" && data.success === false)).toHaveLength(1);
    expect(scene.client.hostRuns.size).toBe(1);
    expect(await scene.broken()).toEqual([]);
  });

  test("hooks are told which agent calls, at every depth", async () => {
    await using scene = new Scene();
    await scene.run(chain(3, { turns: [{ moves: [{ call: "probe", args: { what: "x" } }] }], says: "bottom" }));
    const told = scene.client.hooks.filter(({ hookType }) => hookType === "preToolUse").map(({ input }) => input);
    const paths = told.map(({ agentPathNames }) => (Array.isArray(agentPathNames) ? agentPathNames.join("/") : "main"));
    expect(paths).toEqual(["main", "level3", "level3/level2", "level3/level2/level1"]);
    const [, ...ids] = told.map(({ agentId }) => agentId);
    expect(told.map(({ agentPath }) => agentPath)).toEqual([
      undefined,
      ids.slice(0, 1),
      ids.slice(0, 2),
      ids.slice(0, 3),
    ]);
  });
});

describe("clients", () => {
  test("when one of two clients goes while a child asks, the other one answers", async () => {
    await using scene = new Scene({}, { attached: "terminal", holds: () => true });
    await scene.send({
      turns: [
        {
          moves: [
            {
              task: { turns: [{ moves: [{ call: "bash", args: { command: "echo hi" } }] }], says: "done" },
              name: "asks",
            },
          ],
        },
      ],
      says: "root",
    });
    await scene.client.when(() => scene.client.held.length > 0, "the ask");
    const other = scene.world.connect({ attached: "terminal" });
    await scene.world.resumeSession(other, scene.sessionId);
    scene.client.vanish();
    await other.answerOpen(scene.sessionId);
    await other.until("session.idle");
    const { events } = await other.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: scene.sessionId });
    expect(brokenLaws(events, { clients: [scene.client, other], maxDepth: 6 })).toEqual([]);
    expect(results(events).every(({ data }) => data.success)).toBe(true);
  });

  test("of two answers to one ask the first counts and the second is told so", async () => {
    await using scene = new Scene({}, { attached: "terminal", holds: () => true });
    await scene.send({
      turns: [
        {
          moves: [
            {
              task: { turns: [{ moves: [{ call: "bash", args: { command: "echo hi" } }] }], says: "done" },
              name: "asks",
            },
          ],
        },
      ],
      says: "root",
    });
    await scene.client.when(() => scene.client.held.length > 0, "the ask");
    const requestId = scene.client.held[0]?.data.requestId;
    const answer = (kind: string) =>
      scene.tree("session.permissions.handlePendingPermissionRequest", { requestId, result: { kind } });
    expect(await Promise.all([answer("approve-once"), answer("reject")])).toEqual([
      { success: true },
      { success: false },
    ]);
    await scene.client.until("session.idle");
    expect(await scene.broken()).toEqual([]);
  });

  test("an answer that was taken survives the end of the process, and the host is not asked again", async () => {
    await using scene = new Scene(
      { maxConcurrent: 1 },
      { attached: "sdk", holds: ({ type }) => type === "external_tool.requested" },
    );
    await scene.send({
      turns: [
        {
          moves: [
            { task: { turns: [{ moves: [{ call: "probe", args: { what: "x" } }] }], says: "asked" }, name: "asks" },
          ],
        },
      ],
      says: "root",
    });
    await scene.client.when(() => scene.client.held.length > 0, "the ask");
    // A second agent has the only slot, so the first has its answer but cannot go on yet.
    const busy: Plan = { turns: [{ gate: "busy", moves: [{ call: "list_agents" }] }], says: "worked" };
    await scene.tree("session.tasks.startAgent", {
      agentType: "general-purpose",
      name: "busy",
      prompt: promptOf(busy),
    });
    await scene.world.gates.reached("busy");
    await scene.client.release();
    expect(scene.client.acknowledged.size).toBe(1);
    scene.client.vanish();
    await scene.world.disconnected();
    await scene.world.restart();
    scene.world.gates.open("busy");
    const next = scene.world.connect({ attached: "sdk" });
    await scene.world.resumeSession(next, scene.sessionId, { customAgents: [LEAD] });
    await next.answerOpen(scene.sessionId);
    await next.until("session.idle");
    const { events } = await next.call<{ events: LawEvent[] }>("session.getMessages", { sessionId: scene.sessionId });
    expect(next.acknowledged.size).toBe(0);
    expect(brokenLaws(events, { clients: [scene.client], maxDepth: 6 })).toEqual([]);
  });
});
