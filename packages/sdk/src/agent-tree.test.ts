import { readFileSync } from "node:fs";
import type { EventData, EventType, SessionEvent } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { type AgentTree, emptyTree, mainNode, openAsks, totalUsage, waitReason, walk } from "./agent-node.ts";
import { foldTree, treeOf } from "./agent-tree.ts";
import { renderTree } from "./tree-text.ts";

/** Events as a runtime sent them. */
function recorded(name: string): SessionEvent[] {
  return JSON.parse(readFileSync(new URL(`./fixtures/${name}.json`, import.meta.url), "utf8"));
}

let clock = 0;
function event<Type extends EventType>(type: Type, data: EventData<Type>, agentId?: string): SessionEvent {
  clock += 1000;
  const timestamp = new Date(clock).toISOString();
  return { type, data, id: String(clock), timestamp, parentId: null, ...(agentId ? { agentId } : {}) } as SessionEvent;
}
const started = (agentId: string, more: Partial<EventData<"subagent.started">> = {}) =>
  event(
    "subagent.started",
    { toolCallId: `call-${agentId}`, agentName: agentId, agentDisplayName: agentId, agentDescription: "", ...more },
    agentId,
  );
const ended = (agentId: string, more: Partial<EventData<"subagent.completed">> = {}) =>
  event(
    "subagent.completed",
    { toolCallId: `call-${agentId}`, agentName: agentId, agentDisplayName: agentId, ...more },
    agentId,
  );
const shape = (tree: AgentTree) => walk(tree).map(({ path, status }) => `/${path.join("/")} ${status}`);

describe("recorded sessions", () => {
  test("nested and parallel sub-agents have their place, and what they reached survives the session's end", () => {
    expect(shape(treeOf(recorded("depth-parallel")))).toEqual([
      "/ idle",
      "/Research Agent completed",
      "/Research Agent completed",
      "/Research Agent completed",
      "/n1 completed",
      "/n1/n2 completed",
      "/n1/n2/n3 completed",
      "/n1/n2/n3/n4 completed",
      "/o completed",
      "/o/i completed",
    ]);
  });

  test("a sub-agent that is sent a second message runs again and ends again", () => {
    const events = recorded("multi-turn");
    const [id = ""] = events.flatMap(({ type, agentId }) => (type === "subagent.started" && agentId ? [agentId] : []));
    const statuses: string[] = [];
    events.reduce((tree, next) => {
      const folded = foldTree(tree, next);
      const status = folded.nodes.get(id)?.status;
      if (status && status !== statuses.at(-1)) statuses.push(status);
      return folded;
    }, emptyTree());
    expect(statuses.filter((status) => status === "running")).toHaveLength(2);
    expect(statuses.at(-1)).toBe("completed");
  });

  test("failures keep their reason, and usage counts for the agent that caused it", () => {
    const failed = walk(treeOf(recorded("failures"))).filter(({ status }) => status === "failed");
    expect(failed.map(({ error }) => error)).toEqual(["400 sub model refused", "400 sub model refused"]);
    const tree = treeOf(recorded("multi-turn"));
    const [main, child] = walk(tree);
    expect([main?.usage.inputTokens, child?.usage.inputTokens]).toEqual([800, 200]);
    expect(totalUsage(tree).inputTokens).toBe(1000);
  });

  test("folding in pieces is folding at once", () => {
    const events = recorded("depth-parallel");
    for (const at of [0, 17, 60, events.length]) {
      expect(walk(treeOf(events.slice(at), treeOf(events.slice(0, at))))).toEqual(walk(treeOf(events)));
    }
  });
});

