/** Slash commands as a client of the official SDK uses them: by invoking them, and by sending what a person typed. */
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, calls, hang, say } from "../support/model-answers.ts";
import type { ModelRequest } from "../support/model-server.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk, resumeTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

/** What a person typed. The SDK's own `send` leaves out what it does not know, so this is the call below it. */
const type = (
  { session }: Pick<Talk, "session">,
  prompt: string,
  more: object = {},
): Promise<{ messageId: string; command?: object }> =>
  session.rpc.send({ prompt, commands: true, ...more } as Parameters<typeof session.rpc.send>[0]);

describe("a line that is sent as typed", () => {
  test("is answered by a command, and whoever waits for the session has an end", async () => {
    await using talk = await openTalk(world);
    expect(await type(talk, "/usage")).toMatchObject({ command: { kind: "text" } });
    await talk.record.until("session.idle");
    const told = talk.record.all("session.info").find(({ data }) => data.infoType === "command");
    expect(told?.data.message).toContain("Session usage");
    expect(talk.model.requests).toHaveLength(0);
  });

  test("is a prompt without the client's wish", async () => {
    await using talk = await openTalk(world);
    talk.model.script(say("words"));
    expect(await talk.ask("/usage")).toBe("words");
  });

  test("runs while the agent works when it only reads, and waits otherwise", async () => {
    await using talk = await openTalk(world);
    talk.model.script(hang());
    await talk.session.send({ prompt: "work" });
    await talk.model.asked(1);
    expect(await type(talk, "/help")).toMatchObject({ command: { kind: "text" } });
    expect(await type(talk, "/init")).toMatchObject({ command: { message: expect.stringContaining("/init waits") } });
    talk.model.script(say("written"));
    await talk.session.abort();
    await talk.record.until("assistant.message");
    expect(talk.record.all("user.message").at(-1)?.data.content).toBe("/init");
  });

  test("keeps what it was sent with while it waits", async () => {
    await using talk = await openTalk(world);
    talk.model.script(hang());
    await talk.session.send({ prompt: "work" });
    await talk.model.asked(1);
    await type(talk, "/init", { agentMode: "plan" });
    talk.model.script(say("planned"));
    await talk.session.abort();
    await talk.record.until("assistant.message");
    expect(talk.record.all("user.message").at(-1)?.data).toMatchObject({ content: "/init", agentMode: "plan" });
    expect(talk.model.lastRequest.toolNames).toContain("exit_plan_mode");
  });

  test.each([
    ["/fleet build it", "Fleet deployed: build it"],
    ["/clear build it", "build it"],
  ])("%s plans when it was sent for planning", async (line, content) => {
    await using talk = await openTalk(world);
    talk.model.script(say("planned"));
    await type(talk, line, { agentMode: "plan" });
    await talk.record.until("session.idle", { passes: () => talk.model.requests.length > 0 });
    const [sent] = talk.record.all("user.message").filter(({ agentId }) => agentId === undefined);
    expect(sent?.data).toMatchObject({ agentMode: "plan", transformedContent: expect.stringContaining("[[PLAN]]") });
    expect(sent?.data.content).toBe(content);
    expect(talk.model.requests[0]?.toolNames).toContain("exit_plan_mode");
  });

  test("names the command that was meant, and is never sent to the model", async () => {
    await using talk = await openTalk(world);
    await expect(type(talk, "/revew")).rejects.toThrow("Did you mean /review?");
    expect(talk.model.requests).toHaveLength(0);
  });
});

test("/review looks at a repository that was made after the session began", async () => {
  await using own = await startClient();
  await using talk = await openTalk(own);
  const review = () => talk.session.rpc.commands.invoke({ name: "review", input: "" });
  expect(await review()).toMatchObject({ kind: "text", text: expect.stringContaining("is in no git repository") });
  execFileSync("git", ["init", "--quiet"], { cwd: own.folder });
  writeFileSync(path.join(own.folder, "a.txt"), "new");
  expect(await review()).toMatchObject({ kind: "agent-prompt", prompt: expect.stringContaining("not committed yet") });
});

