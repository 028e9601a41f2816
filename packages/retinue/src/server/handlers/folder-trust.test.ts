import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { FolderTrust } from "../../project/trust.ts";
import { inSmallWorld, type SmallWorld } from "./small-world.ts";

const discovering = { enableConfigDiscovery: true };

function bring({ folder }: Pick<SmallWorld, "folder">, name = "helper"): void {
  mkdirSync(join(folder, ".github/agents"), { recursive: true });
  writeFileSync(join(folder, `.github/agents/${name}.agent.md`), "---\ndescription: d\n---\nYou are HELPFUL.\n");
  mkdirSync(join(folder, ".github/skills/deploy"), { recursive: true });
  writeFileSync(join(folder, ".github/skills/deploy/SKILL.md"), "---\ndescription: d\n---\nDeploy.\n");
}

/** As another process decides. */
const elsewhere = ({ runtime }: SmallWorld) =>
  new FolderTrust({ documents: runtime.sessions.store.documents, warn: () => undefined });

async function found({ client }: SmallWorld, sessionId: string): Promise<string[]> {
  const { agents } = await client.call("session.agent.list", { sessionId });
  const { skills } = await client.call("session.skills.list", { sessionId });
  return [...agents, ...skills].map(({ name }) => name);
}

test("agents and skills of an untrusted folder are left out, and one warning after the start says which", async () => {
  await inSmallWorld([], async (world) => {
    bring(world);
    const sessionId = await world.create(discovering);
    expect(await found(world, sessionId)).toEqual([]);
    const { message } = await world.client.received("session.warning");
    expect(message).toContain("1 agent (helper); 1 skill (deploy)");
    expect(world.client.of("session.warning")).toHaveLength(1);
    expect(world.client.events[0]?.type).toBe("session.start");
    const again = await world.create();
    expect(await found(world, again)).toEqual([]);
    expect(world.client.of("session.warning")).toHaveLength(1);
  });
});

test("trust that is given in one session counts at once in every open session of the folder", async () => {
  await inSmallWorld([], async (world) => {
    bring(world);
    const [one, two] = [await world.create(discovering), await world.create(discovering)];
    await world.client.call("session.permissions.folderTrust.addTrusted", { sessionId: one, path: "." });
    for (const sessionId of [one, two]) expect(await found(world, sessionId)).toEqual(["helper", "deploy"]);
    expect(world.client.of("session.custom_agents_updated")).toHaveLength(2);
  });
});

test("trust that is taken away elsewhere is gone with the next prompt, and so is an agent that was selected", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async (world) => {
    bring(world);
    await elsewhere(world).trust(world.folder, new Map());
    const sessionId = await world.create({ ...discovering, agent: "helper" });
    await world.send(sessionId, "hello");
    await elsewhere(world).forget(world.folder);
    await world.send(sessionId, "again");
    const systems = world.provider.requests.map(({ system }) => system.includes("HELPFUL"));
    expect(systems).toEqual([true, false]);
    expect(await found(world, sessionId)).toEqual([]);
    expect(world.client.of("session.warning").at(-1)?.message).toContain("The agent helper is not there any more");
    expect(await world.client.call("session.agent.getCurrent", { sessionId })).toEqual({ agent: null });
  });
});

test("trust that is taken away while an agent with a server is started is gone with the next prompt all the same", async () => {
  let takeAway = async () => {};
  const turns = [
    async () => {
      await takeAway();
      return [call("task", { name: "h", agent_type: "helper", description: "d", prompt: "go", mode: "sync" })];
    },
    [say("child")],
    [say("one")],
    [say("two")],
  ];
  await inSmallWorld(turns, async (world) => {
    bring(world);
    const head = "description: d\nmcp-servers: { docs: { command: docs-that-do-not-exist } }";
    writeFileSync(join(world.folder, ".github/agents/helper.agent.md"), `---\n${head}\n---\nYou are HELPFUL.\n`);
    const sessionId = await world.create(discovering);
    await world.client.call("session.permissions.folderTrust.addTrusted", { sessionId, path: "." });
    takeAway = async () => void (await elsewhere(world).forget(world.folder));
    await world.send(sessionId, "hello");
    expect(world.client.of("session.warning").at(-1)?.message).toContain("docs of the agent helper did not start");
    expect(world.client.of("session.mcp_server_status_changed")).toEqual([]);
    await world.send(sessionId, "again");
    expect(await found(world, sessionId)).toEqual([]);
  });
});

test("a client that joins and is the first to ask for files of a trusted project is not told that it is untrusted", async () => {
  await inSmallWorld([[say("hi")]], async (world) => {
    bring(world);
    await elsewhere(world).trust(world.folder, new Map());
    const sessionId = await world.create();
    const second = world.anotherClient();
    await second.call("session.resume", { sessionId, ...discovering });
    await world.send(sessionId, "hello");
    expect(await found(world, sessionId)).toEqual(["helper", "deploy"]);
    expect(second.of("session.warning")).toEqual([]);
  });
});

