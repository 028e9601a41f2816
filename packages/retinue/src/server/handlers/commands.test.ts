import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

const commands = [{ name: "deploy", description: "Deploy it" }];

test("a client's command is sent to clients and ends with their answer", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ commands });
    const invoked = client.call("session.commands.invoke", { sessionId, name: "deploy", input: "prod" });
    const { requestId, ...sent } = await client.received("command.execute");
    expect(sent).toEqual({ command: "/deploy prod", commandName: "deploy", args: "prod" });
    expect(await client.call("session.commands.handlePendingCommand", { sessionId, requestId })).toEqual({
      success: true,
    });
    expect(await invoked).toEqual({ kind: "completed" });
    expect(client.of("command.completed")).toEqual([{ requestId }]);
  });
});

test("the error of a client's command is the result of executing it", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create({ commands });
    const executed = client.call("session.commands.execute", { sessionId, commandName: "deploy", args: "fail" });
    const { requestId } = await client.received("command.execute");
    await client.call("session.commands.handlePendingCommand", { sessionId, requestId, error: "cmd failed" });
    expect(await executed).toEqual({ error: "cmd failed" });
    const unknown = await client.call("session.commands.execute", { sessionId, commandName: "zzz" });
    expect(unknown).toEqual({ error: "No client found for command: zzz" });
    await expect(client.call("session.commands.invoke", { sessionId, name: "zzz" })).rejects.toThrow(
      "Unknown slash command: /zzz",
    );
  });
});

test("commands are listed by owner", async () => {
  await inSmallWorld([], async ({ client, create, home }) => {
    mkdirSync(join(home, "skills/tidy"), { recursive: true });
    writeFileSync(join(home, "skills/tidy/SKILL.md"), "---\ndescription: Tidies\n---\nTidy up.");
    const sessionId = await create({ commands, skillDirectories: [join(home, "skills")] });
    const { commands: all } = await client.call("session.commands.list", { sessionId });
    const kinds = new Map(all.map(({ name, kind }) => [name, kind]));
    expect([kinds.get("compact"), kinds.get("tidy"), kinds.get("deploy")]).toEqual(["builtin", "skill", "client"]);
    const { commands: own } = await client.call("session.commands.list", {
      sessionId,
      includeBuiltins: false,
      includeSkills: false,
    });
    expect(own.map(({ name }) => name)).toEqual(["deploy"]);
    const { commands: builtin } = await client.call("commands.list", {});
    expect(builtin.every(({ kind }) => kind === "builtin")).toBe(true);
  });
});

test("a skill can be used as a command: its text is sent with the user's request", async () => {
  await inSmallWorld([], async ({ client, create, home }) => {
    mkdirSync(join(home, "skills/tidy"), { recursive: true });
    writeFileSync(join(home, "skills/tidy/SKILL.md"), "---\ndescription: Tidies\n---\nTidy up.");
    const sessionId = await create({ skillDirectories: [join(home, "skills")] });
    const outcome = await client.call("session.commands.invoke", { sessionId, name: "tidy", input: "the attic" });
    expect(outcome).toMatchObject({ kind: "agent-prompt", displayPrompt: "/tidy the attic" });
    expect(outcome.kind === "agent-prompt" && outcome.prompt).toMatch(/Tidy up\.[\s\S]*the attic$/);
    expect(client.of("skill.invoked")).toMatchObject([{ name: "tidy", trigger: "user-invoked" }]);
  });
});

test("built-in commands act on the session or report on it", async () => {
  await inSmallWorld([[say("one")], [say("short")]], async ({ client, create, send, folder }) => {
    const sessionId = await create();
    const invoke = async (name: string, input?: string) =>
      await client.call("session.commands.invoke", { sessionId, name, input });
    await send(sessionId, "first");
    for (const name of ["agents", "help", "list-dirs", "mcp", "session", "skills", "tasks", "usage", "model", "cwd"]) {
      const outcome = await invoke(name);
      expect(outcome.kind === "text" && outcome.text.length > 0, name).toBe(true);
    }
    expect(await invoke("plan")).toMatchObject({ kind: "completed", mode: "plan" });
    expect(await invoke("autopilot", "off")).toMatchObject({ kind: "completed", mode: "interactive" });
    expect(await invoke("/goal", "win")).toMatchObject({ kind: "agent-prompt", prompt: "win", mode: "autopilot" });
    expect(await client.call("session.mode.get", { sessionId })).toBe("autopilot");
    await invoke("autopilot", "off");
    await invoke("model", "large");
    expect(await client.call("session.model.getCurrent", { sessionId })).toEqual({ modelId: "large" });
    await invoke("yolo");
    expect(await invoke("allow-all", "show")).toEqual({ kind: "text", text: "Every request is approved." });
    mkdirSync(join(folder, "sub"));
    await invoke("add-dir", "sub");
    expect((await client.call("session.permissions.paths.list", { sessionId })).directories).toContain(
      join(folder, "sub"),
    );
    await invoke("cd", "sub");
    expect((await client.call("session.metadata.snapshot", { sessionId })).workingDirectory).toBe(join(folder, "sub"));
    expect(await invoke("compact")).toMatchObject({ kind: "completed" });
    expect(await invoke("clear")).toMatchObject({ kind: "completed", message: "Cleared 1 messages" });
    await expect(invoke("research")).rejects.toThrow("/research needs a question");
    await expect(invoke("reset-allowed-tools", "now")).rejects.toThrow("takes no words");
    const help = await invoke("help");
    expect(help).toMatchObject({ text: expect.stringContaining("/reset-allowed-tools: Forget") });
    expect(help).toMatchObject({ text: expect.stringContaining("/rename <a name>: Name") });
    expect(await invoke("research", "why $& locks?")).toMatchObject({
      kind: "agent-prompt",
      prompt: expect.stringContaining("why $& locks?"),
    });
  });
});

test("the command fleet starts one: the main agent is asked for the plan, and the request is what the user sees", async () => {
  await inSmallWorld([[say("nothing to split")], [say("again nothing")]], async ({ client, create, provider }) => {
    const sessionId = await create();
    const outcome = await client.call("session.commands.invoke", { sessionId, name: "fleet", input: "build it" });
    expect(outcome).toEqual({ kind: "completed", message: "Fleet deployed: build it" });
    await client.received("session.idle");
    const messages = client.events.filter(({ type, agentId }) => type === "user.message" && agentId === undefined);
    expect(messages.map(({ data }) => data.content)).toEqual(["Fleet deployed: build it"]);
    expect(JSON.stringify(provider.requests[0]?.messages)).toContain("The work:\\n\\nbuild it");
    const after = client.events.length;
    expect(await client.call("session.fleet.start", { sessionId })).toMatchObject({ started: true });
    await client.received("session.idle", { after });
    provider.assertSpent();
  });
});

test("the command fleet refuses an option that it does not know, and takes what comes after -- for the work", async () => {
  await inSmallWorld([[say("nothing to split")]], async ({ client, create, provider }) => {
    const sessionId = await create();
    const fleet = (input: string) => client.call("session.commands.invoke", { sessionId, name: "fleet", input });
    await expect(fleet("--worktrees build it")).rejects.toThrow("/fleet knows the option --worktree, not --worktrees");
    expect(await fleet("-- --worktree is a flag to document")).toMatchObject({
      message: "Fleet deployed: --worktree is a flag to document",
    });
    await client.received("session.idle");
    provider.assertSpent();
  });
});
