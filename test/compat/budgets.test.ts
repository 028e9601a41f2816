/** Limits as a client of the official SDK meets them: a priced model on loopback counts what it was asked, and the host what it ran. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, calls, hang, type ModelCall, say } from "../support/model-answers.ts";
import {
  ANSWER_COST,
  bill,
  bounded,
  credits,
  gate,
  isChild,
  type Metrics,
  priced,
  tasks,
  tokenPrices,
  USAGE,
} from "../support/priced.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

describe.runIf(ours)("a budget of money", () => {
  test("is not passed by many children that start in one turn, and everybody's last words come through", async () => {
    await using talk = await priced(world, { multiplier: 1 }, { budget: { maxCost: 6 } });
    let turn = 0;
    talk.model.reply((request) => {
      if (isChild(request)) return say("child", { usage: USAGE });
      return turn++ === 0 ? calls(tasks(10), { usage: USAGE }) : say("that is all I have", { usage: USAGE });
    });
    expect(await talk.ask("delegate to ten")).toBe("that is all I have");
    expect(talk.model.requests.length).toBeLessThanOrEqual(6);
    expect(talk.model.requests.filter(isChild).length).toBeGreaterThan(1);
    expect(credits(await bill(talk))).toBe(talk.model.requests.length);
    const failed = talk.record.all("subagent.failed").map(({ data }) => data);
    expect(failed.length).toBeGreaterThan(0);
    for (const data of failed) expect(data).toMatchObject({ reason: "over_budget" });
    expect(talk.model.lastRequest.texts("tool").join()).toContain("budget is used up");
  });

  test("is not passed with prices of tokens: what does not fit is not sent", async () => {
    await using talk = await priced(world, { tokenPrices }, { budget: { maxCost: 60 } });
    const sent: { longest: number | undefined; before: number }[] = [];
    let spent = 0;
    talk.model.reply((request) => {
      const longest = (request.body as { max_tokens?: number }).max_tokens;
      sent.push({ longest, before: spent });
      spent += ANSWER_COST;
      return calls([{ name: "list_agents", args: {} }], { usage: USAGE });
    });
    await talk.ask("go on for ever");
    expect(sent.length).toBeGreaterThan(2);
    for (const { longest, before } of sent) {
      expect(longest).toBeDefined();
      expect(before + ((longest ?? Number.NaN) * 10) / 1000).toBeLessThanOrEqual(60); // Even if it had written all that it may.
    }
    expect(credits(await bill(talk))).toBe(spent);
    expect(spent).toBeLessThanOrEqual(60);
  });

  test("holds for a whole run, also when a notice starts another turn, and starts again with the next prompt", async () => {
    await using talk = await priced(world, { multiplier: 1 }, { budget: { maxCost: 4 } });
    talk.model.reply((request) =>
      isChild(request)
        ? say("child")
        : calls(tasks(1, { mode: "background", prompt: `CHILD ${request.messages.length}` })),
    );
    await talk.ask("delegate for ever");
    const first = talk.model.requests.length;
    expect(first).toBeLessThanOrEqual(4);
    await talk.ask("and again");
    expect(talk.model.requests.length).toBeGreaterThan(first);
    expect(talk.model.requests.length).toBeLessThanOrEqual(8);
  });
});

describe.runIf(ours)("a budget of tool calls", () => {
  const counted = () => {
    const runs: number[] = [];
    const tool = {
      name: "probe",
      description: "Probes.",
      parameters: { type: "object", properties: { n: { type: "number" } } },
      handler: ({ n }: { n: number }) => {
        runs.push(n);
        return "probed";
      },
    };
    return { runs, tool };
  };
  const probes = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ name: "probe", args: { n }, id: `p${n}` }));

  test("runs the first calls of a turn in their order and tells the model why the others did not", async () => {
    const { runs, tool } = counted();
    await using talk = await priced(world, {}, { budget: { maxToolCalls: 3 }, tools: [tool] });
    talk.model.script(calls(probes(8)), say("what I have"));
    expect(await talk.ask("probe")).toBe("what I have");
    expect(runs.toSorted()).toEqual([0, 1, 2]);
    const results = talk.model.lastRequest.texts("tool");
    expect(results.filter((text) => text.includes("3 of 3 tool calls"))).toHaveLength(5);
    expect(talk.record.all("tool.execution_complete")).toHaveLength(8);
  });

  test("is shared by all agents below: many children with many calls cannot pass it together", async () => {
    const { runs, tool } = counted();
    await using talk = await priced(world, {}, { budget: { maxToolCalls: 10 }, tools: [tool] });
    let turn = 0;
    talk.model.reply((request): Answer => {
      if (!isChild(request)) return turn++ === 0 ? calls(tasks(5)) : say("done");
      return request.last?.role === "tool" ? say("child done") : calls(probes(4));
    });
    expect(await talk.ask("go")).toBe("done");
    expect(runs).toHaveLength(5); // Five of the ten were the calls of `task`.
  });
});

describe.runIf(ours)("other limits", () => {
  test("spawns are counted for the whole subtree, and the model is told", async () => {
    await using talk = await priced(world, {}, { budget: { maxSpawns: 2 } });
    let turn = 0;
    talk.model.reply((request) => (isChild(request) ? say("child") : turn++ === 0 ? calls(tasks(5)) : say("done")));
    expect(await talk.ask("go")).toBe("done");
    expect(talk.record.all("subagent.completed")).toHaveLength(2);
    expect(talk.record.all("subagent.failed")).toHaveLength(3);
    const refused = talk.model.lastRequest.texts("tool").filter((text) => text.includes("no agent was started"));
    expect(refused).toHaveLength(3);
  });

  test("turns of a subtree include those of every child", async () => {
    await using talk = await priced(world, {}, { budget: { maxSubtreeTurns: 5 } });
    let turn = 0;
    talk.model.reply((request) => {
      if (isChild(request)) return calls([{ name: "list_agents", args: {} }]);
      return turn++ === 0 ? calls(tasks(4)) : say("done");
    });
    expect(await talk.ask("go")).toBe("done");
    expect(talk.model.requests.length).toBeLessThanOrEqual(5);
  });

  test("a last turn has no calls: the request says so, and one that is made all the same does not run", async () => {
    let runs = 0;
    const tool = { name: "probe", description: "Probes.", parameters: { type: "object" }, handler: () => `${++runs}` };
    await using talk = await priced(world, {}, { budget: { maxTurns: 2 }, tools: [tool] });
    talk.model.reply(() => calls([{ name: "probe", args: {} }]));
    await talk.ask("probe for ever");
    expect(talk.model.requests.map(({ body }) => body.tool_choice)).toEqual([undefined, "none"]);
    expect(runs).toBe(1);
    expect(talk.record.one("session.error").data.message).toContain("2 of 2 turns");
  });

  test("time that a person takes is not charged to the seconds of an agent", async () => {
    const answer = gate<{ answer: string; wasFreeform: boolean }>();
    await using talk = await priced(world, {}, { onUserInputRequest: () => answer.opened });
    let turn = 0;
    const [asker] = tasks(1, { budget: { maxSeconds: 2 } });
    const sleeper = { ...tasks(1, { prompt: "CHILD sleeps", budget: { maxSeconds: 3 } })[0], id: "task-b" };
    talk.model.reply((request) => {
      if (!isChild(request)) return turn++ === 0 ? calls([asker, sleeper] as ModelCall[]) : say("done");
      if (request.texts("user")[0]?.includes("CHILD sleeps")) return hang();
      const isAsked = request.last?.role === "tool";
      return isAsked ? say("the person said so") : calls([{ name: "ask_user", args: { question: "?" } }]);
    });
    const run = talk.ask("ask");
    await talk.record.until("subagent.failed"); // The one that sleeps has used up more time than the other one has.
    answer.open({ answer: "yes", wasFreeform: true });
    expect(await run).toBe("done");
    expect(talk.record.all("subagent.failed").map(({ data }) => data)).toMatchObject([{ toolCallId: "task-b" }]);
    expect(talk.model.lastRequest.texts("tool").join()).toContain("the person said so");
  });

  test("a limit of thirty days is not one of a millisecond, for an agent and for the session", async () => {
    const maxSeconds = 30 * 24 * 3600;
    await using talk = await priced(world, {}, { budget: { maxSeconds } });
    let turn = 0;
    talk.model.reply((request) =>
      isChild(request) ? say("in time") : turn++ === 0 ? calls(tasks(1, { budget: { maxSeconds } })) : say("done"),
    );
    expect(await talk.ask("go")).toBe("done");
    expect(talk.model.lastRequest.texts("tool")).toEqual(["in time"]);
  });

  test("the seconds of the session end its main agent and everything below it, and say so", async () => {
    await using talk = await priced(world, {}, { budget: { maxSeconds: 1 } });
    talk.model.reply((request) =>
      isChild(request)
        ? hang()
        : calls([...tasks(1), ...tasks(1, { mode: "background" })].map((each, at) => ({ ...each, id: `t${at}` }))),
    );
    await talk.ask("go");
    expect(talk.record.one("session.error").data.message).toContain("after 1 s");
    expect(talk.record.all("subagent.completed").filter(({ data }) => "cancelled" in data)).toHaveLength(2);
  });
});

describe.runIf(ours)("the bill", () => {
  test("splits input, output and cache, names the models, and has cancelled and resumed agents in it", async () => {
    await using talk = await priced(world, { tokenPrices: { ...tokenPrices, cacheReadPrice: 0.1 } });
    let turn = 0;
    const hanging = gate();
    talk.model.reply((request): Answer => {
      if (!isChild(request)) return turn++ === 0 ? calls(tasks(2), { usage: USAGE }) : say("done", { usage: USAGE });
      const isLong = request.texts("user")[0]?.includes("CHILD 1");
      if (request.last?.role !== "tool") return calls([{ name: "list_agents", args: {} }], { usage: USAGE });
      if (isLong) hanging.open();
      return isLong ? hang() : say("short", { usage: USAGE });
    });
    const run = talk.session.send({ prompt: "go" });
    await hanging.opened;
    await talk.record.until("subagent.completed");
    await run;
    await talk.session.abort();
    await talk.record.until("session.idle");
    const before = await bill(talk);
    expect(credits(before)).toBe(4 * ANSWER_COST); // Main 1, short 2, cancelled 1.
    const ends = talk.record
      .all("subagent.completed")
      .map(({ data }) => data as unknown as Metrics & { usage: object });
    expect(ends.map(credits).toSorted((a, b) => a - b)).toEqual([ANSWER_COST, 2 * ANSWER_COST]);
    for (const end of ends) {
      expect(Object.keys(end.modelMetrics)).toEqual(Object.keys(before.modelMetrics));
      expect(Object.keys(end.usage)).toEqual(
        expect.arrayContaining(["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"]),
      );
    }
    await talk.session.disconnect();
    await using again = await resumeTalk(world, talk.session.sessionId);
    expect(await bill(again)).toMatchObject({ totalNanoAiu: before.totalNanoAiu, agentMetrics: before.agentMetrics });
  });
});

test.runIf(ours)(
  "a run that is killed goes on with what its budget has left, and its bill with what was used",
  async () => {
    await using crashing = await startClient();
    const model = crashing.model.endpoint();
    const options = bounded(model, { multiplier: 1 }, { maxCost: 5 });
    const hanging = gate();
    let turn = 0;
    let childTurns = 0;
    model.reply((request): Answer => {
      if (!isChild(request)) return turn++ === 0 ? calls(tasks(1)) : say("done");
      if (++childTurns === 2) {
        hanging.open();
        return hang();
      }
      return calls([{ name: "list_agents", args: {} }]);
    });
    const first = await openTalk(crashing, options);
    await first.session.send({ prompt: "go" });
    await hanging.opened;
    await crashing.kill();
    await using second = await startClient({ folders: crashing.folders, model: crashing.model });
    const config = { ...options, continuePendingWork: true };
    await using talk = await resumeTalk(second, first.session.sessionId, config, model);
    await talk.record.until("session.idle");
    const billed = credits(await bill(talk));
    expect(billed).toBeGreaterThan(3);
    expect(billed).toBeLessThanOrEqual(5);
    expect(talk.record.one("subagent.failed").data).toMatchObject({ reason: "over_budget" });
  },
);
