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
      expect.stringContaining(
        "all.agent.md:3: there is no field 'tool', so the agent is left out. Did you mean tools?",
      ),
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

test("a misspelt list of rules and a misspelt limit are refused by name", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const misspelt: Record<string, unknown>[] = [
      { permissions: { rules: { deny: [{ kind: "shell", argument: "rm" }] } } },
      { budget: { turns: 3 } },
      { customAgents: [{ name: "a", prompt: "p", budget: { maxTurn: 3 } }] },
    ];
    for (const [at, key] of ["deny", "turns", "maxTurn"].entries())
      await expect(create(misspelt[at])).rejects.toThrow(`"${key}"`);
    const sessionId = await create();
    const rules: Record<string, unknown> = { deny: [] };
    await expect(client.call("session.permissions.configure", { sessionId, rules })).rejects.toThrow('"deny"');
  });
});

test("a field of a todo that does not exist is refused by name, and no fleet begins", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    const misspelt: Record<string, unknown>[] = [
      { todos: [{ id: "a", title: "A", agnt: "explore" }] },
      { todos: [{ id: "a", title: "A" }], deps: [{ todoId: "a", dependsOn: "b", kind: "soft" }] },
    ];
    for (const [at, key] of ["agnt", "kind"].entries())
      await expect(client.call("session.fleet.start", { sessionId, ...misspelt[at] })).rejects.toThrow(`"${key}"`);
    expect((await client.call("session.tasks.list", { sessionId })).tasks).toEqual([]);
  });
});
