/**
 * Hooks that never answer, of every kind, from two clients at once, in the main agent and in sub-agents: none of them delays an abort, a
 * cancellation or the end of a session by more than two seconds. The time is the timers' own, moved by the test.
 */
import { setImmediate as realImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { HOOKS, type HookType } from "@retinue/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { brokenLaws, leftBehind } from "./checker.ts";
import type { LawEvent } from "./law-event.ts";
import { type Move, type Plan, promptOf } from "./plan.ts";
import { World } from "./world.ts";

const BOUND_MS = 2_000;
const LEAD = { name: "lead", description: "Leads others.", prompt: "Lead.", nestedBackground: true };
const SMALL_SERVER = {
  small: {
    type: "local",
    command: process.execPath,
    args: [fileURLToPath(new URL("../support/mcp-server.mjs", import.meta.url))],
    tools: ["*"],
    trustReadOnlyHint: true,
  },
};

const CALLS: Partial<Record<HookType, Move>> = {
  postToolUseFailure: { call: "view", args: { path: "/nowhere/at/all" } },
  preMcpToolCall: { call: "small-add", args: { a: 1, b: 2 } },
};
const OF_MAIN: readonly HookType[] = ["sessionStart", "agentStop", "sessionEnd"];
const OF_SUBAGENTS: readonly HookType[] = ["subagentStart", "subagentStop"];

/** Nobody waits for it, whatever happens. */
const UNAWAITED: readonly HookType[] = ["notification"];

const places = (Object.keys(HOOKS) as HookType[])
  .filter((hook) => !UNAWAITED.includes(hook))
  .flatMap((hook) => [
    ...(OF_SUBAGENTS.includes(hook) ? [] : [{ hook, place: "the main agent" as const }]),
    ...(OF_MAIN.includes(hook) ? [] : [{ hook, place: "an agent three levels below" as const }]),
  ]);
const CASES = places.flatMap(({ hook, place }) =>
  (["abort", "cancel", "shutdown"] as const)
    .filter((what) => what !== "cancel" || place !== "the main agent")
    .map((what) => ({ hook, place, what })),
);

function planFor(hook: HookType, place: string): Plan {
  let plan: Plan = {
    turns: hook === "errorOccurred" ? [{ fails: "broken" }] : [{ moves: [CALLS[hook] ?? { call: "probe" }] }],
    says: "done",
  };
  if (place === "the main agent") return plan;
  for (const name of ["third", "second", "first"])
    plan = { turns: [{ moves: [{ task: plan, name, agent: "lead" }] }], says: `${name} done` };
  return plan;
}

afterEach(() => void vi.useRealTimers());

/** Whether the work is over after this much time, and however many steps that need none. Timers that it starts stand still otherwise. */
async function isOverWithin(ms: number, begin: () => Promise<unknown>): Promise<boolean> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const work = begin();
  let isOver = false;
  const settled = () => {
    isOver = true;
  };
  work.then(settled, settled);
  const steps = async (most: number) => {
    for (let step = 0; step < most && !isOver; step++) await realImmediate();
  };
  await steps(300);
  await vi.advanceTimersByTimeAsync(ms);
  await steps(100_000); // The process of an MCP server takes its time to end.
  vi.useRealTimers();
  return isOver;
}

test.each(CASES)("a $hook hook of $place that hangs does not delay $what", async ({ hook, place, what }) => {
  const isBelow = place !== "the main agent";
  await using world = new World();
  const onHook = ({ hookType, input }: { hookType: string; input: Record<string, unknown> }) =>
    hookType === hook && (input.agentId !== undefined) === isBelow ? new Promise(() => undefined) : undefined;
  const client = world.connect({ attached: "sdk", onHook });
  const second = world.connect({ attached: "nobody", onHook });
  const config = {
    customAgents: [LEAD],
    mcpServers: hook === "preMcpToolCall" ? SMALL_SERVER : undefined,
    infiniteSessions: hook === "preCompact" ? { backgroundCompactionThreshold: 0.000001 } : undefined,
  };
  const sessionId = await world.createSession(client, config);
  await second.call("connect", {});
  await second.call("session.resume", { sessionId, hooks: true });
  await client.call("session.send", { sessionId, prompt: promptOf(planFor(hook, place)) });
  await client.when(
    () => client.hooks.some(({ hookType, input }) => hookType === hook && (input.agentId !== undefined) === isBelow),
    hook,
  );
  const [top] = await client.tasks(sessionId);
  const end = () =>
    what === "cancel"
      ? client.call("session.tasks.cancel", { sessionId, id: top?.id })
      : client.call(what === "abort" ? "session.abort" : "session.shutdown", { sessionId });
  expect(await isOverWithin(BOUND_MS, end)).toBe(true);
  if (what === "shutdown") return;
  await client.until("session.idle");
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  expect([...brokenLaws(events, { clients: [client, second], maxDepth: 6 }), ...leftBehind(world.runtime)]).toEqual([]);
});

test("stop hooks that hang, of every agent of a chain, delay a cancellation by one bound and not by one for each", async () => {
  await using world = new World();
  const onHook = ({ hookType }: { hookType: string }) =>
    hookType === "subagentStop" ? new Promise(() => undefined) : undefined;
  const holds = ({ data }: LawEvent) => data.toolName === "probe";
  const client = world.connect({ attached: "sdk", onHook, holds });
  const sessionId = await world.createSession(client, { customAgents: [LEAD] });
  await client.call("session.send", { sessionId, prompt: promptOf(planFor("preToolUse", "below")) });
  await client.when(() => client.held.length > 0, "the held call");
  expect(await isOverWithin(BOUND_MS, () => client.call("session.abort", { sessionId }))).toBe(true);
  expect(client.hooks.filter(({ hookType }) => hookType === "subagentStop").length).toBeGreaterThan(0);
});
