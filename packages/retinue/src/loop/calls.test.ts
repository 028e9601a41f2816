import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Stop } from "../session/stop.ts";
import { wasAborted, wasInterrupted } from "../session/wording.ts";
import type { SqliteStore } from "../store/sqlite/store.ts";
import { CallRefused, failure, type Outcome, success } from "../tools/tool.ts";
import { settleInterrupted } from "./calls.ts";
import { type CallScene, inCallScene, probe } from "./test-calls.ts";

const stopped = (type: Stop["type"]) => AbortSignal.abort(new Stop(type, "why"));

describe("a call", () => {
  test("is recorded, with all others of its turn, before any of them runs", async () => {
    await inCallScene(async ({ ask, run, client, sessionId }) => {
      const stored: string[][] = [];
      const looks = probe("looks", {
        outcome: async () => {
          const { events } = await client.call("session.getMessages", { sessionId });
          const starts = (events as { type: string; data: { toolCallId: string } }[]).filter(
            ({ type }) => type === "tool.execution_start",
          );
          stored.push(starts.map(({ data }) => data.toolCallId));
          return success("seen");
        },
      });
      ask({ id: "a", name: "looks" }, { id: "b", name: "looks", arguments: { deep: true } });
      await run([looks]);
      expect(stored).toEqual([
        ["a", "b"],
        ["a", "b"],
      ]);
      expect(client.of("tool.execution_start")).toMatchObject([
        { toolCallId: "a", toolName: "looks", arguments: {}, turnId: "7" },
        { toolCallId: "b", arguments: { deep: true } },
      ]);
      expect(client.of("tool.execution_start")[0]).not.toHaveProperty("mcpServerName");
      expect(client.of("tool.execution_start")[0]).not.toHaveProperty("parentToolCallId");
    });
  });

  test("of an MCP tool is recorded with its server and the tool's name on that server", async () => {
    await inCallScene(async ({ ask, run, client, ends }) => {
      ask({ id: "a", name: "srv-add" });
      await run([probe("srv-add", { mcp: { server: "srv", tool: "add" } })]);
      await ends();
      expect(client.of("tool.execution_start")).toMatchObject([{ mcpServerName: "srv", mcpToolName: "add" }]);
    });
  });

  test("runs in parallel with the others of its turn", async () => {
    await inCallScene(async ({ ask, run }) => {
      let meet = () => {};
      const met = new Promise<void>((resolve) => {
        meet = resolve;
      });
      const waits = probe("waits", { outcome: () => met.then(() => success("met")) });
      const comes = probe("comes", {
        outcome: () => {
          meet();
          return success("here");
        },
      });
      ask({ id: "a", name: "waits" }, { id: "b", name: "comes" });
      expect(await run([waits, comes])).toBe(false);
    });
  });

  test("that succeeds is recorded with everything that the tool returned", async () => {
    await inCallScene(async ({ ask, run, ends }) => {
      const whole: Outcome = {
        resultType: "success",
        text: "for the model",
        detail: "for the screen",
        binary: [{ type: "image", data: "AAAA", mimeType: "image/png" }],
        contents: [{ type: "text", text: "x" }],
        structuredContent: { n: 1 },
        shellExecution: { exitCode: 0 },
        telemetry: { ms: 3 },
      };
      ask({ id: "whole", name: "whole" }, { id: "bare", name: "bare" });
      await run([probe("whole", { outcome: () => whole }), probe("bare", { outcome: () => success("words") })]);
      expect((await ends()).get("whole")).toMatchObject({
        success: true,
        turnId: "7",
        interactionId: "i",
        toolTelemetry: { ms: 3 },
        shellExecution: { exitCode: 0 },
        result: {
          content: "for the model",
          detailedContent: "for the screen",
          binaryResultsForLlm: whole.binary,
          contents: whole.contents,
          structuredContent: { n: 1 },
        },
      });
      expect((await ends()).get("bare")?.result).toEqual({ content: "words", detailedContent: "words" });
      expect((await ends()).get("bare")).not.toHaveProperty("shellExecution");
    });
  });

  test("that fails is recorded with its reason, and with the text for the model where that differs", async () => {
    await inCallScene(async ({ ask, run, ends }) => {
      ask({ id: "a", name: "plain" }, { id: "b", name: "wordy" }, { id: "c", name: "late" });
      await run([
        probe("plain", { outcome: () => failure("no such file") }),
        probe("wordy", { outcome: () => failure("I looked everywhere", { error: "no such file" }) }),
        probe("late", { outcome: () => ({ resultType: "timeout", text: "too slow" }) }),
      ]);
      const all = await ends();
      expect(all.get("a")).toMatchObject({ success: false, error: { message: "no such file", code: "failure" } });
      expect(all.get("a")).not.toHaveProperty("modelText");
      expect(all.get("b")).toMatchObject({ error: { message: "no such file" }, modelText: "I looked everywhere" });
      expect(all.get("c")).toMatchObject({ error: { message: "too slow", code: "timeout" } });
    });
  });

  test("that throws fails with the tool's name, and one that is refused in `prepare` with its own message", async () => {
    await inCallScene(async ({ ask, run, ends }) => {
      const boom = (error: Error) => () => {
        throw error;
      };
      const refuses = { ...probe("refuses"), prepare: boom(new CallRefused(failure("give a path", { error: "bad" }))) };
      const breaks = { ...probe("breaks"), prepare: boom(new Error("bad luck")) };
      const runsOff = probe("runsOff", { outcome: boom(new Error("out of memory")) });
      ask({ id: "a", name: "refuses" }, { id: "b", name: "breaks" }, { id: "c", name: "runsOff" });
      expect(await run([refuses, breaks, runsOff])).toBe(false);
      const all = await ends();
      expect(all.get("a")).toMatchObject({ error: { message: "bad", code: "failure" }, modelText: "give a path" });
      expect(all.get("b")).toMatchObject({
        error: { message: "bad luck" },
        modelText: "Tool 'breaks' failed: bad luck",
      });
      expect(all.get("c")).toMatchObject({ modelText: "Tool 'runsOff' failed: out of memory" });
    });
  });

  test("of an unknown tool fails with the names of those that exist", async () => {
    await inCallScene(async ({ ask, run, ends }) => {
      ask({ id: "a", name: "magic" });
      await run([probe("one"), probe("two")]);
      ask({ id: "b", name: "magic" });
      await run([]);
      const all = await ends();
      const error = { message: "Tool 'magic' does not exist.", code: "failure" };
      expect(all.get("a")).toMatchObject({ error, modelText: `${error.message} Available tools: one, two.` });
      expect(all.get("b")).toMatchObject({ error, modelText: `${error.message} Available tools: none.` });
    });
  });

  test("whose arguments cannot be parsed fails with the problem and is not run", async () => {
    await inCallScene(async ({ ask, run, ends }) => {
      const tool = probe("tool");
      ask({ id: "a", name: "tool" });
      await run([tool], { badArguments: new Map([["a", "no brace"]]) });
      expect((await ends()).get("a")).toMatchObject({
        error: { message: "no brace" },
        modelText: "The arguments of 'tool' are not valid JSON: no brace",
      });
      expect(tool.ran).toEqual([]);
    });
  });

  test("with too long an output is cut, and the whole output is in the file that its text names", async () => {
    await inCallScene(
      async ({ ask, run, ends }) => {
        const long = "line\n".repeat(5000);
        ask({ id: "a", name: "talks" }, { id: "b", name: "shows" });
        await run([
          probe("talks", { outcome: () => success(long) }),
          probe("shows", { outcome: () => success(long, { detail: "a diff" }) }),
        ]);
        const all = await ends();
        const { content = "", detailedContent } = all.get("a")?.result ?? {};
        expect(content.length).toBeLessThan(10_000);
        const [, file = ""] = /(\/\S*talks-output-\S+\.txt)/.exec(content) ?? [];
        expect(readFileSync(file, "utf8")).toBe(long);
        expect(detailedContent).toBe(content);
        expect(all.get("b")?.result?.detailedContent).toBe("a diff");
      },
      { largeOutput: { maxSizeBytes: 10_000 } },
    );
  });

  test("has its events and follow-ups recorded right after its end", async () => {
    await inCallScene(async ({ ask, run, ends, client }) => {
      const events: Outcome["events"] = [{ type: "session.task_complete", data: { success: true, summary: "all" } }];
      ask({ id: "a", name: "tool" });
      await run([probe("tool", { outcome: () => success("ok", { events, followUps: ["read this"] }) })]);
      await ends();
      const types = client.events.map(({ type }) => type);
      const end = types.indexOf("tool.execution_complete");
      expect(types.slice(end, end + 3)).toEqual(["tool.execution_complete", "session.task_complete", "user.message"]);
      expect(client.of("user.message")).toMatchObject([
        { content: "", transformedContent: "read this", source: "system" },
      ]);
    });
  });
});

