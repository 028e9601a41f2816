import { describe, expect, test } from "vitest";
import { ModelError } from "../models/provider.ts";
import { call, say, type Turn, when } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "../server/handlers/small-world.ts";

function gate(): { open(): void; opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

type Config = Parameters<SmallWorld["create"]>[0];

const background = { agent_type: "explore", name: "look", description: "d", prompt: "look around", mode: "background" };
const never = (times: number): Turn[] => Array.from({ length: times }, () => [say("still at it")]);
const done: Turn = [call("task_complete", { summary: "all done" })];

const reminders = (client: TestClient) => client.of("user.message").filter((each) => each.isAutopilotContinuation);
const ends = (client: TestClient) => client.of("session.autopilot_ended");

async function inAutopilot(
  turns: readonly Turn[],
  run: (world: SmallWorld & { sessionId: string }) => Promise<void>,
  { config, ...options }: { config?: Config } & Parameters<typeof inSmallWorld>[2] = {},
): Promise<void> {
  await inSmallWorld(
    turns,
    async (world) => {
      const sessionId = await world.create(config);
      await world.client.call("session.mode.set", { sessionId, mode: "autopilot" });
      await run({ ...world, sessionId });
    },
    options,
  );
}

describe("autopilot reminds the model", () => {
  test("until it says that the task is complete, inside one busy period", async () => {
    await inAutopilot([[say("step 1")], [say("step 2")], done], async ({ client, send, sessionId, provider }) => {
      await send(sessionId, "do it");
      expect(reminders(client)).toHaveLength(2);
      expect(reminders(client)[0]).toMatchObject({ content: "", source: "system" });
      expect(client.of("session.task_complete")).toMatchObject([{ success: true, summary: "all done" }]);
      expect(ends(client)).toMatchObject([{ reason: "completed", continuations: 2 }]);
      expect(client.of("session.idle")).toHaveLength(1);
      expect(provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, undefined]);
      provider.assertSpent();
    });
  });

  test("after five claims in a row that say nothing, so that one that never says it ends at the limit", async () => {
    const empty: Turn = [call("task_complete", { summary: 5 })];
    const worked: Turn = [call("report_intent", { intent: "Looking" })];
    const five = [empty, empty, empty, empty, empty];
    const turns = [empty, empty, worked, ...five, ...five];
    await inAutopilot(
      turns,
      async ({ client, send, sessionId, provider }) => {
        await send(sessionId, "do it");
        expect(reminders(client)).toHaveLength(1);
        expect(ends(client)).toMatchObject([{ reason: "limit", continuations: 1, limit: 1 }]);
        provider.assertSpent();
      },
      { config: { maxAutopilotContinues: 1 } },
    );
  });

  test("five times and no more, and says that the limit was reached", async () => {
    await inAutopilot(never(6), async ({ client, send, sessionId, provider }) => {
      await send(sessionId, "never finished");
      expect(reminders(client)).toHaveLength(5);
      expect(ends(client)).toMatchObject([{ reason: "limit", continuations: 5, limit: 5 }]);
      expect(client.of("session.task_complete")).toEqual([]);
      expect(client.of("session.info")).toMatchObject([{ infoType: "autopilot" }]);
      provider.assertSpent();
    });
  });

  test("as often as the session says, and not at all for 0", async () => {
    for (const limit of [0, 2]) {
      const config = { maxAutopilotContinues: limit };
      await inAutopilot(
        never(limit + 1),
        async ({ send, sessionId, provider }) => {
          await send(sessionId, "go");
          provider.assertSpent();
        },
        { config },
      );
    }
  });

  test("anew for each prompt of the user", async () => {
    await inAutopilot(
      never(4),
      async ({ client, send, sessionId }) => {
        await send(sessionId, "one");
        await send(sessionId, "two");
        expect(ends(client)).toMatchObject([{ continuations: 1 }, { continuations: 1 }]);
      },
      { config: { maxAutopilotContinues: 1 } },
    );
  });

  test("never while work runs in the background, and a notice does not begin a new count", async () => {
    const working = gate();
    const turns: Turn[] = [
      [call("task", background)],
      [say("started")],
      [working.opened, say("found it")],
      [say("it was found")],
      ...never(2),
    ];
    await inAutopilot(
      turns,
      async ({ client, sessionId, provider }) => {
        await client.call("session.send", { sessionId, prompt: "delegate" });
        await client.received("assistant.idle");
        await client.call("session.metadata.isProcessing", { sessionId });
        expect(reminders(client)).toEqual([]);
        expect(provider.requests).toHaveLength(3);
        working.open();
        await client.received("session.idle");
        expect(reminders(client)).toHaveLength(2);
        expect(client.of("session.idle")).toHaveLength(1);
        provider.assertSpent();
      },
      { config: { maxAutopilotContinues: 2 } },
    );
  });

  test("not while an agent in the background waits for a permission", async () => {
    const ask: Turn = when("look around", [call("bash", { command: "touch x", description: "d" })]);
    const turns: Turn[] = [
      [call("task", { ...background, agent_type: "general-purpose" })],
      ask,
      when("look around", [say("found")]),
      [say("started")],
      done,
    ];
    await inAutopilot(turns, async ({ client, sessionId, provider }) => {
      await client.call("session.send", { sessionId, prompt: "delegate" });
      const { requestId } = await client.received("permission.requested");
      await client.received("assistant.idle");
      await client.call("session.metadata.isProcessing", { sessionId });
      expect(reminders(client)).toEqual([]);
      const result = { kind: "approve-once" as const };
      await client.call("session.permissions.handlePendingPermissionRequest", { sessionId, requestId, result });
      await client.received("session.idle");
      expect(ends(client)).toMatchObject([{ reason: "completed", continuations: 0 }]);
      provider.assertSpent();
    });
  });

  test("when background work ends that nobody is told of", async () => {
    const turns: Turn[] = [[call("task", background)], [say("started")], [new Promise(() => undefined)], done];
    await inAutopilot(turns, async ({ client, sessionId, provider }) => {
      await client.call("session.send", { sessionId, prompt: "delegate" });
      await client.received("assistant.idle");
      await client.call("session.cancelAllBackgroundAgents", { sessionId });
      await client.received("session.idle");
      expect(ends(client)).toMatchObject([{ reason: "completed" }]);
      provider.assertSpent();
    });
  });

  test("no longer once the mode is changed", async () => {
    const working = gate();
    await inAutopilot([[say("one")], [working.opened, say("two")]], async ({ client, sessionId, provider }) => {
      await client.call("session.send", { sessionId, prompt: "go" });
      await client.until(() => reminders(client).length === 1);
      await client.call("session.mode.set", { sessionId, mode: "interactive" });
      working.open();
      await client.received("session.idle");
      expect([reminders(client).length, ends(client)]).toEqual([1, []]);
      provider.assertSpent();
    });
  });

  test("after an error of the model too, which counts", async () => {
    const failure = () => new ModelError("bad request", { kind: "api", status: 400 });
    await inAutopilot([failure(), failure(), done], async ({ client, send, sessionId, provider }) => {
      await send(sessionId, "go");
      expect(client.of("session.error")).toHaveLength(2);
      expect(ends(client)).toMatchObject([{ reason: "completed", continuations: 2 }]);
      provider.assertSpent();
    });
  });

  test("after a rate limit too, once its retries are used up", async () => {
    const limited = () => new ModelError("slow down", { kind: "api", status: 429, retryAfterMs: 0 });
    const always = when(() => true, limited());
    await inAutopilot(
      Array.from({ length: 60 }, () => always),
      async ({ client, send, sessionId }) => {
        await send(sessionId, "go");
        expect(client.of("session.error")).toMatchObject([{ errorType: "rate_limit" }, { errorType: "rate_limit" }]);
        expect(ends(client)).toMatchObject([{ reason: "limit", continuations: 1 }]);
      },
      { config: { maxAutopilotContinues: 1 } },
    );
  });

  test("and not when a hook has refused the prompt", async () => {
    await inAutopilot(
      [],
      async ({ client, send, sessionId, provider }) => {
        client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) => ({
          output: hookType === "userPromptSubmitted" ? { decision: "block", reason: "no" } : undefined,
        }));
        await send(sessionId, "go");
        expect([ends(client), provider.requests]).toEqual([[], []]);
      },
      { config: { hooks: true } },
    );
  });

  test("and not after an abort, whether the model or only an agent was at work", async () => {
    const forever: Turn = [new Promise(() => undefined)];
    await inAutopilot([[say("one")], forever], async ({ client, sessionId }) => {
      await client.call("session.send", { sessionId, prompt: "go" });
      await client.until(() => reminders(client).length === 1);
      await client.call("session.abort", { sessionId });
      await client.received("session.idle");
      expect(ends(client)).toMatchObject([{ reason: "aborted", continuations: 1 }]);
    });
    await inAutopilot([[call("task", background)], [say("started")], forever], async ({ client, sessionId }) => {
      await client.call("session.send", { sessionId, prompt: "go" });
      await client.received("assistant.idle");
      await client.call("session.abort", { sessionId });
      await client.received("session.idle");
      expect(ends(client)).toMatchObject([{ reason: "aborted", continuations: 0 }]);
    });
  });

  test("only within the budget of the prompt", async () => {
    await inAutopilot(
      never(3),
      async ({ client, send, sessionId, provider }) => {
        await send(sessionId, "go");
        expect(ends(client)).toMatchObject([{ reason: "budget" }]);
        expect(client.of("session.error")).toEqual([]);
        provider.assertSpent();
      },
      { config: { budget: { maxTurns: 3 } } },
    );
  });

  test("only within the time of the prompt, whose end is that of a budget", async () => {
    await inAutopilot(
      [[new Promise(() => undefined)]],
      async ({ client, send, sessionId }) => {
        await send(sessionId, "go");
        expect(ends(client)).toMatchObject([{ reason: "budget", continuations: 0 }]);
        expect(client.of("session.error")).toMatchObject([{ errorType: "timed_out" }]);
      },
      { config: { budget: { maxSeconds: 0.05 } } },
    );
  });

  test("no longer when a stop hook keeps sending the agent on", async () => {
    const turns = never(100);
    await inAutopilot(
      turns,
      async ({ client, send, sessionId }) => {
        client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) => ({
          output: hookType === "agentStop" ? { decision: "block", reason: "go on" } : undefined,
        }));
        await send(sessionId, "go");
        expect(ends(client)).toMatchObject([{ reason: "limit", continuations: 1 }]);
      },
      { config: { hooks: true, maxAutopilotContinues: 1 } },
    );
  });

  test("again when a stop hook has not accepted that the task is complete", async () => {
    await inAutopilot(
      [done, [say("I run the tests.")], done],
      async ({ client, send, sessionId, provider }) => {
        let asked = 0;
        client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) => ({
          output: hookType === "agentStop" && ++asked === 1 ? { decision: "block", reason: "no tests" } : undefined,
        }));
        await send(sessionId, "go");
        expect(ends(client)).toMatchObject([{ reason: "completed", continuations: 1 }]);
        provider.assertSpent();
      },
      { config: { hooks: true } },
    );
  });

  test("with a tool that it must have: without it the run fails instead of going round", async () => {
    await inAutopilot(
      never(1),
      async ({ client, send, sessionId, provider }) => {
        await send(sessionId, "go");
        expect(client.of("session.error")).toMatchObject([{ message: expect.stringContaining("task_complete") }]);
        expect(ends(client)).toMatchObject([{ reason: "error" }]);
        provider.assertSpent();
      },
      { config: { excludedTools: ["task_complete"] } },
    );
  });
});