test("trust in the root of a repository covers the servers that the session has found below it", async () => {
  await inSmallWorld([], async (world) => {
    const below = { folder: join(world.folder, "below") };
    bring(below);
    mkdirSync(join(world.folder, ".git"));
    const head = "description: d\nmcp-servers: { docs: { command: run-docs } }";
    writeFileSync(join(below.folder, ".github/agents/helper.agent.md"), `---\n${head}\n---\nHi.\n`);
    const opening = { workingDirectory: below.folder, ...discovering };
    const { sessionId } = await world.client.call("session.create", opening);
    const { message } = await world.client.received("session.warning");
    expect(message).toContain(`retinue trust add ${below.folder} `);
    await world.client.call("session.permissions.folderTrust.addTrusted", { sessionId, path: world.folder });
    expect((await elsewhere(world).decisionOn(below.folder)).servers.size).toBe(1);
  });
});

test("a folder in which files are where folders should be opens as any other", async () => {
  await inSmallWorld([], async (world) => {
    for (const name of [".github", ".vscode", ".retinue", ".claude"]) writeFileSync(join(world.folder, name), "");
    expect(await found(world, await world.create(discovering))).toEqual([]);
  });
});

test.each([
  ["agent.reload", (world: SmallWorld, sessionId: string) => world.client.call("session.agent.reload", { sessionId })],
  [
    "skills.reload",
    (world: SmallWorld, sessionId: string) => world.client.call("session.skills.reload", { sessionId }),
  ],
])("session.%s does not bring back what is trusted no longer", async (_, reload) => {
  await inSmallWorld([], async (world) => {
    bring(world);
    await elsewhere(world).trust(world.folder, new Map());
    const sessionId = await world.create(discovering);
    await elsewhere(world).forget(world.folder);
    await reload(world, sessionId);
    expect(await found(world, sessionId)).toEqual([]);
  });
});

test("an agent and a skill of a folder that is trusted no longer cannot be started by name", async () => {
  await inSmallWorld([], async (world) => {
    bring(world);
    await elsewhere(world).trust(world.folder, new Map());
    const sessionId = await world.create(discovering);
    await elsewhere(world).forget(world.folder);
    const start = { sessionId, agentType: "helper", name: "h", prompt: "go" };
    await expect(world.client.call("session.tasks.startAgent", start)).rejects.toThrow("Unknown agent type: helper");
    await elsewhere(world).trust(world.folder, new Map());
    await world.client.call("session.agent.reload", { sessionId });
    await elsewhere(world).forget(world.folder);
    await expect(world.client.call("session.commands.invoke", { sessionId, name: "deploy" })).rejects.toThrow(
      "/deploy",
    );
  });
});

test("a folder that is reached by a link has no trust of the folder that the link is in", async () => {
  await inSmallWorld([], async (world) => {
    const outside = { folder: join(world.home, "outside") };
    bring(outside);
    mkdirSync(join(world.folder, ".git"));
    symlinkSync(outside.folder, join(world.folder, "link"));
    await elsewhere(world).trust(world.folder, new Map());
    const workingDirectory = join(world.folder, "link");
    const { sessionId } = await world.client.call("session.create", { workingDirectory, ...discovering });
    expect(await found(world, sessionId)).toEqual([]);
    expect(
      await world.client.call("session.permissions.folderTrust.isTrusted", { sessionId, path: workingDirectory }),
    ).toEqual({ trusted: false });
  });
});

test("the root of the file system cannot be trusted over the protocol", async () => {
  await inSmallWorld([], async (world) => {
    const sessionId = await world.create();
    await expect(
      world.client.call("session.permissions.folderTrust.addTrusted", { sessionId, path: "/" }),
    ).rejects.toThrow("Name the folder of the project");
  });
});

test("an instruction file that is a pipe or leads elsewhere keeps no session from starting, and is a warning", async () => {
  await inSmallWorld([[say("hi")]], async (world) => {
    writeFileSync(join(world.home, "secret.md"), "the secret");
    symlinkSync(join(world.home, "secret.md"), join(world.folder, "AGENTS.md"));
    execFileSync("mkfifo", [join(world.folder, "CLAUDE.md")]);
    const sessionId = await world.create(discovering);
    await world.send(sessionId, "hello");
    expect(world.provider.requests[0]?.system).not.toContain("the secret");
    expect(world.client.of("session.warning").map(({ message }) => message)).toEqual([
      expect.stringContaining("AGENTS.md was not read: it is a link that leads out of the project"),
      expect.stringContaining("CLAUDE.md was not read: it is a named pipe"),
    ]);
    rmSync(join(world.folder, "CLAUDE.md"));
  });
});
