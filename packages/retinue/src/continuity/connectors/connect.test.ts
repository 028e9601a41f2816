import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CONNECTORS, connect, connectionStatus, disconnect } from "./connect.ts";
import { HARNESSES } from "./harnesses.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-connect-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const context = () => ({
  home: join(folder, "retinue"),
  program: ["/usr/bin/node", "/opt/retinue/bin/retinue.js"],
  env: { HOME: join(folder, "user"), PATH: "/nowhere" },
});
const yes = async () => true;
const run = (way: typeof connect, harness: string, confirm: (changes: string) => Promise<boolean> = yes) =>
  way({ ...context(), harness, confirm, now: 1 });
const put = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, "user", path)), { recursive: true });
  writeFileSync(join(folder, "user", path), text);
};
const get = (path: string) => readFileSync(join(folder, "user", path), "utf8");
const files = () =>
  existsSync(join(folder, "user"))
    ? readdirSync(join(folder, "user"), { recursive: true, withFileTypes: true })
        .filter((each) => each.isFile())
        .map((each) => each.name)
    : [];
const checks = async (harness: string) =>
  (await connectionStatus(context())).find((each) => each.harness === harness)?.checks ?? [];

describe.each(CONNECTORS.map(({ name }) => name))("connecting %s", (harness) => {
  test("shows the change before it makes it, and makes none after a no", async () => {
    let shown = "";
    const result = await run(connect, harness, async (changes) => {
      shown = changes;
      return false;
    });
    expect(result).toEqual({ done: false, reason: "declined" });
    expect(shown).toContain("/opt/retinue/bin/retinue.js");
    expect(files()).toEqual([]);
  });

  test("twice is once, and disconnecting leaves nothing", async () => {
    expect((await run(connect, harness)).done).toBe(true);
    expect(await run(connect, harness)).toEqual({ done: false, reason: "nothing to change" });
    expect((await checks(harness)).filter(({ what }) => what !== "trust").every(({ ok }) => ok)).toBe(true);
    expect((await run(disconnect, harness)).done).toBe(true);
    expect((await checks(harness)).find(({ what }) => what === "hooks")?.ok).toBe(false);
    expect(await run(disconnect, harness)).toEqual({ done: false, reason: "nothing to change" });
    expect(files()).toEqual([]);
  });
});

describe("what is the user's", () => {
  test("stays in Claude Code's settings, comes back whole, and is kept in a backup", async () => {
    const own = `${JSON.stringify({ model: "opus", hooks: { Stop: [{ hooks: [{ type: "command", command: "say done" }] }] }, permissions: { allow: ["Bash(ls)"] } }, null, 2)}\n`;
    put(".claude/settings.json", own);
    const result = await run(connect, "claude-code");
    const settings = JSON.parse(get(".claude/settings.json"));
    expect(settings.model).toBe("opus");
    expect(settings.hooks.Stop[0].hooks[0].command).toBe("say done");
    expect(settings.hooks.Stop[1].hooks[0].command).toMatch(/retinue\.js hook claude-code --home /);
    expect(result.done && result.backup && readFileSync(join(result.backup, "0-settings.json"), "utf8")).toBe(own);
    await run(disconnect, "claude-code");
    expect(JSON.parse(get(".claude/settings.json"))).toEqual(JSON.parse(own));
  });

  test("stays in Codex's config.toml to the letter", async () => {
    const own = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n';
    put(".codex/config.toml", own);
    await run(connect, "codex");
    expect(get(".codex/config.toml")).toContain('[mcp_servers.retinue]\ncommand = "/usr/bin/node"');
    await run(disconnect, "codex");
    expect(get(".codex/config.toml").trimEnd()).toBe(own.trimEnd());
  });

  test("is not touched when it cannot be read", async () => {
    put(".claude/settings.json", "{ // a comment\n}");
    await expect(run(connect, "claude-code")).rejects.toThrow(/not valid JSON and was not changed/);
    put(".codex/config.toml", '[mcp_servers.retinue]\ncommand = "mine"\n');
    await expect(run(connect, "codex")).rejects.toThrow(/of its own/);
  });
});

describe("the status", () => {
  test("says that Codex skips hooks that nobody has trusted", async () => {
    await run(connect, "codex");
    const trust = (await checks("codex")).find(({ what }) => what === "trust");
    expect(trust?.ok).toBe(false);
    expect(trust?.detail).toContain("skips them silently");
  });

  test("says that Claude Code's hooks are off when they are", async () => {
    await run(connect, "claude-code");
    put(
      ".claude/settings.json",
      JSON.stringify({ ...JSON.parse(get(".claude/settings.json")), disableAllHooks: true }),
    );
    expect((await checks("claude-code"))[0]).toEqual({
      what: "hooks",
      ok: false,
      detail: "disableAllHooks is set: none of them runs",
    });
  });

  test("says that OpenClaw gives no block without access to conversations", async () => {
    await run(connect, "openclaw");
    const settings = JSON.parse(get(".openclaw/openclaw.json"));
    settings.plugins.entries.retinue.hooks.allowConversationAccess = false;
    put(".openclaw/openclaw.json", JSON.stringify(settings));
    expect((await checks("openclaw")).find(({ what }) => what === "trust")?.ok).toBe(false);
  });
});

test("the list of programs that can be connected names every connector", () => {
  expect(CONNECTORS.map(({ name }) => name)).toEqual([...HARNESSES]);
});