describe("a turn ends with its calls or goes on", () => {
  const cases: [string, Outcome, { isTerminal?: boolean }, boolean][] = [
    ["an ordinary success", success("ok"), {}, false],
    ["a success of a terminal tool", success("ok"), { isTerminal: true }, true],
    ["a failure of a terminal tool", failure("no"), { isTerminal: true }, false],
    ["a rejection", { resultType: "rejected", text: "no" }, {}, true],
    ["a denial", { resultType: "denied", text: "no" }, {}, false],
  ];
  test.each(cases)("after %s", async (_, outcome, more, ends) => {
    await inCallScene(async ({ ask, run }) => {
      ask({ id: "a", name: "first" }, { id: "b", name: "second" });
      expect(await run([probe("first", { outcome: () => outcome, ...more }), probe("second")])).toBe(ends);
    });
  });
});

describe("hooks", () => {
  const hooks = { hooks: true };

  test("before a call may deny it, with or without a reason", async () => {
    await inCallScene(async ({ ask, run, ends, hook }) => {
      const tool = probe("tool");
      hook("preToolUse", ({ toolArgs }: { toolArgs: { n: number } }) => ({
        permissionDecision: "deny",
        ...(toolArgs.n === 1 ? { permissionDecisionReason: "not on Sundays" } : {}),
      }));
      ask({ id: "a", name: "tool", arguments: { n: 1 } }, { id: "b", name: "tool", arguments: { n: 2 } });
      expect(await run([tool])).toBe(false);
      const all = await ends();
      expect(all.get("a")).toMatchObject({ error: { message: "not on Sundays", code: "denied" } });
      expect(all.get("b")).toMatchObject({ error: { message: "The call of 'tool' was denied by a hook." } });
      expect(tool.ran).toEqual([]);
    }, hooks);
  });

  test("before a call may change its arguments, and the hook after it gets those of the model", async () => {
    await inCallScene(async ({ ask, run, hook, ends }) => {
      const tool = probe("tool");
      const after: unknown[] = [];
      hook("preToolUse", () => ({ modifiedArgs: { n: 2 } }));
      hook("postToolUse", (input) => {
        after.push(input);
        return undefined;
      });
      ask({ id: "a", name: "tool", arguments: { n: 1 } });
      await run([tool]);
      expect(tool.ran).toEqual([{ n: 2 }]);
      expect(after).toMatchObject([
        {
          toolName: "tool",
          toolArgs: { n: 1 },
          toolResult: { textResultForLlm: "tool is done", resultType: "success" },
        },
      ]);
      expect((await ends()).get("a")?.result).toEqual({ content: "tool is done", detailedContent: "tool is done" });
    }, hooks);
  });

  test("after a call may change its result, add to it, or turn it into a failure", async () => {
    await inCallScene(async ({ ask, run, hook, ends }) => {
      const outputs: Record<string, object> = {
        more: { additionalContext: "look twice" },
        other: { modifiedResult: { textResultForLlm: "other words" }, additionalContext: "and more" },
        log: { modifiedResult: { textResultForLlm: "short", sessionLog: "long" } },
        fails: { modifiedResult: { textResultForLlm: "bad", resultType: "failure", error: "because" } },
      };
      hook("postToolUse", ({ toolName }: { toolName: string }) => outputs[toolName]);
      const names = Object.keys(outputs);
      ask(...names.map((name) => ({ id: name, name })));
      await run(names.map((name) => probe(name)));
      const all = await ends();
      expect(all.get("more")?.result).toEqual({
        content: "more is done\n\nlook twice",
        detailedContent: "more is done\n\nlook twice",
      });
      expect(all.get("other")?.result).toEqual({
        content: "other words\n\nand more",
        detailedContent: "other words",
      });
      expect(all.get("log")?.result).toEqual({ content: "short", detailedContent: "long" });
      expect(all.get("fails")).toMatchObject({
        success: false,
        error: { message: "because", code: "failure" },
        modelText: "bad",
      });
    }, hooks);
  });

  test("after a failed call run when it fails or throws, and not for calls that never ran", async () => {
    await inCallScene(async ({ ask, run, hook }) => {
      const failures: unknown[] = [];
      hook("postToolUseFailure", ({ toolName, error }: { toolName: string; error: string }) => {
        failures.push([toolName, error]);
        return undefined;
      });
      const throws = probe("throws", {
        outcome: () => {
          throw new Error("boom");
        },
      });
      ask(
        { id: "a", name: "fails" },
        { id: "b", name: "throws" },
        { id: "c", name: "magic" },
        { id: "d", name: "fails" },
      );
      await run([probe("fails", { outcome: () => failure("words", { error: "why" }) }), throws], {
        badArguments: new Map([["d", "no brace"]]),
      });
      expect(failures.sort()).toEqual([
        ["fails", "why"],
        ["throws", "boom"],
      ]);
    }, hooks);
  });
});

