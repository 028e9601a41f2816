import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

function writeSkill(home: string, name: string): string {
  const folder = join(home, "skills");
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, "SKILL.md"), `---\ndescription: does ${name}\n---\nBody of ${name}.`);
  return folder;
}

test("a skill that is switched off is not offered, and stays off when folders are read again", async () => {
  await inSmallWorld([[say("one")]], async ({ client, create, send, provider, home }) => {
    const folder = writeSkill(home, "tidy");
    const sessionId = await create({ skillDirectories: [folder] });
    await client.call("session.skills.disable", { sessionId, name: "tidy" });
    expect(client.of("session.skills_loaded").at(-1)?.skills).toMatchObject([{ name: "tidy", enabled: false }]);
    writeSkill(home, "sort");
    expect(await client.call("session.skills.reload", { sessionId })).toEqual({ warnings: [], errors: [] });
    await client.call("session.options.update", { sessionId, skillDirectories: [folder] });
    await send(sessionId, "first");
    const skill = provider.requests[0]?.tools.find(({ name }) => name === "skill");
    expect(skill?.description).toContain("sort");
    expect(skill?.description).not.toContain("tidy");
    const { skills } = await client.call("session.skills.list", { sessionId });
    expect(skills.map(({ name, enabled }) => [name, enabled])).toEqual([
      ["sort", true],
      ["tidy", false],
    ]);
    await expect(client.call("session.skills.enable", { sessionId, name: "nope" })).rejects.toThrow(
      "Skill not found: nope",
    );
  });
});

test("skills that the model has loaded are listed with the turn", async () => {
  await inSmallWorld(
    [[say("one")], [call("skill", { skill: "tidy" })], [say("tidied")]],
    async ({ client, create, send, home }) => {
      const sessionId = await create({ skillDirectories: [writeSkill(home, "tidy")] });
      await send(sessionId, "first");
      await send(sessionId, "tidy up");
      const { skills } = await client.call("session.skills.getInvoked", { sessionId });
      expect(skills).toMatchObject([{ name: "tidy", invokedAtTurn: 2, allowedTools: [] }]);
      expect(skills[0]?.content).toContain("Body of tidy.");
    },
  );
});

test("skills and agents of the user and of folders are discovered without a session, whoever trusts them", async () => {
  await inSmallWorld([], async ({ client, runtime, folder, home }) => {
    writeSkill(runtime.config.home, "mine");
    writeSkill(join(folder, ".claude"), "theirs");
    const given = writeSkill(join(home, "given"), "given");
    mkdirSync(join(folder, ".claude/agents"), { recursive: true });
    writeFileSync(join(folder, ".claude/agents/helper.md"), "---\ntools: Read\n---\nYou help.");
    const { skills, errors } = await client.call("skills.discover", {
      projectPaths: [folder],
      skillDirectories: [given],
    });
    expect(skills.map(({ name, source, projectPath }) => [name, source, projectPath])).toEqual([
      ["given", "custom", undefined],
      ["mine", "personal-copilot", undefined],
      ["theirs", "project", folder],
    ]);
    expect(errors).toEqual([]);
    const alone = await client.call("skills.discover", { projectPaths: [folder], excludeHostSkills: true });
    expect(alone.skills.map(({ name }) => name)).toEqual(["theirs"]);
    const { agents } = await client.call("agents.discover", { projectPaths: [folder] });
    expect(agents).toMatchObject([{ name: "helper", source: "project", tools: ["view"], description: "You help." }]);
    expect(await client.call("agents.discover", {})).toEqual({ agents: [] });
  });
});

test("what plugins bring is discovered as a session would have it, unless it is left out", async () => {
  await inSmallWorld([], async ({ client, folder, home }) => {
    const kit = join(home, "kit");
    mkdirSync(join(kit, "agents"), { recursive: true });
    writeFileSync(join(kit, "plugin.json"), JSON.stringify({ name: "kit" }));
    writeFileSync(join(kit, "agents/reviewer.md"), "---\ntools: Read\n---\nYou review.");
    writeSkill(kit, "deploy");
    writeSkill(join(folder, ".claude"), "deploy");
    await client.call("plugins.install", { source: kit });
    const named = async (excludeHostAgents?: boolean) => {
      const { agents } = await client.call("agents.discover", { projectPaths: [folder], excludeHostAgents });
      return agents.map(({ name, source }) => [name, source]);
    };
    expect(await named()).toEqual([["reviewer", "plugin"]]);
    expect(await named(true)).toEqual([]);
    const { skills } = await client.call("skills.discover", { projectPaths: [folder] });
    expect(skills).toMatchObject([{ name: "deploy", source: "plugin", pluginName: "kit" }]);
    await client.call("plugins.disable", { names: ["kit"] });
    expect((await client.call("skills.discover", { projectPaths: [folder] })).skills).toMatchObject([
      { name: "deploy", source: "project" },
    ]);
  });
});