describe("after a restart", () => {
  const config = { maxAutopilotContinues: 3 };

  test("a reminder that was being answered goes on, and the count with it", async () => {
    const cut = gate();
    const turns: Turn[] = [[say("0")], [say("1")], [cut.opened, say("lost")], [say("2")], [say("3")]];
    await inAutopilot(
      turns,
      async (world) => {
        const { sessionId } = world;
        await world.client.call("session.send", { sessionId, prompt: "go" });
        await world.client.until(() => reminders(world.client).length === 2);
        const { client } = await world.restart();
        await client.call("session.resume", { sessionId, ...config, continuePendingWork: true });
        await client.received("session.idle");
        expect(reminders(client)).toHaveLength(1);
        expect(ends(client)).toMatchObject([{ reason: "limit", continuations: 3 }]);
        world.provider.assertSpent();
      },
      { isOnDisk: true, config },
    );
  });

  test("a session that had ended stays at rest", async () => {
    for (const turns of [[done], never(4)]) {
      await inAutopilot(
        turns,
        async (world) => {
          const { sessionId } = world;
          await world.send(sessionId, "go");
          const { client } = await world.restart();
          await client.call("session.resume", { sessionId, ...config, continuePendingWork: true });
          const { hasActiveWork } = await client.call("session.metadata.activity", { sessionId });
          expect(hasActiveWork).toBe(false);
          world.provider.assertSpent();
        },
        { isOnDisk: true, config },
      );
    }
  });
});

