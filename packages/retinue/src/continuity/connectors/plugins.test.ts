import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Daemon, runDaemon } from "../serve/daemon.ts";
import { askDaemon } from "../serve/daemon-client.ts";
import { openclawPlugin } from "./openclaw-plugin.ts";
import { opencodePlugin } from "./opencode-plugin.ts";
import { recorded } from "./test-recorded.ts";

let home: string;
let daemon: Daemon;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "retinue-plugins-"));
  daemon = await runDaemon({ home });
});
afterEach(async () => {
  await daemon.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

// A plugin starts the daemon when it finds none; here it runs already, and this does nothing.
const program = [process.execPath, "-e", ""];
const transcript = async (key: string) => {
  const answer = await askDaemon({ home, method: "GET", path: `/api/sessions/${encodeURIComponent(key)}/transcript` });
  return (answer as { turns: { role: string; text: string }[] }).turns.map(({ role, text }) => `${role}: ${text}`);
};

async function load(files: Record<string, string>, entry: string) {
  const folder = join(home, "plugin");
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, "package.json"), files["package.json"] ?? '{"type":"module"}');
  return import(pathToFileURL(join(folder, entry)).href);
}

describe("the plugin for OpenCode, fed with recorded events", () => {
  test("tells turns as they happen and pushes the block into the child's system prompt", async () => {
    const { Retinue } = await load({ "retinue.js": opencodePlugin({ home, program }) }, "retinue.js");
    const hooks = await Retinue({ client: { session: { get: async () => ({}) } }, directory: "/projects/shop" });
    const event = (name: string) => hooks.event({ event: recorded("opencode", name).input });
    const chat = (name: string) =>
      hooks["chat.message"](recorded("opencode", name).input, recorded("opencode", name).output);
    const parent = recorded("opencode", "chat.message").input.sessionID;
    const child = recorded("opencode", "chat.message.child").input.sessionID;

    await event("event.session.created");
    await chat("chat.message");
    await event("event.message.updated.user");
    await event("event.message.part.updated.text");
    await event("event.message.part.updated.tool");
    await event("event.session.created.child");
    await chat("chat.message.child");
    const output = { system: ["theirs"] };
    await hooks["experimental.chat.system.transform"](
      recorded("opencode", "experimental.chat.system.transform.child").input,
      output,
    );
    expect(output.system[1]).toContain("## Inherited from Parent Session");
    expect(output.system[1]).toContain('User: "delegate');
    await event("event.session.idle.child");
    await event("event.session.idle");
    expect(await transcript(parent)).toEqual([`user: ${recorded("opencode", "chat.message").output.parts[0].text}`]);
    expect(await transcript(child)).toEqual([
      `user: ${recorded("opencode", "chat.message.child").output.parts[0].text}`,
    ]);

    const call = recorded("opencode", "tool.execute.before.child.mem_session_search");
    const args: Record<string, unknown> = { query: "x" };
    await hooks["tool.execute.before"]({ ...call.input, tool: "retinue_session_search" }, { args });
    expect(args.currentSessionKey).toBe(child);
    await hooks["tool.execute.before"](call.input, { args: call.output.args });
    expect(call.output.args.currentSessionKey).toBeUndefined();
  });

  test("asks OpenCode for the parent when it missed the event", async () => {
    const { Retinue } = await load({ "retinue.js": opencodePlugin({ home, program }) }, "retinue.js");
    const { info } = recorded("opencode", "event.session.created.child").input.properties;
    const hooks = await Retinue({
      client: {
        session: { get: async ({ path }: { path: { id: string } }) => ({ data: path.id === info.id ? info : {} }) },
      },
      directory: "/projects/shop",
    });
    await hooks["chat.message"](
      recorded("opencode", "chat.message").input,
      recorded("opencode", "chat.message").output,
    );
    const output = { system: [] as string[] };
    await hooks["experimental.chat.system.transform"]({ sessionID: info.id }, output);
    expect(output.system.join()).toContain("## Inherited from Parent Session");
  });

  test("keeps what it could not tell, and changes nothing for the harness while the daemon is down", async () => {
    const { Retinue } = await load({ "retinue.js": opencodePlugin({ home, program }) }, "retinue.js");
    const hooks = await Retinue({ client: { session: { get: async () => ({}) } }, directory: "/projects/shop" });
    await daemon.close();
    const { input, output } = recorded("opencode", "chat.message");
    await hooks["chat.message"](input, output);
    await hooks.event({ event: recorded("opencode", "event.session.idle").input });
    daemon = await runDaemon({ home });
    await hooks.event({ event: recorded("opencode", "event.session.idle").input });
    expect(await transcript(input.sessionID)).toHaveLength(1);
  });
});

describe("the plugin for OpenClaw, fed with recorded events", () => {
  type Handler = (event: unknown, ctx: unknown) => unknown;
  interface PluginTool {
    execute(id: string, params: object): Promise<{ content: { text: string }[] }>;
  }

  async function register() {
    const files = openclawPlugin({ home, program });
    const { default: plugin } = await load(files, "index.js");
    const handlers = new Map<string, Handler>();
    let factory: ((ctx: object) => PluginTool) | undefined;
    plugin.register({
      on: (name: string, handler: Handler) => handlers.set(name, handler),
      registerTool: (made: (ctx: object) => PluginTool) => {
        factory = made;
      },
    });
    const fire = (name: string, change: { event?: object; ctx?: object } = {}) => {
      const { _hook, event, ctx } = recorded("openclaw", name);
      return handlers.get(_hook)?.({ ...event, ...change.event }, { ...ctx, ...change.ctx });
    };
    return { fire, tool: (ctx: object) => factory?.(ctx) };
  }

  test("gives the child its block, tells both transcripts, and searches for the session that asks", async () => {
    const { fire, tool } = await register();
    const child = recorded("openclaw", "subagent_spawned").event.childSessionKey;
    fire("session_start");
    fire("before_message_write", {
      event: {
        message: { ...recorded("openclaw", "before_message_write").event.message, content: "the pelican plan" },
      },
    });
    fire("before_message_write.child");
    fire("subagent_spawned");
    const built = (await fire("before_prompt_build.child")) as { appendSystemContext: string };
    expect(built.appendSystemContext).toContain("User: the pelican plan");
    expect(await fire("before_prompt_build")).toBeUndefined();
    const { event, ctx } = recorded("openclaw", "tool_execute.child");
    const found = await tool(ctx)?.execute(event.id, { query: "pelican" });
    expect(found?.content[0]?.text).toContain("agent:main:main #1\nUser: the pelican plan");
    fire("subagent_ended");
    await expect.poll(() => transcript(child)).toHaveLength(1);
  });

  test("a reset of the main session ends no sub-agent", async () => {
    const { fire } = await register();
    fire("session_start");
    fire("subagent_ended.session-reset-not-a-subagent");
    fire("session_end.new");
    const sessions = async () =>
      ((await askDaemon({ home, method: "GET", path: "/api/sessions" })) as { sessions: { endReason?: string }[] })
        .sessions;
    await expect.poll(sessions).toMatchObject([{ sessionKey: "agent:main:main", endReason: "new" }]);
  });
});
