/** A home that the version before this one wrote: it opens, goes on where it stood, and several processes may come at once. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runtimeConfig } from "../../packages/retinue/src/host/config.ts";
import { oneProvider } from "../../packages/retinue/src/models/one-provider.ts";
import { say, scripted } from "../../packages/retinue/src/models/scripted.ts";
import { serveConnection } from "../../packages/retinue/src/server/connection.ts";
import { Runtime } from "../../packages/retinue/src/server/runtime.ts";
import { openDatabase } from "../../packages/retinue/src/store/sqlite-door.ts";
import { LawClient } from "../laws/law-client.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { cleanEnv, runtimePath } from "../support/runtime.ts";

const EARLIER = fileURLToPath(new URL("../../packages/retinue/src/store/sqlite/schema-1.db", import.meta.url));

let root = "";
let home = "";
let folder = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), "retinue-earlier-")));
  home = path.join(root, "home");
  folder = path.join(root, "work");
  for (const each of [home, folder]) mkdirSync(each);
  cpSync(EARLIER, path.join(home, "retinue.db"));
});
afterEach(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

test("a session of an earlier home goes on: its ask, its prompt, its agents, its notes", async () => {
  const provider = scripted([[say("It is gone.")], [say("Resting.")]]);
  const config = { ...runtimeConfig({}), home };
  const runtime = new Runtime({ config, catalog: oneProvider(provider) });
  const { client, serverEnd } = LawClient.link({ attached: "nobody" });
  const served = serveConnection(serverEnd, { version: "test", load: async () => runtime });
  const sessionId = "from-before";
  await client.call("connect", {});
  const resume = { sessionId, continuePendingWork: true, workingDirectory: folder, requestPermission: true };
  await client.call("session.resume", { ...resume, systemMessage: { mode: "replace", content: "Be brief." } });
  expect(await client.call("session.metadata.getClientMetadata", { sessionId })).toEqual({ colour: "blue" });
  expect(await client.call("session.name.get", { sessionId })).toEqual({ name: "The lock" });
  const tasks = await client.tasks(sessionId);
  expect(tasks.map(({ status }) => status)).toEqual(["idle", "idle"]);
  const { items } = await client.call<{ items: { requestId: string }[] }>("session.permissions.pendingRequests", {
    sessionId,
  });
  const [requestId] = items.map((item) => item.requestId);
  await client.call("session.permissions.handlePendingPermissionRequest", {
    sessionId,
    requestId,
    result: { kind: "reject", feedback: "Leave it." },
  });
  await client.until("session.idle");
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  const said = events.filter(({ type, agentId }) => type === "assistant.message" && !agentId);
  expect(said.map(({ data }) => data.content).slice(-2)).toEqual(["It is gone.", "Resting."]);
  expect(
    events.filter(({ type, data }) => type === "permission.completed" && data.requestId === requestId),
  ).toHaveLength(1);
  expect(client.events.filter(({ type }) => type === "session.warning")).toEqual([]);
  client.vanish();
  await served;
  await runtime.close();
});

test("two processes that open an earlier home at the same moment both get their answer", async () => {
  const list = async () => {
    const child = spawn(process.execPath, [runtimePath, "sessions", "list", "--json", "--home", home], {
      cwd: folder,
      env: cleanEnv({ COPILOT_HOME: home }),
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.on("data", (chunk) => (text += String(chunk)));
    const [code] = await once(child, "close");
    return { code, ids: JSON.parse(text).map(({ sessionId }: { sessionId: string }) => sessionId) };
  };
  const answers = await Promise.all([list(), list(), list()]);
  expect(answers).toEqual(Array.from({ length: 3 }, () => ({ code: 0, ids: ["other", "from-before"] })));
});

test("a task record of a newer version is left out with a warning, and the rest of the session is there", async () => {
  const config = { ...runtimeConfig({}), home };
  await new Runtime({ config }).close();
  const db = openDatabase(path.join(home, "retinue.db"));
  const [first] = db.prepare("SELECT key FROM documents WHERE kind = 'task' ORDER BY key").all();
  db.prepare("UPDATE documents SET version = 99 WHERE key = ?").run(String(first?.key));
  db.close();
  const runtime = new Runtime({ config, catalog: oneProvider(scripted([])) });
  const { client, serverEnd } = LawClient.link({ attached: "nobody" });
  const served = serveConnection(serverEnd, { version: "test", load: async () => runtime });
  await client.call("connect", {});
  await client.call("session.resume", { sessionId: "from-before", workingDirectory: folder });
  const warning = await client.until("session.warning");
  expect(JSON.stringify(warning.data)).toContain(
    `task ${first?.key} cannot be read: it is from a newer version of Retinue (99)`,
  );
  expect(await client.tasks("from-before")).toHaveLength(1);
  client.vanish();
  await served;
  await runtime.close();
});
