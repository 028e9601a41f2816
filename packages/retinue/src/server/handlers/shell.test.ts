import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { say } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

test("a command for a person is recorded and read by the model with the next prompt", async () => {
  await inSmallWorld([[say("seen")]], async ({ client, create, send, provider }) => {
    const sessionId = await create();
    const result = await client.call("session.shell.executeUserRequested", {
      sessionId,
      requestId: "r",
      command: "echo from the user",
    });
    expect(result).toMatchObject({ success: true, output: "from the user\n", exitCode: 0 });
    expect(provider.requests).toHaveLength(0);
    expect(client.of("tool.user_requested")).toMatchObject([
      { toolName: "bash", arguments: { command: "echo from the user" } },
    ]);
    expect(client.of("tool.execution_complete")).toMatchObject([{ isUserRequested: true, success: true }]);
    await send(sessionId, "what did I run?");
    const said = JSON.stringify(provider.requests[0]?.messages);
    expect(said).toContain("echo from the user");
    expect(said.indexOf("from the user")).toBeLessThan(said.indexOf("what did I run?"));
  });
});

test("after a resume the model owes no answer to a command that a person ran", async () => {
  await inSmallWorld([], async ({ client, create, provider }) => {
    const sessionId = await create();
    await client.call("session.shell.executeUserRequested", { sessionId, requestId: "r", command: "false" });
    await client.call("session.detach", { sessionId });
    await client.call("session.resume", { sessionId, continuePendingWork: true });
    expect(await client.call("session.metadata.activity", { sessionId })).toEqual({
      abortable: false,
      hasActiveWork: false,
    });
    expect(provider.requests).toHaveLength(0);
  });
});

test("a command for a person can be cancelled while it runs", async () => {
  await inSmallWorld([], async ({ client, create }) => {
    const sessionId = await create();
    const running = client.call("session.shell.executeUserRequested", {
      sessionId,
      requestId: "r",
      command: "sleep 60",
    });
    await client.received("tool.user_requested");
    expect(await client.call("session.shell.cancelUserRequested", { sessionId, requestId: "r" })).toEqual({
      cancelled: true,
    });
    expect(await running).toMatchObject({ success: false, error: "The command was cancelled" });
    expect(await client.call("session.shell.cancelUserRequested", { sessionId, requestId: "r" })).toEqual({
      cancelled: false,
    });
  });
});

test("a command that a program starts is no task, wakes no model, and ends by a signal, at its time limit, or with the session", async () => {
  await inSmallWorld([], async ({ client, create, runtime, folder, provider }) => {
    const sessionId = await create();
    const { userShells } = runtime.sessions.get(sessionId);
    const { processId } = await client.call("session.shell.exec", { sessionId, command: "echo $$ > pid; sleep 60" });
    expect(await client.call("session.tasks.list", { sessionId })).toEqual({ tasks: [] });
    expect(await client.call("session.shell.kill", { sessionId, processId })).toEqual({ killed: true });
    expect(await client.call("session.shell.kill", { sessionId, processId })).toEqual({ killed: false });
    const late = await client.call("session.shell.exec", { sessionId, command: "sleep 60", timeout: 1 });
    await userShells.get(late.processId)?.ended;
    const left = await client.call("session.shell.exec", { sessionId, command: "echo $$ > left; exec sleep 60" });
    const shell = userShells.get(left.processId);
    await expect
      .poll(() => existsSync(join(folder, "left")) && readFileSync(join(folder, "left"), "utf8"))
      .toMatch(/\d/);
    await client.call("session.detach", { sessionId });
    expect(shell?.status).toBe("cancelled");
    expect(provider.requests).toHaveLength(0);
  });
});
