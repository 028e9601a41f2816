/** What a session cannot be opened with is refused in words, and nothing is left of it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { say, scripted, startInMemory } from "retinue/testing";
import { describe, expect, test } from "vitest";

const world = () => startInMemory({ provider: scripted([[say("hello")]]) });
const agent = (name: string) => ({ name, displayName: "Reader", description: "reads", prompt: "You read." });

test("a session that does not exist cannot be resumed, and the error has its own code", async () => {
  await using app = await world();
  await expect(app.client.resumeSession("nowhere")).rejects.toMatchObject({
    code: "session_not_found",
    message: expect.stringContaining("Session not found: nowhere"),
  });
  await expect(app.client.rpc.call("session.send", { sessionId: "nowhere", prompt: "x" })).rejects.toMatchObject({
    code: "session_not_found",
  });
});

describe("a working folder", () => {
  test("that does not exist, or is a file, is refused by name, and no session is left", async () => {
    await using app = await world();
    const file = join(app.workingDirectory, "file");
    writeFileSync(file, "");
    for (const [workingDirectory, why] of [
      [join(app.workingDirectory, "gone"), "does not exist"],
      [file, "is not a folder"],
    ] as const) {
      await expect(app.client.createSession({ workingDirectory })).rejects.toMatchObject({
        code: "session_invalid",
        message: expect.stringContaining(`workingDirectory ${why}: ${workingDirectory}`),
      });
    }
    expect(await app.client.listSessions()).toEqual([]);
  });

  test("that is named at a resume must exist, and the stored one need not", async () => {
    await using app = await world();
    const session = await app.client.createSession();
    const { sessionId } = session;
    await session.destroy();
    const workingDirectory = join(app.workingDirectory, "gone");
    await expect(app.client.resumeSession(sessionId, { workingDirectory })).rejects.toMatchObject({
      code: "session_invalid",
    });
    expect((await app.client.resumeSession(sessionId)).sessionId).toBe(sessionId);
  });
});

describe("an agent", () => {
  test.each(["", "  "])("called '%s' is refused by the runtime, whatever client sends it", async (name) => {
    await using app = await world();
    const params = { customAgents: [agent("one"), agent(name)] };
    await expect(app.client.rpc.call("session.create", params)).rejects.toMatchObject({
      code: "session_invalid",
      message: expect.stringContaining("customAgents[1] (Reader) has no name"),
    });
  });

  test("without a name, or with the name of another, is refused by the SDK", async () => {
    await using app = await world();
    const refused = async (customAgents: ReturnType<typeof agent>[], why: string) =>
      await expect(app.client.createSession({ customAgents })).rejects.toMatchObject({
        code: "session_invalid",
        message: expect.stringContaining(why),
      });
    await refused([agent("")], "customAgents[0] has no name");
    await refused([agent("a"), agent("a")], "two agents called a");
    const { name: _, ...nameless } = agent("a");
    await refused([nameless as ReturnType<typeof agent>], "customAgents[0] has no name");
  });

  test("with the name of another is taken from other clients, with a warning", async () => {
    await using app = await world();
    const customAgents = [agent("reader"), { ...agent("Reader"), prompt: "You read aloud." }];
    const { sessionId } = await app.client.createSession();
    const session = await app.client.resumeSession(sessionId, { customAgents });
    const { agents } = await session.rpc.agent.list();
    expect(agents.filter(({ name }) => name.toLowerCase() === "reader")).toHaveLength(1);
    const told = new Promise((resolve) => session.on("session.custom_agents_updated", ({ data }) => resolve(data)));
    await session.agents.reload();
    expect(await told).toMatchObject({ warnings: [expect.stringContaining("two agents called Reader")] });
  });
});
