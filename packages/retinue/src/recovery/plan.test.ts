import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { OpenCall } from "../session/open-call.ts";
import { type CallStep, callStep, type LeftTask, type Nature, recoveryPlan } from "./plan.ts";

const call = (more: Partial<OpenCall> = {}): OpenCall => ({
  id: "c",
  name: "tool",
  arguments: {},
  turnId: "0",
  interactionId: "i",
  isStarted: true,
  ...more,
});
const permission = (isDecided: boolean, isApproved = false): Partial<OpenCall> => ({
  permission: {
    requestId: "p",
    request: { kind: "custom-tool", toolName: "tool", toolDescription: "" },
    isDecided,
    isApproved,
  },
});

/** The rows of the table in docs/architecture.md. */
const CASES: readonly { row: string; call: OpenCall; nature: Nature }[] = [
  { row: "had not started", call: call({ isStarted: false }), nature: "effect" },
  { row: "waits for a permission", call: call(permission(false)), nature: "asks_first" },
  { row: "was denied its permission", call: call(permission(true)), nature: "effect" },
  { row: "had not asked for its permission yet", call: call(), nature: "asks_first" },
  {
    row: "a host tool that the host was asked for",
    call: call({ external: { requestId: "x", isCompleted: false } }),
    nature: "host",
  },
  { row: "a host tool that the host was not asked for yet", call: call(), nature: "host" },
  { row: "a tool that changes nothing", call: call(), nature: "repeatable" },
  { row: "`task`, which finds its agent by the id of the call", call: call({ name: "task" }), nature: "repeatable" },
  {
    row: "a call of an MCP tool whose task is on record, which finds it in the same way",
    call: call({ name: "jobs-worker" }),
    nature: "repeatable",
  },
  { row: "anything that may have had an effect", call: call(permission(true, true)), nature: "effect" },
];

const WORDS: Readonly<Record<CallStep, string>> = {
  run: "runs now",
  deny: "is denied",
  wait: "waits on, under the same request id",
  interrupt: "`interrupted`: the model reads that the outcome is unknown",
};

test("the table in docs/architecture.md says what becomes of each open call", () => {
  const rows = CASES.map(({ row, call, nature }) => {
    const cell = (continuePendingWork: boolean) => WORDS[callStep(call, { nature, continuePendingWork })];
    return `| ${row} | ${cell(true)} | ${cell(false)} |`;
  });
  const page = readFileSync(new URL("../../../../docs/architecture.md", import.meta.url), "utf8");
  expect(page).toContain(
    ["| the call | `continuePendingWork: true` | otherwise |", "|---|---|---|", ...rows].join("\n"),
  );
});

const task = (id: string, more: Partial<LeftTask> = {}): LeftTask => ({
  id,
  ownerId: "root",
  callId: `call-${id}`,
  mode: "background",
  status: "running",
  ...more,
});

function plan(
  tasks: LeftTask[],
  options: { continuePendingWork?: boolean; open?: string[]; askers?: string[]; hasNotices?: boolean },
) {
  const { continuePendingWork = false, open = [], askers = [], hasNotices = false } = options;
  const calls = new Map(open.map((id) => [id, call({ id })]));
  const asks = askers.map((sessionId) => ({ requestId: `ask-${sessionId}`, sessionId }));
  return recoveryPlan({ rootId: "root", calls, tasks, asks, hasNotices }, { continuePendingWork });
}

describe("tasks", () => {
  test("in the background go on, whether pending work is continued or not", () => {
    for (const continuePendingWork of [true, false])
      expect(plan([task("a")], { continuePendingWork })).toMatchObject({ continued: ["a"], lost: [] });
  });

  test("that a call waits for go on with that call, or are lost with it", () => {
    const sync = [task("a", { mode: "sync" })];
    expect(plan(sync, { continuePendingWork: true, open: ["call-a"] })).toMatchObject({ continued: ["a"], lost: [] });
    expect(plan(sync, { continuePendingWork: true })).toMatchObject({ continued: [], lost: ["a"] });
    expect(plan(sync, { continuePendingWork: false, open: ["call-a"] })).toMatchObject({ continued: [], lost: ["a"] });
  });

  test("that have ended or are idle are left as they are", () => {
    const still = [task("a", { status: "completed" }), task("b", { status: "idle" })];
    expect(plan(still, {})).toMatchObject({ continued: [], lost: [] });
  });

  test("in the background that wait for the host are lost with all below them when pending work is not continued", () => {
    const tasks = [task("a"), task("b", { ownerId: "a" }), task("c", { ownerId: "b" }), task("d")];
    const { continued, lost, expected, dropped } = plan(tasks, { askers: ["b", "c"] });
    expect({ continued, lost }).toEqual({ continued: ["a", "d"], lost: ["b"] });
    expect([expected.length, dropped.length]).toEqual([0, 2]);
    expect(plan(tasks, { askers: ["b", "c"], continuePendingWork: true })).toMatchObject({ lost: [], dropped: [] });
  });

  test("of sub-agents follow their owner", () => {
    expect(plan([task("a"), task("b", { ownerId: "a" })], {})).toMatchObject({ continued: ["a"], lost: [] });
  });
});

describe("asks", () => {
  test("of the main agent are expected only when pending work is continued", () => {
    expect(plan([], { askers: ["root"], continuePendingWork: true }).expected).toHaveLength(1);
    expect(plan([], { askers: ["root"] }).dropped).toHaveLength(1);
  });

  test("of an agent that goes on are expected, and those of a lost agent and of all below it are dropped", () => {
    const tasks = [task("a"), task("b", { mode: "sync" }), task("c", { ownerId: "b" })];
    const { expected, dropped } = plan(tasks, { askers: ["a", "b", "c"], continuePendingWork: true });
    expect(expected.map(({ sessionId }) => sessionId)).toEqual(["a"]);
    expect(dropped.map(({ sessionId }) => sessionId)).toEqual(["b", "c"]);
  });
});

test("the main agent goes on, is woken by its notices, or rests", () => {
  expect(plan([], { continuePendingWork: true }).main).toBe("continue");
  expect(plan([], { hasNotices: true }).main).toBe("wake");
  expect(plan([], {}).main).toBe("rest");
});
