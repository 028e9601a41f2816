import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inSmallWorld } from "./small-world.ts";

test("a session says which fields of agent files and which settings have no effect, and which agents are left out", async () => {
  await inSmallWorld([], async ({ client, create, runtime }) => {
    const { home } = runtime.config;
    const put = (name: string, line: string) =>
      writeFileSync(join(home, "agents", name), `---\ndescription: d\n${line}\n---\nYou look.\n`);
    mkdirSync(join(home, "agents"), { recursive: true });
    put("all.agent.md", "tool: [view]");
    put("red.agent.md", "colour: red");
    writeFileSync(join(home, "config.json"), JSON.stringify({ banner: "never" }));
    const sessionId = await create();
    await client.until(({ type, data }) => type === "session.warning" && JSON.stringify(data).includes("colour"));
    const warnings = client.of("session.warning").map(({ message }) => message);
    expect(warnings).toEqual([
      expect.stringContaining("there is no setting 'banner'. There are: model, providers"),
      expect.stringContaining("all.agent.md:3: there is no field 'tool'. Did you mean tools?"),
      expect.stringContaining("red.agent.md:3: there is no field 'colour', so it has no effect."),
    ]);
    const { agents } = await client.call("session.agent.list", { sessionId });
    expect(agents.map(({ name }) => name)).toEqual(["red"]);
  });
});

test("an agent of a program with 'tool' in place of 'tools' is refused, and does not get every tool", async () => {
  await inSmallWorld([], async ({ create }) => {
    const agent = { name: "looker", prompt: "You look.", tool: ["view"] };
    await expect(create({ customAgents: [agent] })).rejects.toThrow(
      "The agent 'looker' has a field 'tool', which does not exist, and no 'tools', so it would have every tool.",
    );
    expect(await create({ customAgents: [{ ...agent, tools: ["view"] }] })).toBeTypeOf("string");
  });
});
