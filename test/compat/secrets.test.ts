/** Credentials of the runtime itself and values that a client registers: which of them shells, events, logs and the store get to see. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { calls, say, status } from "../support/model-answers.ts";
import { freshFolders, ours, startClient, type World } from "../support/runtime.ts";
import { openTalk, type Talk } from "../support/talk.ts";

/** Built here, so that no scanner takes it for a key. */
const fake = (name: string) => ["fake", name, "5f0e1c7a", "9b2d4e6f"].join("-");

/** Every byte that the runtime has written under its home. */
async function written(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, "latin1")))).join("\n");
}

const shown = (talk: Talk) => JSON.stringify(talk.record.events);

async function outputOf(world: World, command: string): Promise<string> {
  await using talk = await openTalk(world);
  talk.model.script(calls([{ name: "bash", args: { command, description: "look" } }]), say("done"));
  await talk.ask("look");
  return talk.model.lastRequest.texts("tool").join("\n");
}

describe.skipIf(!ours)("secrets", () => {
  test("a key and a header that the provider repeats in its error are in no event, no log and not in the store", async () => {
    const [key, header] = [fake("apikey"), fake("header")];
    await using world = await startClient({ client: { logLevel: "debug" } });
    await using talk = await openTalk(world);
    const provider = { type: "openai" as const, baseUrl: talk.model.url, apiKey: key, headers: { "x-team": header } };
    await using failing = await openTalk(world, { model: "scripted", provider });
    const echoed = Buffer.from(`user:${key}`).toString("base64");
    talk.model.reply(() =>
      status(400, { message: `bad key ${key} (${encodeURIComponent(key)}, ${echoed}), x-team ${header}` }),
    );
    await failing.ask("try");
    expect(talk.model.lastRequest.headers.authorization).toBe(`Bearer ${key}`);
    expect(failing.record.one("session.error").data.message).toContain("400 bad key [redacted secret]");
    for (const secret of [key, header, echoed.slice(8, 30)]) {
      expect(shown(failing)).not.toContain(secret);
      expect(await written(world.home)).not.toContain(secret);
    }
  });

  test("a shell has no key of a provider, no connection token and no variable that the configuration names", async () => {
    const env = {
      OPENAI_API_KEY: fake("openai"),
      ANTHROPIC_API_KEY: fake("anthropic"),
      RETINUE_API_KEY: fake("own"),
      SHOP_MODEL_KEY: fake("named"),
      GITHUB_TOKEN: fake("github"),
      PLAIN: "passed-on",
    };
    await using world = await startClient({ transport: "tcp", connectionToken: fake("connection"), env });
    const providers = [{ name: "shop", baseUrl: "http://127.0.0.1:9/v1", apiKeyEnv: "SHOP_MODEL_KEY" }];
    await writeFile(path.join(world.home, "config.json"), JSON.stringify({ providers }));
    const output = await outputOf(world, "env");
    expect(output).toContain("PLAIN=passed-on");
    expect(output).toContain(`GITHUB_TOKEN=${fake("github")}`);
    for (const name of ["openai", "anthropic", "own", "named", "connection"]) expect(output).not.toContain(fake(name));
  });

  test("a shell has the variables that shellEnv of config.json names", async () => {
    await using world = await startClient({ env: { ANTHROPIC_API_KEY: "short-key", OPENAI_API_KEY: "other-key" } });
    await writeFile(path.join(world.home, "config.json"), JSON.stringify({ shellEnv: ["ANTHROPIC_API_KEY"] }));
    const output = await outputOf(world, "env");
    expect(output).toContain("ANTHROPIC_API_KEY=short-key");
    expect(output).not.toContain("other-key");
  });

  test("while config.json cannot be read, a shell has no variable whose name says that it holds a credential", async () => {
    await using world = await startClient({ env: { SHOP_API_KEY: fake("shop"), SHOP_NAME: "acme" } });
    await using talk = await openTalk(world);
    await writeFile(path.join(world.home, "config.json"), "{ not json");
    talk.model.script(calls([{ name: "bash", args: { command: "env", description: "look" } }]), say("done"));
    await talk.ask("look");
    const output = talk.model.lastRequest.texts("tool").join("\n");
    expect(output).toContain("SHOP_NAME=acme");
    expect(output).not.toContain(fake("shop"));
  });

  test("a registered value is in no event and not in the store, and the model does not read it", async () => {
    await using world = await startClient();
    const value = fake("oidc");
    expect(await world.client.rpc.secrets.addFilterValues({ values: [value, ""] })).toEqual({ ok: true });
    await using talk = await openTalk(world);
    talk.model.script(
      calls([{ name: "bash", args: { command: `echo out-${value}`, description: "say" } }]),
      say(`it is ${value}`),
    );
    await talk.ask(`my token is ${value}`);
    expect(talk.record.one("user.message").data.content).toBe("my token is [redacted secret]");
    expect(talk.record.one("tool.execution_complete").data.result?.content).toContain("out-[redacted secret]");
    expect(shown(talk)).not.toContain(value);
    expect(await written(world.home)).not.toContain(value);
    expect(talk.model.lastRequest.texts("tool").join()).not.toContain(value);
  });

  test("a key of config.json is in no event when somebody shows the file", async () => {
    await using folders = await freshFolders();
    const providers = [{ name: "shop", baseUrl: "http://127.0.0.1:9/v1", apiKey: fake("file") }];
    await writeFile(path.join(folders.home, "config.json"), JSON.stringify({ providers }));
    await using world = await startClient({ folders });
    await using talk = await openTalk(world);
    const file = path.join(folders.home, "config.json");
    talk.model.script(calls([{ name: "view", args: { path: file } }]), say("done"));
    await talk.ask("show the configuration");
    expect(talk.record.one("tool.execution_complete").data.result?.content).toContain("127.0.0.1:9");
    expect(shown(talk)).not.toContain(fake("file"));
  });

  test("a value that is too short to hide is refused with a reason", async () => {
    await using world = await startClient();
    await expect(world.client.rpc.secrets.addFilterValues({ values: ["abc"] })).rejects.toThrow(
      /fewer than 4 characters/,
    );
  });
});
