import { SERVER_METHODS, type ServerMethodName } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { call, say } from "../models/scripted.ts";
import { inSmallWorld, type TestClient } from "./handlers/small-world.ts";

/** By hand, so that this list and the one of the door can differ. */
const FOR_EVERYBODY = new Set([
  "session.create",
  "session.resume",
  "session.detach",
  "session.destroy",
  "session.delete",
  "session.getMetadata",
  "session.setForeground",
  "sessions.delete",
  "sessions.getMetadata",
  "sessions.getEventFilePath",
  "sessions.readPersistedEvents",
  "sessions.save",
  "sessions.fork",
]);

function namesSession(method: ServerMethodName): boolean {
  const schema = SERVER_METHODS[method].params();
  return "shape" in schema && "sessionId" in schema.shape;
}
const ALL = (Object.keys(SERVER_METHODS) as ServerMethodName[]).filter(namesSession);

const REFUSED = "has not joined it: call session.resume first";
/** Parameters do not matter: a stranger is refused before they are read. */
const refusal = (client: TestClient, method: ServerMethodName, params: object): Promise<string> =>
  client.call(method, params as never).then(
    () => "",
    (error: Error) => error.message,
  );

describe("a client that has not joined a session", () => {
  test("is refused everything that names the session, but for looking it up, deleting it, coming and going", async () => {
    expect(ALL.length).toBeGreaterThan(120);
    await inSmallWorld([], async ({ client, create, anotherClient }) => {
      const sessionId = await create();
      const stranger = anotherClient();
      const heard = client.events.length;
      for (const method of ALL.filter((each) => !FOR_EVERYBODY.has(each))) {
        const text = await refusal(stranger, method, { sessionId });
        expect(`${method}: ${text}`).toContain(`Session not found for sessionId: ${sessionId}`);
        expect(text).toContain(REFUSED);
      }
      expect(client.events.slice(heard)).toEqual([]);
    });
  });

  test("may do what official clients do before they join", async () => {
    await inSmallWorld([], async ({ create, anotherClient, folder }) => {
      const sessionId = await create();
      const stranger = anotherClient();
      expect((await stranger.call("session.list", {})).sessions.map((each) => each.sessionId)).toEqual([sessionId]);
      expect((await stranger.call("session.getMetadata", { sessionId })).session).toMatchObject({ sessionId });
      expect((await stranger.call("sessions.getMetadata", { sessionId })).session).toMatchObject({ sessionId });
      expect(await stranger.call("session.getLastId", {})).toEqual({ sessionId });
      expect((await stranger.call("sessions.readPersistedEvents", { sessionId })).events.length).toBeGreaterThan(0);
      const fork = await stranger.call("sessions.fork", { sessionId });
      expect(fork.sessionId).not.toBe(sessionId);
      expect(await stranger.call("session.detach", { sessionId })).toEqual({ success: true });
      await stranger.call("session.resume", { sessionId, workingDirectory: folder });
      expect(await stranger.call("session.mode.get", { sessionId })).toBe("interactive");
      await stranger.call("session.detach", { sessionId });
      expect(await refusal(stranger, "session.mode.get", { sessionId })).toContain(REFUSED);
      expect(await stranger.call("session.delete", { sessionId })).toEqual({ success: true });
    });
  });

  test("cannot answer an ask, and the client that was asked still can", async () => {
    const turns = [[call("bash", { command: "touch made", description: "make a file" })], [say("done")]];
    await inSmallWorld(turns, async ({ client, create, anotherClient }) => {
      const sessionId = await create();
      const stranger = anotherClient();
      await client.call("session.send", { sessionId, prompt: "go" });
      const { requestId } = await client.received("permission.requested");
      const answer = { sessionId, requestId, result: { kind: "approve-once" } } as const;
      const method = "session.permissions.handlePendingPermissionRequest";
      expect(await refusal(stranger, method, answer)).toContain(REFUSED);
      expect(await client.call(method, { ...answer, result: { kind: "reject" } })).toEqual({ success: true });
      expect(await client.received("permission.completed")).toMatchObject({
        result: { kind: "denied-interactively-by-user" },
      });
    });
  });

  test("cannot end it: neither by closing it nor by shutting the runtime down", async () => {
    await inSmallWorld([[say("still here")]], async ({ client, create, send, anotherClient }) => {
      const sessionId = await create();
      const stranger = anotherClient();
      expect(await refusal(stranger, "sessions.close", { sessionId })).toContain(REFUSED);
      expect(await refusal(stranger, "sessions.releaseLock", { sessionId })).toContain(REFUSED);
      expect(await stranger.call("session.destroy", { sessionId })).toEqual({ success: false });
      await stranger.call("runtime.shutdown", {});
      await send(sessionId, "anybody?");
      expect(client.of("assistant.message").map(({ content }) => content)).toEqual(["still here"]);
    });
  });

  test("reads the words of a session that is not open when nobody has it open", async () => {
    await inSmallWorld([], async ({ client, create }) => {
      const sessionId = await create();
      await client.call("session.detach", { sessionId });
      const text = await refusal(client, "session.send", { sessionId, prompt: "hi" });
      expect(text).toMatch(/Session not found for sessionId: \S+$/);
    });
  });
});

test("runtime.shutdown ends what only its caller had joined", async () => {
  await inSmallWorld([], async ({ client, create, runtime, anotherClient, folder }) => {
    const [own, shared] = [await create(), await create()];
    const other = anotherClient();
    await other.call("session.resume", { sessionId: shared, workingDirectory: folder });
    expect(await client.call("runtime.shutdown", {})).toBeNull();
    expect(runtime.sessions.open.map(({ session }) => session.id)).toEqual([shared]);
    expect(runtime.sessions.find(own)).toBeUndefined();
  });
});
