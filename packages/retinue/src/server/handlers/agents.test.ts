import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { call, say, when } from "../../models/scripted.ts";
import { inSmallWorld, type ReceivedEvent, type SmallWorld } from "./small-world.ts";

const PROBE = fileURLToPath(new URL("../../mcp/fixtures/probe-server.mjs", import.meta.url));
const probe = { command: process.execPath, args: [PROBE] };

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const agentFile = ({ runtime }: SmallWorld, name: string, head: string): string =>
  write(join(runtime.config.home, "agents", `${name}.md`), `---\nname: ${name}\n${head}\n---\nYou are ${name}.`);

const skillFile = ({ folder }: SmallWorld, name: string): string =>
  write(join(folder, "skills", name, "SKILL.md"), `---\ndescription: about ${name}\n---\nHow to ${name}.`);

const warningsOf = ({ client }: SmallWorld): string[] => client.of("session.warning").map(({ message }) => message);
const task = (agent_type: string) => call("task", { agent_type, name: "it", description: "d", prompt: "do it" });
const toolsOf = ({ provider }: SmallWorld, at: number) => provider.requests.at(at)?.tools.map(({ name }) => name);

describe("a selected agent", () => {
  test("has its own servers, which start with it and end when it is deselected", async () => {
    await inSmallWorld([[say("1")], [say("2")], [say("3")]], async (world) => {
      const { client, create, send } = world;
      const prober = { name: "prober", prompt: "You probe.", mcpServers: { probe } };
      const sessionId = await create({ customAgents: [prober, { name: "plain", prompt: "You do not." }] });
      const isRunning = async () =>
        (await client.call("session.mcp.isServerRunning", { sessionId, serverName: "probe" })).running;
      await client.call("session.agent.select", { sessionId, name: "prober" });
      await client.until(
        ({ type, data }) => type === "session.mcp_server_status_changed" && data.status === "connected",
      );
      await send(sessionId, "go");
      expect(toolsOf(world, -1)).toContain("probe-echo");
      await client.call("session.agent.select", { sessionId, name: "plain" });
      await send(sessionId, "go");
      expect(toolsOf(world, -1)).not.toContain("probe-echo");
      expect(await isRunning()).toBe(false);
      await client.call("session.agent.deselect", { sessionId });
      await send(sessionId, "go");
      expect(toolsOf(world, -1)).not.toContain("probe-echo");
    });
  });

  test("that was chosen with the session has its servers for the first prompt, also after a resume", async () => {
    await inSmallWorld(
      [[say("1")], [say("2")]],
      async (world) => {
        const customAgents = [{ name: "prober", prompt: "You probe.", mcpServers: { probe } }];
        const sessionId = await world.create({ customAgents, agent: "prober" });
        await world.send(sessionId, "go");
        expect(toolsOf(world, -1)).toContain("probe-echo");
        const { client } = await world.restart();
        await client.call("session.resume", { sessionId, customAgents });
        const isUp = (event: ReceivedEvent) =>
          event.type === "session.mcp_server_status_changed" && event.data.status === "connected";
        await client.until(isUp); // Before any prompt.
        await client.call("session.send", { sessionId, prompt: "again" });
        await client.received("session.idle");
        expect(toolsOf(world, -1)).toContain("probe-echo");
      },
      { isOnDisk: true },
    );
  });

  test("leaves no server behind, however soon after its selection the session is closed", async () => {
    await inSmallWorld([], async ({ client, create, folder, runtime }) => {
      const pids = join(folder, "pids");
      const script = `echo $$ >> ${pids}; exec "${process.execPath}" "${PROBE}"`;
      const prober = { name: "prober", prompt: "p", mcpServers: { probe: { command: "sh", args: ["-c", script] } } };
      writeFileSync(pids, "");
      for (let waits = 0; waits < 40; waits++) {
        const sessionId = await create({ customAgents: [prober] });
        const { servers } = runtime.sessions.get(sessionId).tree;
        const selected = client.call("session.agent.select", { sessionId, name: "prober" });
        for (let at = 0; at < waits; at++) await Promise.resolve();
        if (waits >= 20) await selected;
        for (let at = 20; at < waits; at++) await new Promise(setImmediate);
        await client.call("session.destroy", { sessionId });
        await selected.catch(() => undefined);
        expect(await servers.use({ ...prober, source: "sdk" }), "closed").toBeUndefined();
      }
      const isAlive = (pid: string): boolean => {
        try {
          return process.kill(Number(pid), 0);
        } catch {
          return false;
        }
      };
      await expect.poll(() => readFileSync(pids, "utf8").split("\n").filter(Boolean).filter(isAlive)).toEqual([]);
    });
  });

  test("has the texts of its skills, which are recorded, until it is deselected", async () => {
    await inSmallWorld([[say("1")], [say("2")]], async (world) => {
      const { client, create, send, provider, folder } = world;
      skillFile(world, "sweep");
      const customAgents = [{ name: "cleaner", prompt: "You clean.", skills: ["sweep"] }];
      const sessionId = await create({ customAgents, agent: "cleaner", skillDirectories: [join(folder, "skills")] });
      await send(sessionId, "go");
      expect(provider.requests.at(-1)?.system).toContain("How to sweep.");
      const { skills } = await client.call("session.skills.getInvoked", { sessionId });
      expect(skills).toMatchObject([{ name: "sweep", content: "How to sweep." }]);
      await client.call("session.agent.deselect", { sessionId });
      await send(sessionId, "go");
      expect(provider.requests.at(-1)?.system).not.toContain("How to sweep.");
    });
  });

  test("of a program is refused when it names a tool or a skill that does not exist, and nothing is selected", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const customAgents = [
        { name: "a", prompt: "p", tools: ["view", "nosuch"] },
        { name: "b", prompt: "p", skills: ["nosuch"] },
      ];
      const sessionId = await create({ customAgents });
      const select = (name: string) => client.call("session.agent.select", { sessionId, name });
      await expect(select("a")).rejects.toThrow(/names a tool that does not exist: nosuch\. Valid tools are: bash, /);
      await expect(select("b")).rejects.toThrow("Skill not found: nosuch. Valid skills are: none");
      expect(await client.call("session.agent.getCurrent", { sessionId })).toEqual({ agent: null });
      await expect(create({ customAgents, agent: "a" })).rejects.toThrow("names a tool that does not exist: nosuch");
    });
  });

  test("of a file works without a tool or a skill that does not exist, and says so; it never has every tool", async () => {
    await inSmallWorld([[say("1")]], async (world) => {
      const { client, create, send } = world;
      agentFile(world, "odd", "tools: [nosuch]\nskills: [neither]");
      const sessionId = await create({ agent: "odd" });
      await send(sessionId, "go");
      expect(toolsOf(world, -1)).toEqual(["sql"]);
      expect(warningsOf(world)).toEqual([
        expect.stringContaining("Skill not found: neither. Valid skills are: none. It works without."),
        expect.stringMatching(
          /Agent 'odd' names a tool that does not exist: nosuch\. Valid tools are: bash, .*\. It works/,
        ),
      ]);
      expect(client.of("subagent.selected")).toHaveLength(1);
    });
  });

  test("cannot be one that only other agents start, by any way", async () => {
    await inSmallWorld([], async (world) => {
      const { client, create } = world;
      agentFile(world, "helper", "user-invocable: false");
      const words = "The agent 'helper' cannot be selected: its file says user-invocable: false";
      const sessionId = await create();
      await expect(client.call("session.agent.select", { sessionId, name: "helper" })).rejects.toThrow(words);
      await expect(client.call("session.options.update", { sessionId, agent: "helper" })).rejects.toThrow(words);
      await expect(create({ agent: "helper" })).rejects.toThrow(words);
    });
  });
});

