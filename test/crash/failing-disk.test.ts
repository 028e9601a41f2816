/**
 * The real thing, in a process of its own: a disk that is full, a home that is read-only, a database that another process holds. The process
 * lives, the session says what to do, and the work goes on by itself.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../packages/retinue/src/store/sqlite-door.ts";
import { brokenLaws } from "../laws/checker.ts";
import type { LawClient } from "../laws/law-client.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { promptOf } from "../laws/plan.ts";
import { Crashable } from "./crashable.ts";

/** The home of the runtime is a small disk that only its own process sees. */
const WITH_DISK = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=3m none "$COPILOT_HOME" && exec "$@"', "sh"];
const READ_ONLY_DISK = WITH_DISK.with(4, 'mount -t tmpfs -o ro none "$COPILOT_HOME" && exec "$@"');
const hasDisk = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;
if (!hasDisk)
  console.warn("No disk of its own can be given to a process here, so a full and a read-only one are not tested.");

const FOUR_CALLS = Array.from({ length: 4 }, () => ({ moves: [{ call: "list_agents" }] }));

/** An agent works, with a sub-agent that is about to; then the disk fails, and both go on when it does not fail any more. */
async function workThrough(
  runtime: Crashable,
  { fail, mend, words }: { fail(): void; mend(): void; words: RegExp },
): Promise<void> {
  const client = await runtime.connect({ attached: "nobody" });
  const { sessionId } = await client.call<{ sessionId: string }>("session.create", runtime.session);
  const worker = { turns: [{ gate: "failing", moves: [{ call: "list_agents" }] }, ...FOUR_CALLS], says: "worker" };
  const plan = { turns: [{ moves: [{ task: worker, name: "worker" }] }, ...FOUR_CALLS], says: "root" };
  await client.call("session.send", { sessionId, prompt: promptOf(plan) });
  await runtime.gates.reached("failing");
  fail();
  runtime.gates.open("failing");
  const error = await client.until("session.error", ({ data }) => words.test(JSON.stringify(data)));
  expect(JSON.stringify(error.data)).toMatch(/goes on by itself when the store can be written again: make room/);
  expect(await client.call("ping", {})).toMatchObject({ message: "pong" });
  await expect(client.call("session.send", { sessionId, prompt: "never" })).rejects.toThrow(words);
  mend();
  await client.until("session.idle");
  await whole(client, sessionId);
}

async function whole(client: LawClient, sessionId: string): Promise<void> {
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  const said = events.filter(({ type }) => type === "assistant.message").map(({ data }) => data.content);
  expect([said.includes("worker"), said.at(-1)]).toEqual([true, "root"]);
  expect(brokenLaws(events, { clients: [client], maxDepth: 6 })).toEqual([]);
  const sent = client.events.filter(({ ephemeral }) => !ephemeral).map(({ id }) => id);
  expect(events.map(({ id }) => id).filter((id) => sent.includes(id))).toEqual(sent);
  expect(events.some(({ type }) => type === "abort")).toBe(false);
}

test.skipIf(!hasDisk)("a disk that is full while agents work: they wait, and go on when there is room", async () => {
  await using runtime = await Crashable.start({ within: WITH_DISK });
  const disk = path.join(`/proc/${runtime.pid}/root`, runtime.folders.home);
  const filler = path.join(disk, "filler");
  await workThrough(runtime, {
    words: /full|disk/,
    fail: () => fill(filler),
    mend: () => rmSync(filler),
  });
  expect(readdirSync(disk)).toContain("retinue.db");
});

/** To the last byte. */
function fill(file: string): void {
  for (const piece of [65_536, 4096, 512, 1]) {
    try {
      for (;;) writeFileSync(file, "x".repeat(piece), { flag: "a" });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
  expect(statSync(file).size).toBeGreaterThan(0);
}

test.skipIf(!hasDisk)(
  "a home that is read-only is named, the process lives, and sessions can be made when it can be written",
  async () => {
    await using runtime = await Crashable.start({ within: READ_ONLY_DISK });
    const client = await runtime.connect({ attached: "nobody" });
    const create = () => client.call<{ sessionId: string }>("session.create", runtime.session);
    await expect(create()).rejects.toThrow(
      /Cannot (?:use the home folder|open the store).*(?:RETINUE_HOME|retinue\.db)/,
    );
    expect(await client.call("ping", {})).toMatchObject({ message: "pong" });
    const { home } = runtime.folders;
    const args = ["-t", String(runtime.pid), "-U", "-m", "mount", "-o", "remount,rw", home];
    expect(spawnSync("nsenter", args, { encoding: "utf8" }).stderr).toBe("");
    const { sessionId } = await create();
    await client.call("session.send", { sessionId, prompt: promptOf({ says: "written" }) });
    await client.until("session.idle");
  },
);

test("a database that another process holds for longer than we wait: the work waits, and goes on", async () => {
  await using runtime = await Crashable.start();
  using other = heldBy(runtime);
  await workThrough(runtime, { words: /locked/, fail: other.hold, mend: other.letGo });
});

test("while another process holds the database, calls that wait for no write are answered", async () => {
  await using runtime = await Crashable.start();
  using other = heldBy(runtime);
  const client = await runtime.connect({ attached: "nobody" });
  const { sessionId } = await client.call<{ sessionId: string }>("session.create", runtime.session);
  const { sessionId: quiet } = await client.call<{ sessionId: string }>("session.create", runtime.session);
  other.hold();
  const answered: string[] = [];
  const calls = [
    client.call("session.send", { sessionId, prompt: promptOf({ says: "written" }) }).then(() => answered.push("send")),
    client.call("ping", {}).then(() => answered.push("ping")),
    client.call("session.getMessages", { sessionId: quiet }).then(() => answered.push("read")),
  ];
  await Promise.all(calls.slice(1));
  expect(answered.toSorted()).toEqual(["ping", "read"]);
  other.letGo();
  await Promise.all(calls);
  await client.until("session.idle");
});

test("what is aborted while the store refuses stops, the client is told that it is not recorded, and it is when the store is back", async () => {
  await using runtime = await Crashable.start();
  using other = heldBy(runtime);
  const client = await runtime.connect({ attached: "nobody" });
  const { sessionId } = await client.call<{ sessionId: string }>("session.create", runtime.session);
  await client.call("session.send", { sessionId, prompt: promptOf({ turns: [{ gate: "held" }], says: "never said" }) });
  await runtime.gates.reached("held");
  other.hold();
  await expect(client.call("session.abort", { sessionId })).rejects.toThrow(/locked/);
  await client.until("session.error", ({ data }) => /locked/.test(JSON.stringify(data)));
  other.letGo();
  await client.until("session.idle");
  const { events } = await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId });
  expect(events.filter(({ type }) => type === "abort")).toHaveLength(1);
  expect(brokenLaws(events, { clients: [client], maxDepth: 6 })).toEqual([]);
  await client.call("session.send", { sessionId, prompt: promptOf({ says: "and on" }) });
  await client.until("assistant.message", ({ data }) => data.content === "and on");
});

/** Another program that takes the lock of the database. */
function heldBy(runtime: Crashable): { hold(): void; letGo(): void } & Disposable {
  const other = openDatabase(path.join(runtime.folders.home, "retinue.db"));
  return {
    hold: () => other.exec("BEGIN IMMEDIATE"),
    letGo: () => other.exec("COMMIT"),
    [Symbol.dispose]: () => other.close(),
  };
}
