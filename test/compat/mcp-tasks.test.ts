/** Long-running tasks of MCP servers through the official SDK: of an agent two levels down, in the background, with a question for a person. */
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { TaskServer } from "../../packages/retinue/src/mcp/fixtures/task-server.ts";
import { call, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import { ours, startClient } from "../support/runtime.ts";
import { openTalk, resumeTalk } from "../support/talk.ts";

const EVERYTHING = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
const DIALECTS = ["2025", "2026"] as const;

const delegate = (name: string) =>
  call("task", {
    agent_type: "general-purpose",
    name,
    description: "d",
    prompt: `${name}: your part`,
    mode: "background",
  });

/** The main agent starts `upper`, which starts `lower`, which makes the call; whoever has a result goes on. */
const down = (making: ReturnType<typeof call>) => (request: ModelRequest) => {
  const asked = request.texts("user").join("\n");
  if (request.texts("tool").length > 0) return say("went on");
  if (asked.includes("lower: your part")) return making;
  return delegate(asked.includes("upper: your part") ? "lower" : "upper");
};

describe.runIf(ours)("a task of an MCP server, two levels down in the background", () => {
  test("has its question answered by the handler of the host, with the official everything server", async () => {
    await using world = await startClient();
    const forms: unknown[] = [];
    const all = { command: process.execPath, args: [EVERYTHING, "stdio"], tools: ["*"] };
    await using talk = await openTalk(world, {
      mcpServers: { all },
      onElicitationRequest: (form) => {
        forms.push(form);
        return { action: "accept", content: { interpretation: "technical" } };
      },
    });
    talk.model.reply(down(call("all-simulate-research-query", { topic: "python", ambiguous: true })));
    await talk.session.send({ prompt: "go" });
    await talk.record.until("session.idle");
    expect(forms).toMatchObject([{ elicitationSource: "all" }]);
    const [started] = talk.record.all("subagent.started").filter(({ data }) => data.agentName === "mcp-task");
    expect(started).toBeDefined();
    expect(talk.record.all("subagent.completed").map(({ data }) => data.agentName)).toEqual([
      "mcp-task",
      "general-purpose",
      "general-purpose",
    ]);
    expect(talk.record.all("elicitation.requested")[0]?.data).toMatchObject({
      agentPathNames: ["upper", "lower", expect.any(String)],
    });
  });

  test.each(DIALECTS)(
    "goes on when runtime and host are killed during its question, without a second call, in %s",
    async (dialect) => {
      await using server = await TaskServer.start({ dialect });
      await using first = await startClient();
      const mcpServers = { jobs: { ...server.config, tools: ["*"] } };
      const talk = await openTalk(first, { mcpServers, onElicitationRequest: () => new Promise(() => undefined) });
      talk.model.reply(down(call("jobs-worker", { job: "dig" })));
      await talk.session.send({ prompt: "go" });
      const task = await server.task();
      void server.ask(task, "Which colour?");
      const { agentPath, requestId } = (await talk.record.until("elicitation.requested")).data as {
        agentPath?: string[];
        requestId: string;
      };
      const listened = server.of("tasks/result").length;
      await first.kill();
      await using second = await startClient({ folders: first.folders, model: first.model });
      const config = {
        mcpServers,
        continuePendingWork: true,
        onElicitationRequest: () => ({ action: "accept" as const, content: { colour: "red" } }),
      };
      await using resumed = await resumeTalk(second, talk.session.sessionId, config, talk.model);
      if (dialect === "2025") await server.asked("tasks/result", listened + 1);
      const answer =
        dialect === "2025" ? server.ask(task, "Which colour?") : server.when(() => task.status === "working");
      await answer;
      expect((await resumed.record.until("elicitation.requested")).data).toMatchObject({ requestId, agentPath });
      server.complete(task, "red gold");
      await resumed.record.until("session.idle");
      expect(server.of("tools/call")).toHaveLength(1);
      expect(server.of("tasks/cancel")).toEqual([]);
      const history = await resumed.session.getEvents();
      const ends = history.filter(
        ({ type, agentId }) => agentId === agentPath?.at(-1) && /subagent\.(completed|failed)/.test(type),
      );
      expect(ends).toHaveLength(1);
    },
  );
});