describe("a sub-agent", () => {
  test("of a program that names what does not exist fails with an event, and the model reads the valid names", async () => {
    const turns = [[task("a"), task("b")], [say("done")]];
    await inSmallWorld(turns, async ({ client, create, send }) => {
      const customAgents = [
        { name: "a", displayName: "The A", prompt: "p", tools: ["nosuch"] },
        { name: "b", prompt: "p", skills: ["neither"] },
      ];
      const sessionId = await create({ customAgents });
      await send(sessionId, "go");
      const failed = client.of("subagent.failed").sort((a, b) => a.agentName.localeCompare(b.agentName));
      expect(failed).toMatchObject([
        { agentName: "a", agentDisplayName: "The A", error: expect.stringContaining("not exist: nosuch. Valid tools") },
        { agentName: "b", error: expect.stringContaining("Skill not found: neither. Valid skills are: none") },
      ]);
      const ends = client.of("tool.execution_complete");
      expect(ends.map(({ success, error }) => [success, error?.message])).toEqual([
        [false, expect.stringContaining("Valid tools are: bash")],
        [false, expect.stringContaining("Valid skills are: none")],
      ]);
      expect(ends.map(({ toolCallId }) => toolCallId).sort()).toEqual(
        failed.map(({ toolCallId }) => toolCallId).sort(),
      );
      const started = client.of("subagent.started").map(({ toolCallId }) => toolCallId);
      expect(started.sort()).toEqual(failed.map(({ toolCallId }) => toolCallId).sort()); // Every end has a start.
    });
  });

  test("of a file starts without what does not exist, and that is said once", async () => {
    const turns = [
      [task("odd")],
      when("You are odd", [say("one")]),
      [task("odd")],
      when("You are odd", [say("two")]),
      [say("done")],
    ];
    await inSmallWorld(turns, async (world) => {
      agentFile(world, "odd", "tools: [Read, nosuch]\nskills: [neither]");
      const sessionId = await world.create();
      await world.send(sessionId, "go");
      expect(world.client.of("subagent.completed")).toHaveLength(2);
      expect(toolsOf(world, 1)).toEqual(["view"]);
      expect(warningsOf(world)).toEqual([
        expect.stringMatching(
          /'odd' names a tool that does not exist: nosuch\. Valid tools are: .*\. It starts without\.$/,
        ),
        expect.stringContaining("Skill not found: neither. Valid skills are: none. It starts without."),
      ]);
    });
  });

  test("is offered its own skills and no others, and with none it is not told that there are any", async () => {
    const turns = [
      [task("bare"), task("cleaner")],
      when("You are bare", [say("1")]),
      when("You clean", [say("2")]),
      [say("done")],
    ];
    await inSmallWorld(turns, async (world) => {
      skillFile(world, "sweep");
      skillFile(world, "mop");
      agentFile(world, "bare", "description: d");
      const customAgents = [{ name: "cleaner", prompt: "You clean.", skills: ["sweep"] }];
      const sessionId = await world.create({ customAgents, skillDirectories: [join(world.folder, "skills")] });
      await world.send(sessionId, "go");
      const skillWords = (part: string) =>
        world.provider.requests.find(({ system }) => system?.includes(part))?.tools.find(({ name }) => name === "skill")
          ?.description;
      expect(skillWords("You are bare")).toBeUndefined();
      expect(skillWords("You clean")).toContain("- sweep: about sweep");
      expect(skillWords("You clean")).not.toContain("mop");
      expect(
        JSON.stringify(world.provider.requests.find(({ system }) => system?.includes("You are bare"))),
      ).not.toMatch(/mop|sweep/);
    });
  });
});

