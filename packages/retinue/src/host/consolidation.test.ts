/** `/subconscious run`, and who may consolidate a board. */
import { expect, test } from "vitest";
import { call, say, type Turn, when } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld, type TestClient } from "../server/handlers/small-world.ts";

const on = { memory: { enabled: true } };
const rem = call("task", {
  agent_type: "rem-agent",
  mode: "background",
  name: "rem-consolidate",
  description: "Consolidate session learnings",
  prompt: "bring the board up to date",
});
const isRem = ({ system = "" }: { system?: string }) => system.includes("Your role: Memory Agent");
const main = (turn: Turn) => when((request) => !isRem(request), turn);
const results = (client: TestClient) =>
  client.of("tool.execution_complete").map(({ result, error }) => result?.content ?? error?.message ?? "");
const invoke = ({ client }: SmallWorld, sessionId: string, input = "run") =>
  client.call("session.commands.invoke", { sessionId, name: "subconscious", input });

test("/subconscious run asks for exactly one task, and the rem-agent keeps what it finds in the session", async () => {
  const turns = [
    main([say("I see.")]),
    main([rem]),
    when(isRem, [call("context_board", { command: "add", text: "The door is blue." })]),
    when(isRem, [say("Added one note.")]),
    main([say("It is being consolidated.")]),
    main([say("It has ended.")]),
  ];
  await inSmallWorld(turns, async (world) => {
    const { create, send, provider, client } = world;
    const sessionId = await create(on);
    await send(sessionId, "the door is blue");
    const outcome = await invoke(world, sessionId);
    expect(outcome).toMatchObject({ kind: "agent-prompt", displayPrompt: "/subconscious run" });
    const prompt = outcome.kind === "agent-prompt" ? outcome.prompt : "";
    for (const word of ["exactly once", "rem-agent", "background", "rem-consolidate", "Consolidate session learnings"])
      expect(prompt).toContain(word);
    await send(sessionId, prompt);
    const request = provider.requests.find(isRem);
    expect(JSON.stringify(request?.messages[0])).toContain("the door is blue");
    expect(request?.tools.map(({ name }) => name).sort()).toEqual([
      "context_board",
      "glob",
      "grep",
      "session_search",
      "view",
    ]);
    expect(client.of("subagent.completed")).toHaveLength(1);
    const store = world.runtime.sessions.store;
    expect(await store.boards.read({ repository: world.folder, branch: "" })).toMatchObject([
      { text: "The door is blue.", agent: "rem-agent", sessionId },
    ]);
  });
});

test("a session in which nothing was said is not consolidated, by the command or by the model", async () => {
  await inSmallWorld([[rem], [say("not now")]], async (world) => {
    const sessionId = await world.create(on);
    const words = "Nothing has happened in this session yet, so there is nothing to consolidate.";
    expect(await invoke(world, sessionId)).toEqual({ kind: "text", text: words });
    await world.send(sessionId, 'call task with `name` "rem-consolidate"');
    expect(results(world.client)).toEqual([words]);
  });
});

test("a session without memory, or with a board that is off, is not consolidated; and the command takes run only", async () => {
  await inSmallWorld([[say("a")], [say("b")]], async (world) => {
    const without = await world.create();
    await world.send(without, "hello");
    expect(await invoke(world, without)).toMatchObject({
      kind: "text",
      text: expect.stringContaining("Memory is off"),
    });
    await expect(invoke(world, without, "stop")).rejects.toThrow('/subconscious takes run, not "stop"');
    await expect(invoke(world, without, "")).rejects.toThrow("/subconscious needs run");
  });
});

test("while one consolidation runs a second is refused, and after it has ended the next may start", async () => {
  let finish = () => undefined as undefined;
  const held = new Promise<void>((resolve) => {
    finish = () => void resolve();
  });
  const turns = [
    main([say("I see.")]),
    main([rem]),
    when(isRem, [held, say("Nothing to keep.")]),
    main([say("started")]),
    main([say("told")]),
  ];
  await inSmallWorld(turns, async (world) => {
    const sessionId = await world.create(on);
    await world.send(sessionId, "the door is blue");
    await world.client.call("session.send", { sessionId, prompt: "rem-consolidate" });
    await world.client.received("subagent.started");
    const words = { kind: "text", text: expect.stringContaining("is being consolidated already") };
    expect(await invoke(world, sessionId)).toEqual(words);
    const after = world.client.events.length;
    finish();
    await world.client.received("session.idle", { after });
    expect(await invoke(world, sessionId)).toMatchObject({ kind: "agent-prompt" });
  });
});