describe("/research through commands.invoke", () => {
  const isResearcher = (request: ModelRequest) => request.texts("user")[0]?.includes("THREAD") ?? false;
  const task = (mode: string) => ({
    name: "task",
    args: { name: "r", agent_type: "research", description: "Find", prompt: "THREAD", mode },
  });
  const reportIn = (request: ModelRequest) => /`([^`]+\.md)`/.exec(request.texts("user").join("\n"))?.[1] ?? "";

  async function invoke({ session }: Talk): Promise<string> {
    const outcome = await session.rpc.commands.invoke({ name: "research", input: "who closes it" });
    return outcome.kind === "agent-prompt" ? outcome.prompt : "";
  }

  test("limits the interaction of its prompt, and nothing after it", async () => {
    await using talk = await openTalk(world);
    const prompt = await invoke(talk);
    let at = 0;
    talk.model.reply((request) => {
      if (isResearcher(request)) return say("found");
      const turns = [
        calls([task("sync"), task("background"), { name: "bash", args: { command: "ls", description: "l" } }]),
        call("report_intent", { intent: "Writing the report" }),
        call("create", { path: reportIn(request), file_text: "# R" }),
      ];
      return turns[at++] ?? say("done");
    });
    expect(await talk.ask(prompt)).toBe("done");
    const [first] = talk.model.requests;
    expect(first?.toolNames.toSorted()).toEqual(["create", "report_intent", "task", "view"]);
    expect(talk.model.requests.find(isResearcher)?.toolNames).toContain("bash");
    expect(talk.record.all("subagent.started")).toHaveLength(1);
    expect(talk.record.one("assistant.intent").data.intent).toBe("Writing the report");
    const told = talk.record.all("session.info").find(({ data }) => data.infoType === "report");
    expect(told?.data.message).toMatch(/^The report of \/research is in .+who-closes-it\.md$/);
    await talk.ask("and now?");
    expect(talk.model.lastRequest.toolNames).toContain("bash");
  });

  test("can be completed when autopilot began in the middle of it", async () => {
    await using talk = await openTalk(world);
    const prompt = await invoke(talk);
    talk.model.reply(async (request) => {
      if (isResearcher(request)) {
        await talk.session.rpc.mode.set({ mode: "autopilot" });
        return say("found");
      }
      const said = request.texts("tool").length;
      if (said === 0) return calls([task("sync")]);
      if (said > 2) return say("done");
      return said === 1
        ? call("create", { path: reportIn(request), file_text: "# R" })
        : call("task_complete", { summary: "researched" });
    });
    await talk.ask(prompt);
    expect(talk.record.one("session.task_complete").data).toMatchObject({ success: true, summary: "researched" });
    expect(talk.model.lastRequest.toolNames).not.toContain("bash");
  });

  test("holds after the runtime was killed", async () => {
    const first = await startClient();
    const talk = await openTalk(first);
    const prompt = await invoke(talk);
    talk.model.reply((request) => (isResearcher(request) ? hang() : calls([task("sync")])));
    await talk.session.send({ prompt });
    await talk.model.asked(2);
    await first.kill();
    await using second = await startClient({ folders: first.folders });
    const model = second.model.endpoint();
    let report = "";
    model.reply((request) => {
      if (isResearcher(request)) return say("found at last");
      report = reportIn(request);
      const said = request.texts("tool");
      if (said.length === 1) return call("bash", { command: "ls", description: "l" });
      return said.length === 2 ? call("create", { path: report, file_text: "# R" }) : say("done");
    });
    const options = { continuePendingWork: true };
    await using again = await resumeTalk(second, talk.session.sessionId, options, model);
    await again.record.until("session.idle");
    const main = model.requests.filter((request) => !isResearcher(request));
    expect(main.every(({ toolNames }) => !toolNames.includes("bash"))).toBe(true);
    expect(main.at(-1)?.texts("tool")).toEqual([
      "found at last",
      expect.stringContaining("Tool 'bash' does not exist"),
      expect.stringContaining("Created"),
    ]);
    expect(existsSync(report)).toBe(true);
    await first[Symbol.asyncDispose]();
  });
});
