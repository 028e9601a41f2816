import type { HookType } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { smallSession } from "../session/small-session.ts";
import { GuardFailed, type HookHost, Hooks } from "./hooks.ts";

const calls = { toolName: "bash", toolArgs: {} };
const signal = new AbortController().signal;

async function run(
  hosts: HookHost["invoke"][],
  { limitMs = 1000, stop = signal }: { limitMs?: number; stop?: AbortSignal } = {},
) {
  using small = smallSession();
  const hooks = new Hooks({ hosts: () => hosts.map((invoke) => ({ invoke })), limitMs });
  const output = await hooks.run("preToolUse", calls, { caller: { session: small.session }, signal: stop });
  await small.log.committed();
  const events = (await small.store.events.read("root")).map(({ json }) => JSON.parse(json));
  return {
    output,
    ends: events.filter(({ type }) => type === "hook.end").map(({ data }) => data),
    starts: events.filter(({ type }) => type === "hook.start"),
  };
}

describe("a hook that goes wrong has no effect and is on record", () => {
  test("when it throws", async () => {
    const { output, ends } = await run([() => Promise.reject(new Error("broken hook"))]);
    expect([output, ends]).toEqual([
      undefined,
      [expect.objectContaining({ success: false, error: { message: "broken hook" } })],
    ]);
  });

  test("when it throws before it returns a promise", async () => {
    const { output, ends } = await run([
      () => {
        throw new Error("at once");
      },
    ]);
    expect([output, ends[0]?.success]).toEqual([undefined, false]);
  });

  test("when it never answers, and the host is told to stop", async () => {
    let isTold = false;
    const hang: HookHost["invoke"] = (_, options) =>
      new Promise(() => {
        options.signal.addEventListener("abort", () => {
          isTold = true;
        });
      });
    const { output, ends } = await run([hang], { limitMs: 20 });
    expect([output, ends[0]?.success, isTold]).toEqual([undefined, false, true]);
    expect(ends[0]?.error.message).toContain("did not answer");
  });

  test.each([
    ["text"],
    [42],
    [["list"]],
    [{ permissionDecision: "perhaps" }],
    [{ permissionDecision: 7, additionalContext: {} }],
  ])("when it answers %j", async (nonsense) => {
    const { output, ends } = await run([async () => nonsense]);
    expect(output?.permissionDecision).toBeUndefined();
    expect(ends).toHaveLength(1);
  });

  test("when the run is stopped meanwhile, and later hooks are not asked", async () => {
    const stop = new AbortController();
    let asked = 0;
    const hang: HookHost["invoke"] = () => {
      asked++;
      queueMicrotask(() => stop.abort());
      return new Promise(() => undefined);
    };
    const { output, ends } = await run([hang, hang], { stop: stop.signal });
    expect([output, ends.length, asked]).toEqual([undefined, 1, 1]);
  });
});

describe("a guard that goes wrong prevents the call, and is on record", () => {
  async function guarded(invoke: HookHost["invoke"], { limitMs = 1000, hookType = "preToolUse" as HookType } = {}) {
    using small = smallSession();
    const hooks = new Hooks({ hosts: () => [{ isGuard: true, invoke }], limitMs });
    const options = { caller: { session: small.session }, signal };
    const failed = await hooks.run(hookType, calls as never, options).then(
      () => undefined,
      (error: unknown) => (error instanceof GuardFailed ? error.message : "another error"),
    );
    await small.log.committed();
    const events = (await small.store.events.read("root")).map(({ json }) => JSON.parse(json));
    return { failed, ends: events.filter(({ type }) => type === "hook.end").map(({ data }) => data.success) };
  }

  test("when it throws, hangs, or throws before it returns a promise", async () => {
    expect(await guarded(() => Promise.reject(new Error("broken")))).toEqual({
      failed: "the preToolUse hook that guards calls failed: broken",
      ends: [false],
    });
    const hung = await guarded(() => new Promise(() => undefined), { limitMs: 20 });
    expect(hung.failed).toContain("did not answer within");
    const thrown = await guarded(() => {
      throw new Error("at once");
    });
    expect(thrown.failed).toContain("at once");
  });

  test.each([
    ["text"],
    [42],
    [true],
    [["list"]],
    [{ permissionDecision: "denied" }],
    [{ permissionDecision: 7, additionalContext: "x" }],
    [{ decision: "block" }],
    [{ hookSpecificOutput: { permissionDecision: "deny" } }],
  ])("when it answers %j", async (nonsense) => {
    const { failed, ends } = await guarded(async () => nonsense);
    expect(failed).toContain("its answer cannot be read");
    expect(ends).toEqual([false]);
  });

  test.each([[undefined], [null], [{}], [{ permissionDecision: "allow", more: 1 }], [{ suppressOutput: true }]])(
    "but not when it answers %j",
    async (answer) => {
      expect(await guarded(async () => answer)).toEqual({ failed: undefined, ends: [true] });
    },
  );

  test("but only where it is asked before something happens", async () => {
    const broken = () => Promise.reject(new Error("broken"));
    expect((await guarded(broken, { hookType: "preMcpToolCall" })).failed).toContain("broken");
    expect((await guarded(broken, { hookType: "postToolUse" })).failed).toBeUndefined();
  });

  test("but not when the run is stopped, which ends the call anyway", async () => {
    using small = smallSession();
    const stop = new AbortController();
    const invoke = () => {
      queueMicrotask(() => stop.abort());
      return new Promise(() => undefined);
    };
    const hooks = new Hooks({ hosts: () => [{ isGuard: true, invoke }] });
    const options = { caller: { session: small.session }, signal: stop.signal };
    expect(await hooks.run("preToolUse", calls, options)).toBeUndefined();
  });
});

