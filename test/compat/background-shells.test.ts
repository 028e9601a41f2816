/** A shell that serves in the background, as a client of the official SDK meets it. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const server = (command: string) =>
  call("bash", { command, description: "serve", mode: "async", shellId: "dev" }, "serve-1");

test.runIf(ours)("sendAndWait returns while a server that was started in the background goes on", async () => {
  await using talk = await openTalk(world);
  talk.model.script(server("exec sleep 300"), say("the server runs"), say("and it still does"));
  expect(await talk.ask("start the dev server")).toBe("the server runs");
  const { tasks } = await talk.session.rpc.tasks.list();
  expect(tasks).toMatchObject([{ type: "shell", id: "dev", status: "running", attachmentMode: "attached" }]);
  expect(await talk.ask("and now?")).toBe("and it still does");
  expect(talk.record.all("session.idle")).toHaveLength(2);
});

test.runIf(ours)("a background shell that ends later wakes the session, which is idle again after that", async () => {
  await using talk = await openTalk(world);
  const stop = path.join(world.folder, `${talk.session.sessionId}.stop`);
  talk.model.script(
    server(`until [ -e '${stop}' ]; do sleep 0.02; done`),
    say("it runs"),
    say("I have seen that it ended"),
  );
  expect(await talk.ask("start it")).toBe("it runs");
  await writeFile(stop, "");
  await talk.record.until("assistant.message", { passes: ({ data }) => data.content === "I have seen that it ended" });
  expect(talk.record.one("system.notification").data.kind).toMatchObject({ type: "shell_completed", shellId: "dev" });
  await talk.record.count("session.idle", 2);
});