describe("task_complete", () => {
  test("that cannot be read is no completion, and says so each time", async () => {
    const bad: Turn[] = [
      [call("task_complete", {})],
      [call("task_complete", { summary: 7 })],
      [call("task_complete", "{")],
    ];
    await inAutopilot([...bad, done], async ({ client, send, sessionId, provider }) => {
      await send(sessionId, "go");
      const told = client.of("session.task_complete");
      expect(told.map(({ success }) => success)).toEqual([false, false, false, true]);
      expect(told[0]).toMatchObject({ outcome: "continue", reason: expect.stringContaining("Required") });
      const order = client.events.map(({ type }) => type);
      expect(order[order.indexOf("session.task_complete") - 1]).toBe("tool.execution_complete");
      expect(reminders(client)).toEqual([]);
      provider.assertSpent();
    });
  });

  test("that a hook turns into a failure is no completion", async () => {
    await inAutopilot(
      [done, done],
      async ({ client, send, sessionId }) => {
        let times = 0;
        client.answers.set("hooks.invoke", ({ hookType }: { hookType: string }) => {
          const isFirst = hookType === "postToolUse" && times++ === 0;
          return {
            output: isFirst ? { modifiedResult: { resultType: "failure", textResultForLlm: "no" } } : undefined,
          };
        });
        await send(sessionId, "go");
        expect(client.of("session.task_complete").map(({ success }) => success)).toEqual([false, true]);
      },
      { config: { hooks: true } },
    );
  });

  test("beside other calls runs after them", async () => {
    const turn: Turn = [
      call("task_complete", { summary: "s" }, "done"),
      call("bash", { command: "sleep 0.2", description: "d" }, "slow"),
    ];
    await inAutopilot(
      [turn],
      async ({ client, send, sessionId, provider }) => {
        await send(sessionId, "go");
        expect(client.of("tool.execution_complete").map(({ toolCallId }) => toolCallId)).toEqual(["slow", "done"]);
        expect(client.of("session.task_complete")).toMatchObject([{ success: true }]);
        provider.assertSpent();
      },
      { config: { permissions: { approveAllToolPermissionRequests: true } } },
    );
  });
});
