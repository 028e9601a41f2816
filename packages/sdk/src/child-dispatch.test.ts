/** Every row of the tables for child sessions, on both protocol versions, against a runtime in memory. */
import { describe, expect, test } from "vitest";
import type { SubagentInstance } from "./children.ts";
import { RetinueClient } from "./client.ts";
import type { SessionConfig } from "./session-config.ts";
import { FakeRuntime } from "./testing/index.ts";
import { defineTool } from "./tools.ts";

async function world(protocol: 2 | 3, config: SessionConfig = {}) {
  const runtime = new FakeRuntime({ protocol });
  const errors: unknown[] = [];
  const client = new RetinueClient({ connection: runtime.connection(), onError: (error) => errors.push(error) });
  const calls: string[] = [];
  const tool = (name: string) =>
    defineTool(name, {
      handler: (_args, { childSessionId, agentName }) => {
        calls.push(name);
        return `${name} for ${agentName ?? "main"} in ${childSessionId ?? "main"}`;
      },
    });
  const session = await client.createSession({
    sessionId: "root",
    tools: [tool("save"), tool("load")],
    customAgents: [
      { name: "unset", prompt: "p" },
      { name: "null", prompt: "p", tools: null },
      { name: "none", prompt: "p", tools: [] },
      { name: "saver", prompt: "p", tools: ["save"] },
      { name: "star", prompt: "p", tools: ["*"] },
    ],
    onPermissionRequest: () => ({ kind: "approve-once" }),
    onUserInputRequest: ({ question }, { childSessionId }) => ({
      answer: `${question} ${childSessionId}`,
      wasFreeform: true,
    }),
    hooks: { onPreToolUse: (_input, { childSessionId }) => ({ additionalContext: `seen ${childSessionId}` }) },
    ...config,
  });
  return { runtime, client, session, calls, errors, [Symbol.asyncDispose]: async () => void (await client.stop()) };
}

/** What the model would read. */
function textOf(answer: Record<string, unknown>): unknown {
  const { result, error } = answer;
  if (typeof result === "object" && result !== null && "textResultForLlm" in result) return result.textResultForLlm;
  return result ?? error;
}

const UNSUPPORTED = (name: string) => `Tool '${name}' is not supported by this client instance.`;

/** The error text that a request gets, or that the model reads, for an id that nobody answers for. */
async function refusal(answer: Promise<Record<string, unknown>>): Promise<unknown> {
  return answer.then(textOf, (error: Error) => error.message);
}

