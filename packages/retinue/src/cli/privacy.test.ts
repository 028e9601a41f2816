/** What the executable leaves in its home, seen as another user would see it. */
import { chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cliWorld, modelWorld } from "./test-world.ts";

/** Nothing is taken from the modes that a program asks for, as in some containers. */
let before: number;
beforeEach(() => {
  before = process.umask(0);
});
afterEach(() => process.umask(before));

function openFiles(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return [folder, ...paths].filter((path) => (lstatSync(path).mode & 0o077) !== 0);
}

const busy = [
  call("bash", { command: "seq 1 40000", description: "count" }),
  call("sql", { query: "INSERT INTO todos (id, title) VALUES ('a', 'b')", description: "note" }),
  say("done"),
];

describe("whatever the umask is", () => {
  test("a run with shells, queries and cut output leaves nothing that others can read", async () => {
    await using world = await modelWorld(busy);
    expect((await world.run(["-p", "count and note", "--allow-all-tools"])).code).toBe(0);
    expect(openFiles(world.home)).toEqual([]);
    expect(world.leftovers().length).toBeGreaterThan(0);
    const temporary = join(world.root, "tmp");
    expect(openFiles(temporary).filter((path) => path !== temporary)).toEqual([]);
  });

  test("so does a hook, with the daemon that it starts", async () => {
    await using world = cliWorld();
    const payload = { hook_event_name: "UserPromptSubmit", session_id: "s", cwd: "/projects/shop", prompt: "hello" };
    await world.run(["hook", "claude-code"], { input: JSON.stringify(payload) });
    await world.run(["daemon", "start"]);
    expect(readdirSync(world.home)).toEqual(expect.arrayContaining(["daemon.json", "daemon.token", "daemon.log"]));
    const open = openFiles(world.home);
    await world.run(["daemon", "stop"]);
    expect(open).toEqual([]);
  });
});

describe("a home of an earlier version, open to all", () => {
  test("is named by the doctor with the command that mends it, and closed by the next run", async () => {
    await using world = await modelWorld([say("done")]);
    mkdirSync(join(world.home, "logs"), { recursive: true });
    writeFileSync(join(world.home, "logs/old.log"), "words");
    for (const name of ["logs/old.log", "logs", ""]) chmodSync(join(world.home, name), 0o755);
    const { stdout } = await world.run(["doctor"]);
    expect(stdout).toContain(`warning  privacy   others can read ${world.home}, ${join(world.home, "logs")}`);
    expect(stdout).toContain(`→ Run: chmod -R go-rwx ${world.home}`);
    await world.run(["-p", "hello"]);
    expect(openFiles(world.home)).toEqual([]);
    expect((await world.run(["doctor"])).stdout).toContain("ok       privacy");
  });
});