describe("several hooks", () => {
  test("run in order, their contexts are joined, and later words win", async () => {
    const { output, starts } = await run([
      async () => ({ permissionDecision: "ask", permissionDecisionReason: "one", additionalContext: "a" }),
      async () => undefined,
      async () => ({ permissionDecision: "allow", additionalContext: "b" }),
    ]);
    expect(output).toMatchObject({
      permissionDecision: "allow",
      permissionDecisionReason: "one",
      additionalContext: "a\n\nb",
    });
    expect(starts).toHaveLength(3);
  });

  test("each is asked about the arguments as those before it have left them", async () => {
    const seen: unknown[] = [];
    const note = async ({ input }: { input: object }) => void seen.push(Reflect.get(input, "toolArgs"));
    await run([note, async () => ({ modifiedArgs: { command: "rm" } }), note]);
    expect(seen).toEqual([{}, { command: "rm" }]);
  });

  test("each is shown the result as those before it have left it", async () => {
    using small = smallSession();
    const seen: unknown[] = [];
    const result = (textResultForLlm: string) => ({ textResultForLlm, resultType: "success" as const });
    const note = async ({ input }: { input: object }) => void seen.push(Reflect.get(input, "toolResult"));
    const shorten = async () => ({ modifiedResult: result("short") });
    const hooks = new Hooks({ hosts: () => [note, shorten, note].map((invoke) => ({ invoke })) });
    const caller = { session: small.session };
    await hooks.run("postToolUse", { ...calls, toolResult: result("long") }, { caller, signal });
    expect(seen).toEqual([result("long"), result("short")]);
  });

  test("one that changes the arguments takes back what others have allowed, and may allow them itself", async () => {
    const allow = async () => ({ permissionDecision: "allow", permissionDecisionReason: "it is harmless" });
    const { output } = await run([allow, async () => ({ modifiedArgs: { command: "rm" } })]);
    expect(output).toEqual({ modifiedArgs: { command: "rm" } });
    const both = await run([allow, async () => ({ modifiedArgs: { command: "rm" }, permissionDecision: "allow" })]);
    expect(both.output).toMatchObject({ modifiedArgs: { command: "rm" }, permissionDecision: "allow" });
    const asks = await run([async () => ({ permissionDecision: "ask" }), async () => ({ modifiedArgs: {} })]);
    expect(asks.output).toMatchObject({ permissionDecision: "ask" });
  });

  test("a denial stands, whatever a later one says", async () => {
    const { output } = await run([
      async () => ({ permissionDecision: "deny" }),
      async () => ({ permissionDecision: "allow" }),
    ]);
    expect(output?.permissionDecision).toBe("deny");
  });

  test("a denial stands with its own reason", async () => {
    const allow = async () => ({ permissionDecision: "allow", permissionDecisionReason: "it is safe" });
    const { output } = await run([
      async () => ({ permissionDecision: "deny", permissionDecisionReason: "no writes on Sunday" }),
      allow,
    ]);
    expect(output).toMatchObject({ permissionDecision: "deny", permissionDecisionReason: "no writes on Sunday" });
    const silent = await run([async () => ({ permissionDecision: "deny" }), allow]);
    expect(silent.output?.permissionDecisionReason).toBeUndefined();
  });
});

test("a hook is told which agent calls, in which session below which, and where the transcript is", async () => {
  using small = smallSession();
  const told: object[] = [];
  let written = 0;
  const transcript = { path: "/t/events.jsonl", write: async () => written++ };
  const hooks = new Hooks({ hosts: () => [{ invoke: async ({ input }) => void told.push(input) }], transcript });
  await hooks.run("preToolUse", calls, {
    caller: {
      session: small.child("kid"),
      agentName: "explore",
      agentDisplayName: "Explore",
      agentDescription: "looks",
      agentPathNames: ["finder"],
    },
    signal,
  });
  expect(told).toEqual([
    expect.objectContaining({
      sessionId: "kid",
      parentSessionId: "root",
      transcriptPath: "/t/events.jsonl",
      agentId: "kid",
      agentName: "explore",
      agentDisplayName: "Explore",
      agentDescription: "looks",
      agentPath: ["kid"],
      agentPathNames: ["finder"],
      toolName: "bash",
    }),
  ]);
  expect(written).toBe(1);
});
