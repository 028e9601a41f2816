/** Over random trees of agents: no node ever runs a call outside its effective tools, whatever its model asks for. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { brokenLaws } from "./checker.ts";
import type { LawEvent } from "./law-event.ts";
import { type Move, type Plan, promptOf } from "./plan.ts";
import { World } from "./world.ts";

/** Small and harmless tools of every source. Every node has `task` too: without it, it cannot have children. */
const TOOLS = ["view", "glob", "list_agents", "sql", "probe", "guarded_probe"] as const;
type ToolName = (typeof TOOLS)[number];

interface Node {
  /** Null: all. */
  tools: ToolName[] | null;
  ceiling: "own" | "session";
  hasTask: boolean;
  calls: ToolName[];
  mode: "sync" | "background";
  below: Node[];
}

interface Case {
  root: Pick<Node, "calls" | "below">;
  excluded: ToolName[];
  available: ToolName[] | undefined;
  hidden: ToolName[];
  denied: ToolName[];
}

const tools = fc.subarray([...TOOLS]);
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.record({
    tools: fc.option(tools, { nil: null }),
    ceiling: fc.constantFrom("own", "session"),
    hasTask: fc.boolean(),
    calls: fc.subarray([...TOOLS], { minLength: 1 }),
    mode: fc.constantFrom("sync", "background"),
    below: fc.oneof(
      { maxDepth: 3, depthIdentifier: "node" },
      fc.constant<Node[]>([]),
      fc.array(tie("node"), { maxLength: 2, depthIdentifier: "node" }),
    ),
  }),
}));
const cases: fc.Arbitrary<Case> = fc.record({
  root: fc.record({ calls: fc.constant([...TOOLS]), below: fc.array(node, { minLength: 1, maxLength: 2 }) }),
  excluded: fc.subarray([...TOOLS], { maxLength: 2 }),
  available: fc.option(fc.subarray([...TOOLS], { minLength: 3 }), { nil: undefined }),
  hidden: fc.subarray([...TOOLS], { maxLength: 2 }),
  denied: fc.subarray([...TOOLS], { maxLength: 1 }),
});

/** What a node may call, computed here without the product's code. */
function mayCall(
  tool: string,
  { excluded, available, hidden, denied }: Case,
  above: readonly Node[],
  own: Node | undefined,
): boolean {
  const has = (list: readonly string[] | null, hasTask: boolean) =>
    list === null || list.includes(tool) || (tool === "task" && hasTask);
  if (excluded.some((each) => each === tool) || denied.some((each) => each === tool)) return false;
  const isHost = tool === "probe" || tool === "guarded_probe"; // `availableTools` never removes a host tool, only an exclusion does.
  if (available && tool !== "task" && !isHost && !available.some((each) => each === tool)) return false;
  if (above.some((node) => node.ceiling === "own" && !has(node.tools, node.hasTask))) return false;
  const isHidden = hidden.some((each) => each === tool);
  if (own?.tools === null) return !isHidden; // An agent without a list does not name what is hidden.
  return own ? has(own.tools, own.hasTask) : !isHidden;
}

const ARGUMENTS: Record<ToolName, Record<string, unknown>> = {
  view: { path: "." },
  glob: { pattern: "*" },
  list_agents: {},
  sql: { description: "look", query: "SELECT 1" },
  probe: { what: "x" },
  guarded_probe: { what: "x" },
};

class Drawn {
  readonly agents: Record<string, unknown>[] = [];
  readonly nodes = new Map<string, { node: Node; above: Node[] }>();

  plan(calls: readonly ToolName[], below: readonly Node[], above: Node[]): Plan {
    const moves: Move[] = calls.map((call) => ({ call, args: ARGUMENTS[call] }));
    const tasks: Move[] = below.map((node) => this.#task(node, above));
    return { turns: [{ moves }, ...(tasks.length > 0 ? [{ moves: tasks }] : [])], says: "done" };
  }

  #task(node: Node, above: Node[]): Move {
    const name = `agent${this.agents.length}`;
    const { ceiling, hasTask } = node;
    this.agents.push({
      name,
      description: name,
      prompt: name,
      ceiling,
      nestedBackground: true,
      tools: node.tools === null ? null : [...node.tools, ...(hasTask ? ["task"] : [])],
    });
    this.nodes.set(name, { node, above });
    return { task: this.plan(node.calls, node.below, [...above, node]), name, agent: name, mode: node.mode };
  }
}

test("no node of a random tree runs a call outside its effective tools", async () => {
  await using world = new World({ maxDepth: 4 });
  const seen = { ran: 0, refused: 0 };
  const property = fc.asyncProperty(cases, async (drawn) => {
    const tree = new Drawn();
    const plan = tree.plan(drawn.root.calls, drawn.root.below, []);
    const client = world.connect({ attached: "sdk" });
    const sessionId = await world.createSession(client, {
      customAgents: tree.agents,
      excludedTools: drawn.excluded,
      ...(drawn.available ? { availableTools: [...drawn.available, "task"] } : {}),
      defaultAgent: { excludedTools: drawn.hidden },
    });
    await client.call("session.permissions.configure", {
      sessionId,
      rules: { denied: drawn.denied.map((kind) => ({ kind, argument: null })) },
    });
    await client.call("session.send", { sessionId, prompt: promptOf(plan) });
    await client.until("session.idle");
    const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
    const names = new Map(
      events
        .filter(({ type }) => type === "subagent.started")
        .map(({ agentId, data }) => [agentId, data.pathNames?.at(-1) ?? ""]),
    );
    for (const start of events.filter(({ type }) => type === "tool.execution_start")) {
      const { node, above = [] } = tree.nodes.get(names.get(start.agentId) ?? "") ?? {};
      const name = start.data.toolName ?? "";
      const end = events.find(
        ({ type, agentId, data }) =>
          type === "tool.execution_complete" && agentId === start.agentId && data.toolCallId === start.data.toolCallId,
      );
      const ran = end?.data.success === true;
      if (!mayCall(name, drawn, above, node))
        expect(ran, `${names.get(start.agentId) ?? "main"} ran ${name}`).toBe(false);
      seen[ran ? "ran" : "refused"]++;
    }
    // Nor did the host see a call that was not allowed.
    expect(brokenLaws(events, { clients: [client], maxDepth: 4 })).toEqual([]);
    await client.call("session.destroy", { sessionId });
    client.vanish();
  });
  await fc.assert(property, { numRuns: 60, endOnFailure: false });
  expect(seen.ran).toBeGreaterThan(100);
  expect(seen.refused).toBeGreaterThan(100);
});