describe.each([2, 3] as const)("protocol %i", (protocol) => {
  describe("allowlist", () => {
    test.each([
      ["unset", "save", true],
      ["unset", "load", true],
      ["null", "save", true],
      ["null", "load", true],
      ["none", "save", false],
      ["none", "load", false],
      ["saver", "save", true],
      ["saver", "load", false],
      ["star", "load", true],
      ["explore", "load", true],
    ])("an agent with tools %s that calls %s is allowed: %s", async (agentName, toolName, isAllowed) => {
      await using app = await world(protocol);
      const from = app.runtime.startSubagent("root", { agentName, childSessionId: "child" });
      const answer = await app.runtime.callTool("root", { toolName, from });
      expect(textOf(answer)).toBe(isAllowed ? `${toolName} for ${agentName} in child` : UNSUPPORTED(toolName));
      expect(app.calls).toEqual(isAllowed ? [toolName] : []);
      expect(app.client.isToolAllowedForChild("child", toolName)).toBe(isAllowed);
    });

    test("the main agent is not bound by any agent's list", async () => {
      await using app = await world(protocol);
      expect(textOf(await app.runtime.callTool("root", { toolName: "load" }))).toBe("load for main in main");
    });

    test("permission, hook and question of a child whose agent may use no tool are still answered", async () => {
      await using app = await world(protocol);
      const from = app.runtime.startSubagent("root", { agentName: "none", childSessionId: "child" });
      const request = { kind: "custom-tool", toolName: "load", toolCallId: "t" };
      const { result } = await app.runtime.askPermission("root", request, from);
      expect(result).toMatchObject({ kind: protocol === 2 ? "approved" : "approve-once" });
      expect(await app.runtime.invokeHook("child", "preToolUse", { toolName: "load", toolArgs: {} })).toEqual({
        output: { additionalContext: "seen child" },
      });
      expect(await app.runtime.askUser("child", "well?")).toEqual({ answer: "well? child", wasFreeform: true });
    });

    test("two sessions with agents of one name keep their own lists", async () => {
      await using app = await world(protocol);
      const handler = () => "other";
      await app.client.createSession({
        sessionId: "second",
        tools: [defineTool("save", { handler }), defineTool("load", { handler })],
        customAgents: [{ name: "saver", prompt: "p", tools: ["load"] }],
      });
      const first = app.runtime.startSubagent("root", { agentName: "saver" });
      const second = app.runtime.startSubagent("second", { agentName: "saver" });
      expect(textOf(await app.runtime.callTool("root", { toolName: "load", from: first }))).toBe(UNSUPPORTED("load"));
      expect(textOf(await app.runtime.callTool("second", { toolName: "load", from: second }))).toBe("other");
    });
  });

  describe("resolution", () => {
    test("a session resolves to itself, a child to its parent, anything else to an error", async () => {
      await using app = await world(protocol);
      app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "child" });
      await app.client.ping();
      expect(app.client.resolveSession("root")).toMatchObject({ session: { sessionId: "root" }, isChild: false });
      expect(app.client.resolveSession("child")).toMatchObject({ session: { sessionId: "root" }, isChild: true });
      expect(() => app.client.resolveSession("nobody")).toThrow("unknown session nobody");
    });

    test("`subagent.started` fills the three maps", async () => {
      await using app = await world(protocol);
      app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "child", toolCallId: "call" });
      await app.client.ping();
      expect([...app.client.childToParent]).toEqual([["child", "root"]]);
      expect([...app.client.childToAgent]).toEqual([["child", "saver"]]);
      const instance = app.client.subagentInstances.get("root")?.get("call");
      expect(instance).toEqual({
        agentName: "saver",
        toolCallId: "call",
        childSessionId: "child",
        startedAt: new Date(app.runtime.session("root").stored.at(-1)?.timestamp ?? ""),
      });
    });

    test("a sub-agent of a sub-agent resolves to the session at the top, under its own agent's list", async () => {
      await using app = await world(protocol);
      const child = app.runtime.startSubagent("root", { agentName: "none", childSessionId: "child" });
      const grandchild = app.runtime.startSubagent("root", {
        agentName: "saver",
        childSessionId: "grandchild",
        parentId: child.childSessionId,
      });
      expect(textOf(await app.runtime.callTool("root", { toolName: "save", from: grandchild }))).toBe(
        "save for saver in grandchild",
      );
      expect(textOf(await app.runtime.callTool("root", { toolName: "load", from: grandchild }))).toBe(
        UNSUPPORTED("load"),
      );
      expect(app.client.childToParent.get("grandchild")).toBe("root");
    });

    test("events that a runtime sends under the child's own id reach the top as the child's", async () => {
      await using app = await world(protocol);
      app.runtime.startSubagent("root", { agentName: "none", childSessionId: "child" });
      await app.client.ping();
      const seen: (string | undefined)[] = [];
      app.session.on((event) => seen.push(event.agentId));
      app.runtime.startSubagent("child", { agentName: "saver", childSessionId: "grandchild" });
      app.runtime.emit("child", "session.idle", {});
      await app.client.ping();
      expect(app.client.childToParent.get("grandchild")).toBe("root");
      expect(seen).toEqual(["grandchild", "child"]);
    });
  });

  describe("errors", () => {
    test("an id that is neither session nor child is an unknown session, at once", async () => {
      await using app = await world(protocol);
      const stranger = { sessionId: "root", childSessionId: "stranger" };
      expect(await refusal(app.runtime.callTool("root", { toolName: "save", from: stranger }))).toBe(
        "unknown session stranger",
      );
      expect(await refusal(app.runtime.invokeHook("stranger", "preToolUse"))).toBe("unknown session stranger");
      expect(await refusal(app.runtime.askUser("stranger", "?"))).toBe("unknown session stranger");
      if (protocol === 2) {
        expect(await refusal(app.runtime.request("permission.request", { sessionId: "stranger" }))).toBe(
          "unknown session stranger",
        );
      }
      expect(app.calls).toEqual([]);
    });

    test("a request that comes before its `subagent.started` is refused, and one after it is served", async () => {
      await using app = await world(protocol);
      const early = { sessionId: "root", childSessionId: "child" };
      expect(await refusal(app.runtime.callTool("root", { toolName: "save", from: early }))).toBe(
        "unknown session child",
      );
      const from = app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "child" });
      expect(textOf(await app.runtime.callTool("root", { toolName: "save", from }))).toBe("save for saver in child");
    });

    test("while its parent is being deleted a child's parent is not found", async () => {
      await using app = await world(protocol);
      app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "child" });
      await app.client.ping();
      let seen: unknown;
      app.runtime.handle("session.delete", async () => {
        seen = await refusal(app.runtime.invokeHook("child", "preToolUse"));
        return { success: true };
      });
      await app.client.deleteSession("root");
      expect(seen).toBe("parent session root for child child not found");
    });

    test("a denied tool never says `unknown session`, and a tool that is not there says the same", async () => {
      await using app = await world(protocol);
      const from = app.runtime.startSubagent("root", { agentName: "saver" });
      const denied = await app.runtime.callTool("root", { toolName: "load", from });
      expect(denied).toMatchObject({ result: { textResultForLlm: UNSUPPORTED("load"), resultType: "failure" } });
      if (protocol === 2) {
        const absent = await app.runtime.callTool("root", { toolName: "absent" });
        expect(absent).toMatchObject({ result: { textResultForLlm: UNSUPPORTED("absent"), resultType: "failure" } });
      }
    });
  });

  describe("cleanup", () => {
    const sizes = ({ client }: { client: RetinueClient }) => [
      client.childToParent.size,
      client.childToAgent.size,
      client.subagentInstances.size,
    ];

    async function twoParents() {
      const ended: SubagentInstance[][] = [];
      const app = await world(protocol, { onCleanup: (running) => ended.push(running) });
      await app.client.createSession({ sessionId: "second" });
      const running = app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "a", toolCallId: "ta" });
      app.runtime.startSubagent("second", { agentName: "x", childSessionId: "b" });
      await app.client.ping();
      return { ...app, running, ended };
    }

    test("stop clears all three maps", async () => {
      await using app = await twoParents();
      expect(sizes(app)).toEqual([2, 2, 2]);
      expect(await app.client.stop()).toEqual([]);
      expect(sizes(app)).toEqual([0, 0, 0]);
    });

    test("forceStop clears all three maps", async () => {
      await using app = await twoParents();
      await app.client.forceStop();
      expect(sizes(app)).toEqual([0, 0, 0]);
    });

    test("deleting a session removes its own children and no others", async () => {
      await using app = await twoParents();
      await app.client.deleteSession("root");
      expect([...app.client.childToParent]).toEqual([["b", "second"]]);
      expect([...app.client.childToAgent]).toEqual([["b", "x"]]);
      expect([...app.client.subagentInstances.keys()]).toEqual(["second"]);
      expect(await refusal(app.runtime.invokeHook("a", "preToolUse"))).toBe("unknown session a");
    });

    test.each(["destroy", "disconnect"] as const)("%s removes its own children and calls back once", async (how) => {
      await using app = await twoParents();
      await Promise.all([app.session[how](), app.session[how]()]);
      expect([...app.client.childToParent]).toEqual([["b", "second"]]);
      expect([...app.client.childToAgent]).toEqual([["b", "x"]]);
      expect([...app.client.subagentInstances.keys()]).toEqual(["second"]);
      expect(app.ended.map((running) => running.map(({ childSessionId }) => childSessionId))).toEqual([["a"]]);
    });

    test.each([undefined, "it broke"])(
      "an end (%s) removes only the instance, and late requests still resolve",
      async (error) => {
        await using app = await twoParents();
        app.runtime.endSubagent(app.running, error);
        await app.client.ping();
        expect(app.client.subagentInstances.get("root")?.size).toBe(0);
        expect(app.client.childToParent.get("a")).toBe("root");
        expect(app.client.childToAgent.get("a")).toBe("saver");
        expect(textOf(await app.runtime.callTool("root", { toolName: "save", from: app.running }))).toBe(
          "save for saver in a",
        );
        expect(textOf(await app.runtime.callTool("root", { toolName: "load", from: app.running }))).toBe(
          UNSUPPORTED("load"),
        );
      },
    );
  });

  describe("bad input", () => {
    test("a second `started` for one child changes nothing", async () => {
      await using app = await world(protocol);
      app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "child", toolCallId: "call" });
      await app.client.ping();
      const before = app.client.subagentInstances.get("root")?.get("call");
      app.runtime.startSubagent("root", { agentName: "star", childSessionId: "child", toolCallId: "call" });
      await app.client.ping();
      expect(app.client.subagentInstances.get("root")?.get("call")).toBe(before);
      expect(app.client.childToAgent.get("child")).toBe("saver");
    });

    test("another session cannot claim a child that has a parent, nor a session as its child", async () => {
      await using app = await world(protocol);
      await app.client.createSession({ sessionId: "second" });
      app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "child" });
      app.runtime.startSubagent("second", { agentName: "star", childSessionId: "child" });
      app.runtime.startSubagent("second", { agentName: "star", childSessionId: "root" });
      await app.client.ping();
      expect([...app.client.childToParent]).toEqual([["child", "root"]]);
      expect(app.client.childToAgent.get("child")).toBe("saver");
    });

    test("a child of another session's is refused when it is used under this one", async () => {
      await using app = await world(protocol);
      await app.client.createSession({ sessionId: "second", tools: [defineTool("save", { handler: () => "second" })] });
      const from = app.runtime.startSubagent("root", { agentName: "saver", childSessionId: "child" });
      const answer = await refusal(app.runtime.callTool("second", { toolName: "save", from }));
      // Protocol 2 names only the child, which leads to its own parent; protocol 3 names both, and they do not match.
      expect(answer).toBe(protocol === 2 ? "save for saver in child" : "unknown session child");
    });

    test("`completed` and `failed` without a start are delivered and change nothing", async () => {
      await using app = await world(protocol);
      const ghost = { sessionId: "root", childSessionId: "ghost", toolCallId: "t", agentName: "saver" };
      const seen: string[] = [];
      app.session.on((event) => seen.push(event.type));
      app.runtime.endSubagent(ghost);
      app.runtime.endSubagent(ghost, "broken");
      await app.client.ping();
      expect(seen).toEqual(["subagent.completed", "subagent.failed"]);
      expect(app.client.childToParent.size + app.client.subagentInstances.size).toBe(0);
    });

    test("maps are whole when a listener of the event looks at them", async () => {
      await using app = await world(protocol);
      const seen: unknown[] = [];
      app.session.on("subagent.started", ({ data }) =>
        seen.push(app.client.childToParent.get(data.remoteSessionId ?? "")),
      );
      app.session.on("subagent.completed", () => seen.push(app.client.subagentInstances.get("root")?.size));
      app.runtime.endSubagent(app.runtime.startSubagent("root", { agentName: "saver" }));
      await app.client.ping();
      expect(seen).toEqual(["root", 0]);
    });

    test("a handler that leaves the session from inside a child's call does not deadlock", async () => {
      await using app = await world(protocol, { onPermissionRequest: () => ({ kind: "approve-once" }) });
      const second = await app.client.createSession({
        sessionId: "second",
        tools: [defineTool("leave", { handler: async () => void (await second.destroy()) })],
      });
      const from = app.runtime.startSubagent("second", { agentName: "any" });
      void app.runtime.callTool("second", { toolName: "leave", from }).catch(() => undefined);
      await app.client.ping();
      await expect.poll(() => app.client.childToParent.size).toBe(0);
    });
  });
});