describe("order", () => {
  test("an agent that is heard before its start gets its place when the start comes", () => {
    const early = treeOf([
      event("tool.execution_start", { toolCallId: "t", toolName: "grep" }, "grandchild"),
      started("grandchild", { parentId: "child" }),
    ]);
    expect(shape(early)).toEqual(["/ idle", "/agent running", "/agent/grandchild running"]);
    const tree = foldTree(early, started("child"));
    expect(shape(tree)).toEqual(["/ idle", "/child running", "/child/grandchild running"]);
    expect(tree.nodes.get("grandchild")).toMatchObject({ depth: 2, calls: [{ name: "grep" }] });
  });

  test("a second start is the next run: it runs again, and a cancelled one is cancelled, not completed", () => {
    const prompt = event("user.message", { content: "more" }, "a");
    const turn = [
      event("assistant.turn_start", { turnId: "0" }, "a"),
      event("assistant.turn_end", { turnId: "0" }, "a"),
    ];
    const first = treeOf([started("a"), ended("a")]);
    const second = treeOf([started("a"), prompt, ...turn], first);
    expect(shape(second)).toEqual(["/ idle", "/a running"]);
    expect(shape(treeOf([ended("a", { cancelled: true })], second))).toEqual(["/ idle", "/a cancelled"]);
  });

  test("an end that comes before its start stands", () => {
    const start = started("a");
    const tree = treeOf([event("user.message", { content: "p" }, "a"), ended("a"), start]);
    expect(tree.nodes.get("a")?.status).toBe("completed");
  });

  test("turns of a sub-agent that are told after its end do not bring it back", () => {
    const late = [
      event("assistant.turn_start", { turnId: "1" }, "a"),
      event("assistant.message", { content: "x", messageId: "m" }, "a"),
    ];
    expect(treeOf([started("a"), ended("a"), ...late]).nodes.get("a")).toMatchObject({
      status: "completed",
      latest: "x",
    });
  });

  test("an end without a start, and an event of a later version, change nothing", () => {
    const future = { ...event("session.idle", {}), type: "agent.teleported" } as unknown as SessionEvent;
    const empty = emptyTree();
    expect(treeOf([future], empty)).toBe(empty);
    expect(shape(treeOf([ended("ghost")]))).toEqual(["/ idle"]);
  });

  test("a nested agent without a parent id is placed under the agent that made the call", () => {
    const spawn = event("tool.execution_start", { toolCallId: "call-b", toolName: "task" }, "a");
    expect(shape(treeOf([started("a"), spawn, started("b")]))).toEqual(["/ idle", "/a running", "/a/b running"]);
  });
});

describe("asks", () => {
  const permission = (requestId: string, toolCallId: string, agentId?: string) =>
    event("permission.requested", {
      requestId,
      permissionRequest: { kind: "read", toolCallId, path: "/etc/hosts", intention: "" },
      ...(agentId ? { agentId } : {}),
    });

  test("an ask belongs to the agent that its event names", () => {
    const tree = treeOf([started("a"), permission("r", "t", "a")]);
    expect(openAsks(tree).map(({ node, ask }) => [node.id, ask.kind, ask.text])).toEqual([
      ["a", "permission", "read /etc/hosts"],
    ]);
  });

  test("an ask that names only its call belongs to the caller, whichever comes first", () => {
    const call = event("tool.execution_start", { toolCallId: "t", toolName: "view" }, "a");
    for (const events of [
      [started("a"), call, permission("r", "t")],
      [started("a"), permission("r", "t"), call],
    ]) {
      expect(openAsks(treeOf(events)).map(({ node }) => node.id)).toEqual(["a"]);
    }
  });

  test.each(["permission.completed", "external_tool.completed", "user_input.completed"] as const)(
    "%s closes it",
    (type) => {
      const asked = [started("a"), permission("r", "t", "a")];
      const data = { requestId: "r", result: { kind: "approved" as const } };
      expect(openAsks(treeOf([...asked, event(type, data)]))).toEqual([]);
      expect(openAsks(treeOf([...asked, event(type, { ...data, requestId: "other" })]))).toHaveLength(1);
    },
  );

  test("an agent waits for an ask first, then for its sub-agent, then for its tool, else for nothing", () => {
    const spawn = event("tool.execution_start", { toolCallId: "call-b", toolName: "task" }, "a");
    let tree = treeOf([started("a"), event("user.message", { content: "p" }, "a")]);
    const reason = () => {
      const node = tree.nodes.get("a");
      return node && waitReason(tree, node)?.kind;
    };
    expect(reason()).toBeUndefined();
    tree = foldTree(tree, spawn);
    expect(reason()).toBe("tool");
    tree = foldTree(tree, started("b", { parentId: "a" }));
    expect(reason()).toBe("sub-agent");
    tree = foldTree(tree, permission("r", "x", "a"));
    expect(reason()).toBe("permission");
    tree = foldTree(tree, ended("a"));
    expect(reason()).toBeUndefined();
  });

  test("an abort and an idle leave no call and no ask of the main agent open", () => {
    const busy = [event("tool.execution_start", { toolCallId: "t", toolName: "bash" }), permission("r", "t")];
    for (const last of [event("abort", { reason: "user_initiated" }), event("session.idle", {})]) {
      expect(mainNode(treeOf([...busy, last]))).toMatchObject({ calls: [], asks: [] });
    }
  });

  test("a shutdown ends what still ran", () => {
    const shutdown = event("session.shutdown", {
      shutdownType: "routine",
      sessionStartTime: 0,
      totalApiDurationMs: 0,
      codeChanges: { linesAdded: 0, linesRemoved: 0, filesModified: [] },
      modelMetrics: {},
    });
    expect(shape(treeOf([started("a"), started("b"), ended("b"), shutdown]))).toEqual([
      "/ idle",
      "/a cancelled",
      "/b completed",
    ]);
  });
});

