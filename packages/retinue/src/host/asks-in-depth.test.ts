import { expect, test } from "vitest";
import { call, say, type Turn } from "../models/scripted.ts";
import { inSmallWorld } from "../server/handlers/small-world.ts";

const delegate = (name: string) =>
  call("task", { agent_type: "general-purpose", name, description: "d", prompt: "go on" });

/** The main agent starts a finder, which starts a reader, which makes this call. */
const inGrandchild = (asking: ReturnType<typeof call>): Turn[] => [
  [delegate("finder")],
  [delegate("reader")],
  [asking],
  ...Array.from({ length: 3 }, () => [say("done")]),
];
const schema = { type: "object", properties: { colour: { type: "string" } } };

test.each([
  ["permission.requested", call("bash", { command: "echo hi > out", description: "d" }), {}],
  ["external_tool.requested", call("probe", {}), { tools: [{ name: "probe", skipPermission: true }] }],
  ["user_input.requested", call("ask_user", { question: "Which?" }), { requestUserInput: true }],
  [
    "elicitation.requested",
    call("ask_user", { message: "Fill in", requestedSchema: schema }),
    { requestElicitation: true, askUserVariant: "elicitation" as const },
  ],
] as const)("%s of a grandchild names the agents above it, by id and by name", async (type, asking, config) => {
  await inSmallWorld(inGrandchild(asking), async ({ client, create }) => {
    const sessionId = await create({ ...config, tools: "tools" in config ? [...config.tools] : [] });
    await client.call("session.send", { sessionId, prompt: "work" });
    const { agentId, agentPath, agentPathNames } = await client.received(type);
    const started = client.events.filter((event) => event.type === "subagent.started");
    const ids = started.map((event) => event.agentId);
    expect(ids).toHaveLength(2);
    expect({ agentId, agentPath, agentPathNames }).toEqual({
      agentId: ids[1],
      agentPath: ids,
      agentPathNames: ["finder", "reader"],
    });
    expect(started.map(({ data }) => [data.path, data.pathNames])).toEqual([
      [ids.slice(0, 1), ["finder"]],
      [ids, ["finder", "reader"]],
    ]);
    const { tasks } = await client.call("session.tasks.list", { sessionId });
    expect(tasks.map((task) => task.type === "agent" && [task.path, task.pathNames])).toEqual([
      [ids.slice(0, 1), ["finder"]],
      [ids, ["finder", "reader"]],
    ]);
  });
});
