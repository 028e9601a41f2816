/**
 * The SDK with real runtimes and a scripted model. What works with one runtime of this protocol must work with the other.
 *
 * Ours is used when it is built; another one is named by RETINUE_PEER_RUNTIME. Skipped runtimes show as skipped.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { openAsks } from "./agent-node.ts";
import { RetinueClient, type RetinueClientOptions } from "./client.ts";
import { RuntimeConnection } from "./connection.ts";
import { isUnknownMethod } from "./handshake.ts";
import { approveAll } from "./permissions.ts";
import type { SessionConfig } from "./session-config.ts";
import { call, type ModelScript, say, startScriptedModel } from "./testing/index.ts";
import { defineTool } from "./tools.ts";

const ours = fileURLToPath(new URL("../../../bin/retinue.js", import.meta.url));
const isBuilt = existsSync(new URL("../../retinue/dist/main.cjs", import.meta.url));
const RUNTIMES = [
  { name: "retinue", path: isBuilt ? ours : undefined },
  { name: "peer", path: process.env.RETINUE_PEER_RUNTIME },
];

describe.each(RUNTIMES)("$name runtime", ({ name, path }) => {
  const run = test.skipIf(path === undefined);

  async function world(script: ModelScript, config: SessionConfig = {}, options: RetinueClientOptions = {}) {
    const folder = mkdtempSync(join(tmpdir(), "retinue-e2e-"));
    const model = await startScriptedModel(script);
    const client = new RetinueClient({
      connection: RuntimeConnection.forStdio({ path }),
      workingDirectory: folder,
      baseDirectory: join(folder, "home"),
      logLevel: "none",
      ...options,
    });
    const base: SessionConfig = { model: "scripted", provider: model.provider, onPermissionRequest: approveAll };
    const session = await client.createSession({ ...base, workingDirectory: folder, ...config });
    return {
      folder,
      model,
      client,
      session,
      base,
      [Symbol.asyncDispose]: async () => {
        await client.stop();
        await model[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  }

  test.skipIf(path !== ours)(
    "a graph of todos is worked off by a fleet, and what each came to is returned",
    async () => {
      await using app = await world(({ prompt }) => say(`did ${/todo `(\w+)`/.exec(prompt)?.[1]}`));
      const todos = ["a", "b", "c"].map((id) => ({ id, title: `Do ${id}` }));
      const report = await app.session.fleet.run({ todos, deps: [{ todoId: "c", dependsOn: "a" }], maxConcurrent: 2 });
      expect(report).toMatchObject({ status: "completed", progress: { total: 3, done: 3 } });
      expect(report.results.map(({ todoId, status, text }) => [todoId, status, text])).toEqual(
        ["a", "b", "c"].map((id) => [id, "done", `did ${id}`]),
      );
      const fleet = [...app.session.tree().nodes.values()].find(({ name }) => name === "fleet");
      expect(fleet).toMatchObject({ status: "completed", fleet: { done: 3 }, children: { length: 3 } });
      const { data, ...read } = report;
      expect(await app.session.fleet.wait(report.fleetId)).toEqual(read);
      expect(data).toEqual({});
    },
  );

  test.skipIf(path !== ours)(
    "results of a fleet have the types of their schemas, and one that zod does not take is an error of that todo",
    async () => {
      const answers: Record<string, string> = { a: '{"at":"2026-01-02"}', b: "7", c: "8" };
      await using app = await world(({ prompt }) => say(answers[/todo `(\w+)`/.exec(prompt)?.[1] ?? ""] ?? ""));
      const day = z.object({ at: z.string().transform((at) => new Date(at)) });
      const even = z.int().refine((n) => n % 2 === 0, "it is odd");
      const { results, data } = await app.session.fleet.run({
        todos: [
          { id: "a", title: "When", schema: day },
          { id: "b", title: "Odd" },
          { id: "c", title: "Even" },
        ],
        schema: even,
      });
      const year: number | undefined = data.a?.at.getUTCFullYear();
      const eight: number | undefined = data.c;
      expect([year, eight, data.b]).toEqual([2026, 8, undefined]);
      expect(results.map(({ typedResult, error }) => [typedResult, error])).toEqual([
        [{ at: "2026-01-02" }, undefined],
        [7, "The answer does not fit the schema: it is odd"],
        [8, undefined],
      ]);
      const unclear = { "~standard": { validate: (value: unknown) => ({ value }) } };
      const bad = app.session.fleet.run({ todos: [{ id: "a", title: "A", schema: unclear }] });
      await expect(bad).rejects.toThrow("cannot describe itself");
    },
  );

  run("a prompt is answered, and the session is listed, resumed and deleted", async () => {
    await using app = await world([say("hello"), say("again")]);
    expect((await app.session.sendAndWait("hi"))?.data.content).toBe("hello");
    const { sessionId } = app.session;
    expect(await app.client.getStatus()).toMatchObject({ protocolVersion: 3 });
    await app.session.disconnect();
    expect((await app.client.listSessions()).map((listed) => listed.sessionId)).toContain(sessionId);
    const resumed = await app.client.resumeSession(sessionId, app.base);
    expect((await resumed.getEvents()).filter(({ type }) => type === "assistant.message")).toHaveLength(1);
    expect((await resumed.sendAndWait("more"))?.data.content).toBe("again");
    await app.client.deleteSession(sessionId);
    expect((await app.client.listSessions()).map((listed) => listed.sessionId)).not.toContain(sessionId);
    await expect(app.client.resumeSession(sessionId)).rejects.toMatchObject({ code: "session_not_found" });
    app.model.assertSpent();
  });

  run("a host tool runs with parsed arguments and its result reaches the model", async () => {
    const tool = defineTool("double", {
      description: "Doubles a number",
      parameters: z.object({ n: z.number() }),
      handler: ({ n }) => ({ doubled: 2 * n }),
    });
    await using app = await world([call("double", { n: 21 }), say("done")], { tools: [tool] });
    await app.session.sendAndWait("go");
    expect(app.model.requests[1]?.results).toEqual(['{"doubled":42}']);
  });

  run("a sub-agent uses the host tool that its agent lists, once, and shows in the tree", async () => {
    const seen: unknown[] = [];
    const save = defineTool("save_result", {
      description: "Saves a result",
      parameters: z.object({ content: z.string() }),
      handler: ({ content }, { sessionId, agentName }) => {
        seen.push([content, sessionId, agentName]);
        return "saved";
      },
    });
    await using app = await world(
      ({ tools, results, system }) => {
        if (system.includes("You review."))
          return results.length === 0 ? call("save_result", { content: "fine" }) : say("reviewed");
        if (results.length > 0) return say("all done");
        expect(tools).toContain("task");
        return call("task", { name: "r", agent_type: "reviewer", description: "review", prompt: "review it" });
      },
      {
        tools: [save],
        customAgents: [
          {
            name: "reviewer",
            displayName: "Reviewer",
            description: "Reviews",
            prompt: "You review.",
            tools: ["save_result"],
          },
        ],
      },
    );
    expect((await app.session.sendAndWait("delegate"))?.data.content).toBe("all done");
    expect(seen).toEqual([["fine", app.session.sessionId, "reviewer"]]);
    await expect
      .poll(() =>
        app.session
          .tree()
          .nodes.values()
          .map(({ name, status }) => [name, status]),
      )
      .toEqual([
        ["main", "idle"],
        ["reviewer", "completed"],
      ]);
    expect(openAsks(app.session.tree())).toEqual([]);
    expect([...app.client.childToAgent.values()]).toEqual(["reviewer"]);
    expect(app.client.subagentInstances.get(app.session.sessionId)?.size).toBe(0);
    const reviewer = app.model.requests.find(({ system }) => system.includes("You review."));
    expect(reviewer?.tools).toContain("save_result");
    expect(reviewer?.tools).not.toContain("bash");
  });

  run("a rejected permission with feedback reaches the model, and the turn goes on", async () => {
    await using app = await world([call("bash", { command: "ls", description: "list" }), say("understood")], {
      onPermissionRequest: ({ kind }) => ({ kind: "reject", feedback: `no ${kind} here` }),
    });
    expect((await app.session.sendAndWait("go"))?.data.content).toBe("understood");
    expect(app.model.requests[1]?.results.join()).toContain("no shell here");
  });

  run("a background sub-agent is waited for by its id", async () => {
    await using app = await world(({ prompt }) => say(prompt.includes("count") ? "three" : "noted"));
    const id = await app.session.tasks.start({ agentType: "general-purpose", prompt: "count", name: "counter" });
    const task = await app.session.waitForTask(id, { timeoutMs: 20_000 });
    expect(task).toMatchObject({ type: "agent", id });
    await app.session.waitForIdle({ timeoutMs: 20_000 });
    expect(await app.session.tasks.list()).toHaveLength(1);
  });

  const ownOnly = test.skipIf(path === undefined || name !== "retinue");

  ownOnly("a background sub-agent with a schema answers with data of its type", async () => {
    await using app = await world(({ prompt }) => {
      if (prompt.includes("background agent")) return say("noted");
      return say(prompt.includes("does not fit") ? '{"count":"3"}' : "three");
    });
    const schema = z.object({ count: z.string().transform(Number) });
    const task = await app.session.tasks.start({
      agentType: "general-purpose",
      prompt: "count",
      name: "counter",
      schema,
    });
    const result: { count: number } = await task.result({ timeoutMs: 20_000 });
    expect(result).toEqual({ count: 3 });
    const plain = await app.session.tasks.start({
      agentType: "general-purpose",
      prompt: "count again",
      name: "second",
      schema: { type: "integer" },
    });
    await expect(plain.result({ timeoutMs: 20_000 })).rejects.toThrow(/after 3 corrections/);
  });

  run("a host tool that a sub-agent's sub-agent calls runs once, and hooks and permission know who asks", async () => {
    const ran: unknown[] = [];
    const asked: unknown[] = [];
    const hooked: unknown[] = [];
    const spawn = (agent_type: string) =>
      call("task", { name: agent_type, agent_type, description: "d", prompt: "go" });
    await using app = await world(
      ({ system, results }) => {
        const isFirst = results.length === 0;
        if (system.includes("You are the inner one.")) return isFirst ? call("save", {}) : say("inner done");
        if (system.includes("You are the outer one.")) return isFirst ? spawn("inner") : say("outer done");
        return isFirst ? spawn("outer") : say("all done");
      },
      {
        tools: [
          defineTool("save", { description: "Saves", handler: (_args, { agentName }) => void ran.push(agentName) }),
        ],
        customAgents: [
          {
            name: "outer",
            displayName: "o",
            description: "d",
            prompt: "You are the outer one.",
            tools: ["task", "save"],
          },
          { name: "inner", displayName: "i", description: "d", prompt: "You are the inner one.", tools: ["save"] },
        ],
        onPermissionRequest: ({ kind }, { agentName }) => {
          asked.push([kind, agentName]);
          return { kind: "approve-once" };
        },
        hooks: {
          onPreToolUse: ({ toolName }, { sessionId, agentName }) => {
            if (toolName === "save") hooked.push([sessionId === app.session.sessionId, agentName]);
          },
        },
      },
    );
    expect((await app.session.sendAndWait("go"))?.data.content).toBe("all done");
    expect(ran).toEqual(["inner"]);
    expect(asked.map((ask) => JSON.stringify(ask))).toContain('["custom-tool","inner"]');
    expect(hooked).toEqual([[true, "inner"]]);
    expect([...app.client.childToAgent.values()].sort()).toEqual(["inner", "outer"]);
    expect(new Set(app.client.childToParent.values())).toEqual(new Set([app.session.sessionId]));
  });

  test.skipIf(path !== ours)(
    "a guard that throws denies a sub-agent's call as well, and the model reads why",
    async () => {
      const ran: string[] = [];
      await using app = await world(
        ({ system, results }) => {
          const isInner = system.includes("You save.");
          if (isInner) return results.length === 0 ? call("save", {}) : say(results.join());
          return results.length > 0
            ? say(results.join())
            : call("task", { name: "s", agent_type: "saver", description: "d", prompt: "go" });
        },
        {
          tools: [defineTool("save", { skipPermission: true, handler: () => void ran.push("save") })],
          customAgents: [{ name: "saver", displayName: "s", description: "d", prompt: "You save.", tools: ["save"] }],
          hooks: {
            onError: "deny",
            onPreToolUse: ({ toolName }) => {
              if (toolName === "save") throw new Error("the guard is broken");
            },
          },
        },
      );
      const answer = await app.session.sendAndWait("go");
      expect(ran).toEqual([]);
      expect(answer?.data.content).toMatch(/hook that guards calls failed: .*the guard is broken/);
    },
  );

  run("a sub-agent is not offered, and cannot call, a host tool that its agent does not list", async () => {
    const ran: string[] = [];
    const handler = (_args: unknown, { toolName }: { toolName: string }) => void ran.push(toolName);
    await using app = await world(
      ({ system, results }) => {
        if (system.includes("You save.")) return results.length === 0 ? call("load", {}) : say("could not");
        if (results.length > 0) return say("done");
        return call("task", { name: "s", agent_type: "saver", description: "d", prompt: "go" });
      },
      {
        tools: [defineTool("save", { handler }), defineTool("load", { handler })],
        customAgents: [{ name: "saver", displayName: "s", description: "d", prompt: "You save.", tools: ["save"] }],
      },
    );
    await app.session.sendAndWait("go");
    const saver = app.model.requests.filter(({ system }) => system.includes("You save."));
    expect(saver.every(({ tools }) => tools.includes("save") && !tools.includes("load"))).toBe(true);
    expect(ran).toEqual([]);
  });

  run("sendAndWait resolves in autopilot mode", async ({ skip }) => {
    await using app = await world([call("task_complete", { summary: "finished" })]);
    try {
      await app.session.rpc.mode.set({ mode: "autopilot" });
    } catch (error) {
      if (isUnknownMethod(error)) skip("this runtime has no modes");
      throw error;
    }
    await app.session.sendAndWait("go", 20_000);
    await app.session.rpc.mode.set({ mode: "interactive" });
  });

  run("two clients share a session over TCP, and each hears the answer", async () => {
    const token = "secret";
    await using app = await world(
      [say("to both")],
      {},
      { connection: RuntimeConnection.forTcp({ path, connectionToken: token }) },
    );
    const seen: string[] = [];
    const port = await app.client.getLastSessionId().then(() => app.client.runtimePort);
    await using other = new RetinueClient({
      connection: RuntimeConnection.forUri(String(port), { connectionToken: token }),
    });
    await expect(other.resumeSession("nowhere")).rejects.toMatchObject({ code: "session_not_found" });
    const joined = await other.resumeSession(app.session.sessionId, { suppressResumeEvent: true });
    joined.on("assistant.message", ({ data }) => seen.push(data.content));
    const idle = joined.waitForIdle();
    await app.session.sendAndWait("hi");
    await idle;
    await expect.poll(() => seen).toEqual(["to both"]);
  });

  run("a guest whose socket is cut comes back and hears every stored event once", async () => {
    const connectionToken = "secret";
    await using app = await world(
      ({ prompt }) => say(`answer to ${/\w+$/.exec(prompt)?.[0]}`),
      {},
      { connection: RuntimeConnection.forTcp({ path, connectionToken }) },
    );
    await app.client.start();
    await using proxy = await startProxy(app.client.runtimePort ?? 0);
    const connection = RuntimeConnection.forUri(`127.0.0.1:${proxy.port}`, { connectionToken });
    await using guest = new RetinueClient({ connection, reconnect: { attempts: 20, delayMs: 5 } });
    const joined = await guest.resumeSession(app.session.sessionId, { suppressResumeEvent: true });
    const seen: string[] = [];
    joined.on("assistant.message", ({ data }) => seen.push(data.content));
    await app.session.sendAndWait("one");
    await expect.poll(() => seen).toEqual(["answer to one"]);
    proxy.cut({ refuse: true });
    await app.session.sendAndWait("two");
    await app.session.sendAndWait("three");
    proxy.allow();
    await expect.poll(() => seen).toEqual(["answer to one", "answer to two", "answer to three"]);
    await app.session.sendAndWait("four");
    await expect.poll(() => seen.at(-1)).toBe("answer to four");
    expect(seen).toHaveLength(4);
  });

  run("a killed runtime rejects what waits, and stop works", async () => {
    await using app = await world(() => new Promise(() => undefined));
    const waiting = expect(app.session.sendAndWait("hi")).rejects.toMatchObject({ code: "connection_closed" });
    await app.client.ping();
    process.kill(app.client.runtimePid ?? 0, "SIGKILL");
    await waiting;
    expect(await app.client.stop()).toEqual([]);
  });
});

/** A proxy in front of a port that can cut its connections. */
async function startProxy(target: number) {
  const sockets = new Set<Socket>();
  let isShut = false;
  const server = createServer((socket) => {
    socket.on("error", () => undefined); // Cut on purpose.
    if (isShut) {
      socket.destroy();
      return;
    }
    const inner = connect(target, "127.0.0.1").on("error", () => undefined);
    socket.pipe(inner).pipe(socket);
    socket.on("close", () => inner.destroy());
    sockets.add(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const cut = ({ refuse }: { refuse: boolean }) => {
    isShut = refuse;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    port: address && typeof address === "object" ? address.port : 0,
    cut,
    allow: () => {
      isShut = false;
    },
    [Symbol.asyncDispose]: async () => {
      cut({ refuse: true });
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