describe("when the run is stopped", () => {
  test("calls that had not started are recorded as interrupted and do not run", async () => {
    await inCallScene(async ({ ask, run, ends }) => {
      const tool = probe("tool");
      ask({ id: "a", name: "tool" });
      expect(await run([tool], { signal: stopped("abort") })).toBe(true);
      expect((await ends()).get("a")).toMatchObject({
        success: false,
        error: { message: "interrupted", code: "interrupted" },
        modelText: wasAborted,
      });
      expect(tool.ran).toEqual([]);
    });
  });

  /** A call that stops the run while it works. */
  async function stoppedBy(
    { ask, run, ends }: CallScene,
    type: Stop["type"],
    outcome: () => Outcome,
  ): Promise<{ endsTurn: boolean; end: object | undefined }> {
    const controller = new AbortController();
    const tool = probe("tool", {
      outcome: () => {
        controller.abort(new Stop(type, "why"));
        return outcome();
      },
    });
    ask({ id: "a", name: "tool" });
    const endsTurn = await run([tool], { signal: controller.signal });
    return { endsTurn, end: (await ends()).get("a") };
  }

  test("a call that still succeeds is recorded as a success, and one that fails as interrupted", async () => {
    await inCallScene(async (scene) => {
      expect((await stoppedBy(scene, "abort", () => success("just in time"))).end).toMatchObject({ success: true });
    });
    await inCallScene(async (scene) => {
      const { endsTurn, end } = await stoppedBy(scene, "cancel", () => failure("cut off"));
      expect(endsTurn).toBe(true);
      expect(end).toMatchObject({ error: { code: "interrupted" }, modelText: wasAborted });
    });
    await inCallScene(async (scene) => {
      const thrown = () => {
        throw new Error("cut off");
      };
      expect((await stoppedBy(scene, "interrupt", thrown)).end).toMatchObject({ error: { code: "interrupted" } });
    });
  });

  test.each(["suspend", "shutdown"] as const)("by %s, every call stays open in the log", async (type) => {
    await inCallScene(async (scene) => {
      const { endsTurn, end } = await stoppedBy(scene, type, () => success("nobody reads this"));
      expect(endsTurn).toBe(true);
      expect(end).toBeUndefined();
      expect(scene.agent.session.state.openCalls.get("a")?.isStarted).toBe(true);
    });
  });
});