describe("an agent with infer: false", () => {
  test("is told to the model only with a prompt of the user that names it", async () => {
    await inSmallWorld(
      [
        [say("1")],
        [say("2")],
        [call("task", { agent_type: "?", name: "n", description: "d", prompt: "p" })],
        [say("3")],
      ],
      async (world) => {
        agentFile(world, "dangerous-cleanup", "description: Deletes what nobody needs.\ninfer: false");
        const sessionId = await world.create();
        await world.send(sessionId, "tidy up");
        expect(JSON.stringify(world.provider.requests.at(-1))).not.toContain("dangerous-cleanup");
        await world.send(sessionId, "run the Dangerous Cleanup agent");
        expect(JSON.stringify(world.provider.requests.at(-1)?.messages.at(-1))).toContain(
          "- dangerous-cleanup: Deletes what nobody needs.",
        );
        await world.send(sessionId, "go on");
        expect(world.client.of("tool.execution_complete").at(-1)?.error?.message).not.toContain("dangerous-cleanup");
      },
    );
  });
});

describe("files of agents and skills", () => {
  test("that are left out are reported when the session opens, once, and those that break later with the next prompt", async () => {
    await inSmallWorld([[say("1")], [say("2")], [say("3")]], async (world) => {
      const { client, create, send } = world;
      agentFile(world, "bad", "description: d\ninfer: 7");
      const sessionId = await create();
      const isAbout = (name: string) => warningsOf(world).filter((message) => message.includes(name));
      await client.until(({ type }) => type === "session.warning");
      await send(sessionId, "go");
      expect(isAbout("bad.md:4: infer")).toHaveLength(1);
      agentFile(world, "worse", "description: d\nceiling: high");
      await send(sessionId, "go");
      await send(sessionId, "go");
      expect(isAbout("worse.md:4: ceiling")).toHaveLength(1);
      expect(isAbout("bad.md:4: infer")).toHaveLength(1);
    });
  });

  test("of a selected agent that name what is not there after a change are told once, and the agent goes on without", async () => {
    await inSmallWorld([[say("1")], [say("2")], [say("3")]], async (world) => {
      agentFile(world, "brief", "description: d\ntools: [view]");
      const sessionId = await world.create({ agent: "brief" });
      await world.send(sessionId, "go");
      expect(warningsOf(world)).toEqual([]);
      agentFile(world, "brief", "description: d\ntools: [view, veiw]\nskills: [gone]");
      await world.send(sessionId, "go");
      await world.send(sessionId, "go");
      expect(world.provider.requests.at(-1)?.system).toContain("You are brief.");
      expect(warningsOf(world)).toEqual([
        expect.stringContaining("Skill not found: gone"),
        expect.stringContaining("names a tool that does not exist: veiw"),
      ]);
    });
  });

  test("of a selected agent that go away leave it as it was, and that is said", async () => {
    await inSmallWorld([[say("1")], [say("2")], [say("3")]], async (world) => {
      const file = agentFile(world, "brief", "description: d\ntools: [view]");
      const sessionId = await world.create({ agent: "brief" });
      await world.send(sessionId, "go");
      const [first] = world.provider.requests;
      expect(first?.system).toContain("You are brief.");
      rmSync(file);
      await world.send(sessionId, "go");
      expect(world.provider.requests.at(-1)).toMatchObject({ system: first?.system, tools: first?.tools });
      expect(world.client.of("subagent.deselected")).toHaveLength(0);
      expect(warningsOf(world)).toEqual([
        "The file of the agent brief is gone or broken. The session goes on with the agent as it was; to leave it: /agent none, or session.agent.deselect.",
      ]);
      await world.client.call("session.agent.deselect", { sessionId });
      await world.send(sessionId, "go");
      expect(world.provider.requests.at(-1)?.system).not.toContain("You are brief.");
    });
  });

  test("of a selected agent that are gone when its session is resumed leave it no tools, and that is said", async () => {
    const one = call("task", { agent_type: "explore", prompt: "look", description: "d", name: "n" });
    const turns = [[say("1")], [one], [say("2")], [say("3")]];
    await inSmallWorld(
      turns,
      async (world) => {
        const file = agentFile(world, "brief", "description: d\ntools: [view]");
        const sessionId = await world.create({ agent: "brief" });
        await world.send(sessionId, "go");
        rmSync(file);
        const { client } = await world.restart();
        await client.call("session.resume", { sessionId });
        await client.call("session.send", { sessionId, prompt: "go on" });
        await client.received("session.idle");
        const { system, tools } = world.provider.requests.at(-1) ?? {};
        expect(system).toContain("nobody knows what you are for");
        expect(tools?.map(({ name }) => name)).toEqual(["sql"]);
        expect(client.of("tool.execution_complete")).toMatchObject([{ success: false }]);
        expect(client.of("session.warning").map(({ message }) => message)).toEqual([
          "The agent brief is not there: its file is gone or broken, or its folder is not read. So the session has no tools; to leave it: /agent none, or session.agent.deselect.",
        ]);
        await client.call("session.agent.deselect", { sessionId });
        await client.call("session.send", { sessionId, prompt: "go on" });
        await expect.poll(() => world.provider.requests.at(-1)?.tools.length).toBeGreaterThan(5);
      },
      { isOnDisk: true },
    );
  });
});
