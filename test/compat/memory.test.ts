/** The context board and its consolidation, through the official SDK. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { cleanEnv, ours, runtimePath, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

const on = { memory: { enabled: true } };

/** What the command line says about the same home. */
async function retinue({ home, folder }: World, ...args: string[]) {
  const env = cleanEnv({ RETINUE_HOME: home });
  const words = [runtimePath, ...args, "--json"];
  return JSON.parse((await promisify(execFile)(process.execPath, words, { cwd: folder, env })).stdout);
}

test.runIf(ours)("a note of one session is in the prompt of the next", async () => {
  await using world = await startClient();
  await using first = await openTalk(world, on);
  first.model.script(call("context_board", { command: "add", text: "Tests need node 22." }), say("kept"));
  expect(await first.ask("remember")).toBe("kept");
  await using second = await openTalk(world, on);
  await second.ask("hi");
  expect(second.model.lastRequest.system).toContain("Tests need node 22.");
  await using without = await openTalk(world, { memory: { enabled: false } });
  await without.ask("hi");
  expect(without.model.lastRequest.toolNames).not.toContain("context_board");
});

test.runIf(ours)("/subconscious run starts the rem-agent once, and its note is on the board", async () => {
  await using world = await startClient();
  await using talk = await openTalk(world, on);
  await talk.ask("the door is blue");
  const outcome = await talk.session.rpc.commands.invoke({ name: "subconscious", input: "run" });
  expect(outcome).toMatchObject({ kind: "agent-prompt" });
  const task = {
    agent_type: "rem-agent",
    mode: "background",
    name: "rem-consolidate",
    description: "Consolidate session learnings",
    prompt: "bring the board up to date",
  };
  talk.model.reply((request) => {
    if (request.system.includes("Your role: Memory Agent"))
      return request.texts("tool").length === 0
        ? call("context_board", { command: "add", text: "The door is blue." })
        : say("Added one note.");
    return request.lastText.includes("exactly once") ? call("task", task) : say("fine");
  });
  await talk.ask("prompt" in outcome ? outcome.prompt : "");
  await talk.record.until("subagent.completed");
  expect(talk.record.all("subagent.started")).toHaveLength(1);
  expect((await retinue(world, "board", "show")).entries).toMatchObject([
    { text: "The door is blue.", agent: "rem-agent", sessionId: talk.session.sessionId },
  ]);
});

test.runIf(ours)(
  "a session that a server closes is consolidated by a process of its own, when that is on",
  async () => {
    await using world = await startClient();
    const model = world.model.endpoint();
    model.reply((request) => {
      if (!request.system.includes("Your role: Memory Agent")) return say("I see.");
      return request.texts("tool").length === 0
        ? call("context_board", { command: "add", text: "The door is blue." })
        : say("Added one note.");
    });
    const env = { RETINUE_SUBCONSCIOUS: "on", RETINUE_PROVIDER_URL: model.url, RETINUE_MODEL: "some-model" };
    await using served = await startClient({ env, folders: world.folders, model: world.model });
    const session = await served.client.createSession({ onPermissionRequest: () => ({ kind: "approve-once" }) });
    for (const prompt of ["the door is blue", "really", "yes"]) await session.sendAndWait({ prompt });
    await session.disconnect();
    for (;;) {
      const [work] = await retinue(world, "tasks");
      if (work && !["starting", "running"].includes(work.status)) {
        expect(work).toMatchObject({ kind: "consolidation", status: "done", sessionId: session.sessionId });
        break;
      }
    }
    expect((await retinue(world, "board", "show")).entries).toHaveLength(1);
  },
);

test.runIf(ours)("a built-in agent can be the main agent, from the start or later", async () => {
  await using world = await startClient();
  await using talk = await openTalk(world, { agent: "explore" });
  await talk.ask("hi");
  expect(talk.model.lastRequest.toolNames).not.toContain("edit");
  expect((await talk.session.rpc.agent.getCurrent()).agent).toMatchObject({ name: "explore" });
  await talk.session.rpc.agent.select({ name: "rem-agent" });
  await talk.ask("hi");
  expect(talk.model.lastRequest.system).toContain("Your role: Memory Agent");
  await expect(talk.session.rpc.agent.select({ name: "nobody" })).rejects.toThrow(/Custom agent 'nobody' not found/);
});