describe("text", () => {
  const tree = () => {
    clock = 0;
    return treeOf([
      event("session.start", {
        sessionId: "s",
        version: 1,
        producer: "p",
        copilotVersion: "",
        startTime: "",
      }),
      event("assistant.turn_start", { turnId: "0" }),
      event("assistant.usage", { model: "m", inputTokens: 12_345, outputTokens: 67 }),
      event("tool.execution_start", { toolCallId: "call-a", toolName: "task" }),
      started("a", { agentDisplayName: "Reader" }),
      event("tool.execution_start", { toolCallId: "t", toolName: "bash" }, "a"),
      event("permission.requested", {
        requestId: "r",
        permissionRequest: { kind: "read", toolCallId: "t", path: "/x\n\u001b[31m", intention: "" },
      }),
      started("b", { executionMode: "background" }),
      event("subagent.failed", { toolCallId: "call-b", agentName: "b", agentDisplayName: "b", error: "no model" }, "b"),
    ]);
  };

  test("one line per agent, with what it waits for, times and its own usage", () => {
    expect(renderTree(tree(), { now: 20_000 })).toBe(
      [
        "● main  waits for sub-agent: Reader · 19.0s · 1 turn · 1 call · 12.3k in, 67 out",
        "├─ ◌ Reader (a)  waits for permission: read /x⏎‹U+001B›[31m · 15.0s · 1 call",
        "└─ ✗ b &  failed: no model · 1.0s",
      ].join("\n"),
    );
  });

  test("lines are cut to a width, and colours are only added", () => {
    const plain = renderTree(tree(), { now: 20_000, width: 40 });
    expect(plain.split("\n").every((line) => line.length <= 40)).toBe(true);
    const colored = renderTree(tree(), { now: 20_000, width: 40, color: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
    expect(colored.replaceAll(/\u001b\[\d+m/g, "")).toBe(plain);
    expect(colored).not.toBe(plain);
  });
});

test("two tasks of one agent are told apart by the names of the tasks", () => {
  const tree = [
    started("a", { agentName: "timer", agentDisplayName: "The timer", taskName: "tests" }),
    started("b", { agentName: "timer", agentDisplayName: "The timer", taskName: "builds" }),
  ].reduce(foldTree, emptyTree());
  expect(renderTree(tree, { now: 0 })).toMatch(/tests \(The timer\)[\s\S]*builds \(The timer\)/);
});

test("an agent whose turn is over waits for its background agents, and does not just run", () => {
  const events = [
    event("user.message", { content: "Go" }),
    event("assistant.turn_start", { turnId: "0" }),
    started("a", { executionMode: "background" }),
    started("b", { executionMode: "background" }),
  ];
  const main = (tree: AgentTree) => waitReason(tree, mainNode(tree));
  const during = treeOf(events);
  expect(main(during)).toBeUndefined();
  const after = foldTree(during, event("assistant.turn_end", { turnId: "0" }));
  expect(main(after)).toMatchObject({ kind: "sub-agent", text: "a, b" });
  expect(main(foldTree(after, ended("a")))).toMatchObject({ text: "b" });
});

test("agents above one that starts have their names, also when they started before anybody listened", () => {
  const path = { path: ["f", "lead", "c"], pathNames: ["fleet", "walls", "bricks"], parentId: "lead" };
  const tree = foldTree(emptyTree(), started("c", { agentDisplayName: "Mason", taskName: "bricks", ...path }));
  const found = walk(tree).find(({ id }) => id === "c");
  expect(found?.path).toEqual(["fleet", "walls", "bricks"]);
  expect(walk(tree).map(({ id }) => id)).toEqual(["main", "f", "lead", "c"]);
});

test("an agent whose work was seen before anybody said its name has it when it ends, or when one below it starts", () => {
  const turn = (agentId: string) => event("assistant.turn_start", { turnId: "0" }, agentId);
  const early = treeOf([turn("f"), turn("a")]);
  expect(shape(early)).toEqual(["/ idle", "/agent running", "/agent running"]);
  const below = started("b", { path: ["f", "b"], pathNames: ["fleet", "walls"], parentId: "f", taskName: "walls" });
  const late = treeOf([below, ended("a", { agentDisplayName: "Mason", taskName: "roof" })], early);
  expect(shape(late)).toEqual(["/ idle", "/fleet running", "/fleet/walls running", "/roof completed"]);
});