describe("after a restart", () => {
  /** A call that an earlier process started. */
  function begun({ agent, ask }: CallScene, name = "tool"): void {
    ask({ id: "a", name });
    agent.session.append("tool.execution_start", { toolCallId: "a", toolName: name, arguments: {}, turnId: "7" });
  }

  const permission = { kind: "custom-tool" as const, toolName: "tool", toolDescription: "" };

  function asked({ agent }: CallScene, kind?: "approved" | "cancelled"): void {
    const request = { ...permission, toolCallId: "a" };
    agent.session.append(
      "permission.requested",
      {
        requestId: "r",
        permissionRequest: request,
        promptRequest: request,
      },
      { untagged: true },
    );
    if (kind)
      agent.session.append(
        "permission.completed",
        { requestId: "r", toolCallId: "a", result: { kind } },
        { untagged: true },
      );
  }

  test("a call that had not started asks for permission and runs", async () => {
    await inCallScene(async ({ ask, run, ends, answer }) => {
      const tool = probe("tool", { permission });
      ask({ id: "a", name: "tool" });
      const running = run([tool], { isResumed: true });
      await answer({ kind: "approve-once" });
      await running;
      expect(tool.ran).toHaveLength(1);
      expect((await ends()).get("a")?.success).toBe(true);
    });
  });

  test("a call that had not started runs, also when it needs no permission", async () => {
    await inCallScene(async ({ ask, run }) => {
      const tool = probe("tool");
      ask({ id: "a", name: "tool" });
      await run([tool], { isResumed: true });
      expect(tool.ran).toHaveLength(1);
    });
  });

  test("a call that only reads runs again, and its start is recorded once", async () => {
    await inCallScene(async (scene) => {
      const tool = probe("tool", { readOnly: true });
      begun(scene);
      await scene.run([tool], { isResumed: true });
      await scene.ends();
      expect(tool.ran).toHaveLength(1);
      expect(scene.client.of("tool.execution_start")).toHaveLength(1);
    });
  });

  test("a call that may have had an effect, because it was allowed or needed no permission, is not run again", async () => {
    await inCallScene(async (scene) => {
      const tool = probe("tool", { permission });
      begun(scene);
      asked(scene, "approved");
      await scene.run([tool], { isResumed: true });
      expect((await scene.ends()).get("a")).toMatchObject({
        error: { message: "interrupted" },
        modelText: wasInterrupted,
      });
      expect(tool.ran).toEqual([]);
    });
    await inCallScene(async (scene) => {
      const tool = probe("tool");
      begun(scene);
      await scene.run([tool], { isResumed: true });
      expect((await scene.ends()).get("a")).toMatchObject({ modelText: wasInterrupted });
      expect(tool.ran).toEqual([]);
    });
    await inCallScene(async (scene) => {
      const tool = probe("tool", { permission });
      begun(scene);
      await scene.client.call("session.permissions.setApproveAll", { sessionId: scene.sessionId, enabled: true });
      await scene.run([tool], { isResumed: true });
      expect((await scene.ends()).get("a")).toMatchObject({ modelText: wasInterrupted });
    });
  });

  test("a call whose permission was denied or withdrawn is denied", async () => {
    await inCallScene(async (scene) => {
      const tool = probe("tool", { permission });
      begun(scene);
      asked(scene, "cancelled");
      await scene.run([tool], { isResumed: true });
      expect((await scene.ends()).get("a")).toMatchObject({
        error: { message: "Permission for this call was not given.", code: "denied" },
      });
      expect(tool.ran).toEqual([]);
    });
  });

  test("a call that waited for a permission goes on waiting under the same id, and runs when it is given", async () => {
    await inCallScene(async (scene) => {
      const tool = probe("tool", { permission });
      begun(scene);
      asked(scene);
      await scene.agent.session.log.committed();
      const running = scene.run([tool], { isResumed: true });
      const requestId = await scene.answer({ kind: "approve-once" });
      await running;
      expect(requestId).toBe("r");
      expect(scene.client.of("permission.requested")).toHaveLength(1);
      expect(tool.ran).toHaveLength(1);
    });
  });

  test("a call that had started and not asked for its permission asks now when a person must decide", async () => {
    await inCallScene(async (scene) => {
      const tool = probe("tool", { permission });
      begun(scene);
      const running = scene.run([tool], { isResumed: true });
      await scene.answer({ kind: "approve-once" });
      await running;
      expect(tool.ran).toHaveLength(1);
    });
  });

  test("calls and asks that are not continued are settled: asks are withdrawn, calls interrupted, decisions stay", async () => {
    await inCallScene(async (scene) => {
      const { agent, ask, client, ends } = scene;
      const { session } = agent;
      ask({ id: "a", name: "tool" }, { id: "b", name: "tool" }, { id: "c", name: "host" }, { id: "d", name: "tool" });
      const request = (toolCallId: string) => ({ ...permission, toolCallId });
      for (const id of ["a", "b"])
        session.append(
          "permission.requested",
          {
            requestId: `r-${id}`,
            permissionRequest: request(id),
            promptRequest: request(id),
          },
          { untagged: true },
        );
      session.append(
        "permission.completed",
        { requestId: "r-b", toolCallId: "b", result: { kind: "approved" } },
        { untagged: true },
      );
      session.append(
        "external_tool.requested",
        {
          requestId: "x",
          sessionId: session.id,
          toolCallId: "c",
          toolName: "host",
        },
        { untagged: true },
      );
      settleInterrupted(session);
      const all = await ends();
      expect([...all.keys()]).toEqual(["a", "b", "c", "d"]);
      for (const end of all.values())
        expect(end).toMatchObject({
          success: false,
          error: { message: "interrupted", code: "interrupted" },
          modelText: wasInterrupted,
          turnId: "7",
          interactionId: "i",
        });
      expect(client.of("permission.completed")).toMatchObject([
        { requestId: "r-b" },
        { requestId: "r-a", toolCallId: "a", result: { kind: "cancelled", reason: "interrupted" } },
      ]);
      expect(client.of("external_tool.completed")).toMatchObject([{ requestId: "x" }]);
      expect(session.state.openCalls.size).toBe(0);
      settleInterrupted(session);
      expect((await ends()).size).toBe(4);
    });
  });
});

test("calls whose start the store refuses wait, and run once it is written", async () => {
  await inCallScene(async ({ ask, run, runtime }) => {
    const tool = probe("tool");
    ask({ id: "a", name: "tool" });
    const { db } = runtime.sessions.store as SqliteStore;
    db.exec("PRAGMA query_only = 1");
    const running = run([tool]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(tool.ran).toEqual([]);
    db.exec("PRAGMA query_only = 0");
    await running;
    expect(tool.ran).toHaveLength(1);
  });
});

test("calls that are stopped before their start is written do not run, and are settled as interrupted", async () => {
  await inCallScene(async ({ ask, run, runtime, agent }) => {
    const tool = probe("tool");
    ask({ id: "a", name: "tool" });
    const { db } = runtime.sessions.store as SqliteStore;
    db.exec("PRAGMA query_only = 1");
    const controller = new AbortController();
    const running = run([tool], { signal: controller.signal });
    controller.abort(new Stop("abort", "why"));
    await running;
    db.exec("PRAGMA query_only = 0");
    expect(tool.ran).toEqual([]);
    expect(agent.session.state.openCalls.size).toBe(0);
    expect(agent.session.state.messages.at(-1)).toMatchObject({ role: "tool", callId: "a", text: wasAborted });
  });
});
