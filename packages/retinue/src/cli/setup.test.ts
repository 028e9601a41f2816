/** `retinue models`, `config`, `init` and `update`, each on a real home folder, with an endpoint on loopback. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { VERSION } from "../host/config.ts";
import { editConfig } from "./config-edit.ts";
import { getConfig, setConfig, unsetConfig } from "./config-file.ts";
import { runInit } from "./init.ts";
import { listModels } from "./models.ts";
import { testEndpoint } from "./test-endpoint.ts";
import { testTerminal } from "./test-terminal.ts";
import { checkForUpdate } from "./update.ts";

function setUp(answers?: readonly string[], more: Record<string, string> = {}) {
  const root = mkdtempSync(join(tmpdir(), "retinue-setup-"));
  const home = join(root, "home");
  const terminal = testTerminal(answers);
  const file = join(home, "config.json");
  return {
    root,
    home,
    file,
    terminal,
    context: { terminal, env: { RETINUE_HOME: home, PATH: process.env.PATH, ...more }, cwd: root, program: [] },
    config: () => JSON.parse(readFileSync(file, "utf8")),
    put: (value: unknown) => {
      mkdirSync(home, { recursive: true });
      writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

const MODELS = { "/v1/models": { body: { data: [{ id: "small" }, { id: "large" }, { id: "text-embedding-3" }] } } };
const flags = { test: true, yes: true };

describe("retinue models", () => {
  test("lists what each provider has, marks the default, and says which provider could not be asked", async () => {
    await using endpoint = await testEndpoint(MODELS);
    await using refusing = await testEndpoint({
      "/models": { status: 401, body: { error: { message: "bad key sk-very-secret-key-000" } } },
    });
    using world = setUp();
    world.put({
      model: "mine/large",
      providers: [
        { name: "mine", baseUrl: `${endpoint.address}/v1`, models: [{ id: "own", name: "My own" }] },
        { name: "other", baseUrl: refusing.address, apiKey: "sk-very-secret-key-000" },
      ],
    });
    expect(await listModels({ json: false }, world.context)).toBe(1);
    expect(world.terminal.written).toContain(
      `mine  ${endpoint.address}/v1\n  own  (My own)\n  small\n* large  (default)\n\nother  ${refusing.address}\n  could not be asked: `,
    );
    expect(world.terminal.written).not.toContain("sk-very-secret-key-000");

    const json = setUp();
    using _ = json;
    json.put(world.config());
    expect(await listModels({ json: true, provider: "mine" }, json.context)).toBe(0);
    const [mine, ...others] = JSON.parse(json.terminal.written);
    expect(others).toEqual([]);
    expect(mine.models).toContainEqual({ id: "large", name: "large", isDefault: true });
  });

  test("without a provider there is the offline model, and nothing is asked", async () => {
    using world = setUp();
    expect(await listModels({ json: false }, world.context)).toBe(0);
    expect(world.terminal.written).toContain("* offline");
    expect(world.terminal.written).toContain("retinue init");
  });
});

describe("retinue config", () => {
  test("sets, gets and takes out values, in a file that only its owner can read", async () => {
    using world = setUp();
    const set = async (key: string, value: string) => await setConfig({ key, value }, world.context);
    await set("providers.ollama.baseUrl", "http://127.0.0.1:11434/v1");
    await set("providers.ollama.models", '["qwen3"]');
    await set("providers.ollama.models.qwen3.vision", "true");
    await set("model", "ollama/qwen3");
    await set("subagents.costGuard", "true");
    expect(statSync(world.file).mode & 0o777).toBe(0o600);
    expect(world.config()).toMatchObject({
      model: "ollama/qwen3",
      providers: [{ name: "ollama", baseUrl: "http://127.0.0.1:11434/v1", models: [{ id: "qwen3", vision: true }] }],
      subagents: { costGuard: true },
    });
    expect(await getConfig({ key: "providers.ollama.baseUrl" }, world.context)).toBe(0);
    expect(world.terminal.written).toBe("http://127.0.0.1:11434/v1\n");
    await unsetConfig({ key: "subagents.costGuard" }, world.context);
    await expect(unsetConfig({ key: "providers.ollama" }, world.context)).rejects.toThrow(
      "there is no provider 'ollama'",
    );
    await unsetConfig({ key: "model" }, world.context);
    await unsetConfig({ key: "providers.ollama" }, world.context);
    expect(world.config()).toEqual({ providers: [], subagents: {} });
    expect(await getConfig({ key: "subagents.costGuard" }, world.context)).toBe(1);
    expect(readdirSync(world.home)).toEqual(["config.json"]);
  });

  test.each([undefined, "providers", "providers.o"])("get %s hides keys, and get of a key shows it", async (key) => {
    using world = setUp();
    const baseUrl = "http://127.0.0.1:1/v1";
    world.put({ providers: [{ name: "o", baseUrl, apiKey: "sesame", headers: { "x-key": "open" }, models: ["m"] }] });
    await getConfig({ key }, world.context);
    expect(world.terminal.written).toContain('"apiKey": "(hidden)"');
    expect(world.terminal.written).not.toMatch(/sesame|open"/);
    await getConfig({ key: "providers.o.apiKey" }, world.context);
    expect(world.terminal.written).toMatch(/\nsesame\n$/);
  });

  test.each([
    ["modle", "x", "there is no setting modle. Did you mean model?"],
    ["providers.o.baseurl", "x", "there is no setting providers.o.baseurl (baseurl). Did you mean baseUrl?"],
    ["providers.o.baseUrl", "ftp://x", "this would make config.json unusable: providers[0].baseUrl is wrong"],
    ["providers.o.models", '[{"id": "m", "visoin": true}]', "Did you mean vision?"],
    ["subagents.costGuard", "maybe", "this would make config.json unusable: subagents.costGuard"],
    ["subagents", "true", "this would make config.json unusable: subagents"],
    ["model", "olama/qwen3", "this would make config.json unusable: model: there is no provider 'olama'"],
    ["model.name", "x", "there is no setting model.name"],
    ["__proto__.x", "1", "there is no setting"],
    ["a..b", "1", "is not the name of a setting"],
  ])("set %s %s is refused, and the file stays as it is", async (key, value, words) => {
    using world = setUp();
    world.put({ model: "b" });
    await expect(setConfig({ key, value }, world.context)).rejects.toThrow(words);
    expect(readFileSync(world.file, "utf8")).toBe('{"model":"b"}');
  });

  test("a link to the file stays one, and what the file holds besides stays in it", async () => {
    using world = setUp();
    mkdirSync(world.home);
    const real = join(world.root, "dotfiles.json");
    writeFileSync(real, '{"theme":"dark"}');
    symlinkSync(real, world.file);
    await setConfig({ key: "model", value: "7" }, world.context);
    expect(JSON.parse(readFileSync(real, "utf8"))).toEqual({ theme: "dark", model: "7" });
    expect(existsSync(world.file)).toBe(true);
  });

  test("get hides keys unless one is asked for", async () => {
    using world = setUp();
    world.put({ providers: [{ name: "a", baseUrl: "http://x", apiKey: "k-1", headers: { "X-Key": "k-2" } }] });
    await getConfig({}, world.context);
    expect(world.terminal.written).not.toMatch(/k-[12]/);
    await getConfig({ key: "providers.a.apiKey" }, world.context);
    expect(world.terminal.written).toMatch(/k-1\n$/);
  });

  test("edit replaces the file when it can be used, and else asks again or leaves it", async () => {
    using world = setUp(["y", "n"]);
    world.put({ model: "old" });
    const edited = async (text: string, context = world.context) =>
      await editConfig({}, { ...context, env: { ...context.env, EDITOR: `printf '%s' '${text}' > ` } });
    expect(await edited('{"model": "new"}')).toBe(0);
    expect(world.config()).toEqual({ model: "new" });
    expect(await edited('{"modle": "x"}')).toBe(1);
    expect(world.terminal.noted.filter((line) => line.includes("Did you mean model?"))).toHaveLength(2);
    expect(await edited("{", { ...world.context, terminal: testTerminal() })).toBe(1);
    expect(world.config()).toEqual({ model: "new" });
    expect(readdirSync(world.home)).toEqual(["config.json"]);
    await expect(editConfig({}, { ...world.context, env: { RETINUE_HOME: world.home } })).rejects.toThrow("VISUAL");
    await expect(editConfig({}, { ...world.context, env: { ...world.context.env, EDITOR: "false" } })).rejects.toThrow(
      "code 1",
    );
  });
});

describe("retinue init", () => {
  test("asks, tries the provider with its key, and writes what was answered", async () => {
    await using endpoint = await testEndpoint(MODELS);
    using world = setUp(["4", "not an address", `${endpoint.address}/v1`, "the-key", "large"]);
    expect(await runInit({ test: true, yes: false }, world.context)).toBe(0);
    expect(endpoint.requests[0]?.headers.authorization).toBe("Bearer the-key");
    expect(world.config()).toEqual({
      providers: [{ name: "custom", baseUrl: `${endpoint.address}/v1`, apiKey: "the-key", models: ["large"] }],
      model: "custom/large",
    });
    expect(statSync(world.file).mode & 0o777).toBe(0o600);
    expect(world.terminal.written).toContain("the model is custom/large");
  });

  test("takes everything from options with --yes, keeps what is there, and reads a key from its variable", async () => {
    await using endpoint = await testEndpoint(MODELS);
    using world = setUp(undefined, { MY_KEY: "secret-in-a-variable" });
    world.put({
      subagents: { costGuard: true },
      providers: [
        { name: "own", baseUrl: "http://old" },
        { name: "b", baseUrl: "http://b" },
      ],
    });
    const given = { ...flags, provider: "own", baseUrl: `${endpoint.address}/v1`, apiKeyEnv: "MY_KEY" };
    expect(await runInit(given, world.context)).toBe(0);
    expect(endpoint.requests[0]?.headers.authorization).toBe("Bearer secret-in-a-variable");
    expect(world.config()).toMatchObject({ model: "own/small", subagents: { costGuard: true } });
    expect(world.config().providers).toHaveLength(2);
    expect(readFileSync(world.file, "utf8")).not.toContain("secret-in-a-variable");
  });

  test.each([
    ["a provider that does not answer", { provider: "ollama", baseUrl: "http://127.0.0.1:9/v1" }, 1],
    ["a key whose variable is not set", { provider: "openai" }, 1],
    ["no provider", {}, "give --provider"],
    ["an unknown provider without an address", { provider: "mine" }, "needs --base-url"],
    ["a name with a slash", { provider: "a/b", baseUrl: "http://x" }, "no slash"],
    ["an address that is none", { provider: "mine", baseUrl: "x" }, "must be an http or https address"],
  ])("writes nothing with %s", async (_, given, end) => {
    using world = setUp();
    const run = runInit({ ...flags, ...given }, world.context);
    if (typeof end === "number") expect(await run).toBe(end);
    else await expect(run).rejects.toThrow(end);
    expect(existsSync(world.file)).toBe(false);
  });

  test.each([[[]], [["1"]], [["4", "http://127.0.0.1:9/v1", ""]], [["4", "http://127.0.0.1:9/v1", "", "n"]]])(
    "writes nothing when the answers %j end there",
    async (answers) => {
      using world = setUp(answers);
      expect(await runInit({ test: true, yes: false }, world.context)).not.toBe(0);
      expect(existsSync(world.file)).toBe(false);
    },
  );

  test("needs somebody to ask, or --yes", async () => {
    using world = setUp();
    await expect(runInit({ test: true, yes: false }, world.context)).rejects.toThrow("there is no terminal to ask at");
    expect(await runInit({ ...flags, provider: "offline" }, world.context)).toBe(0);
    expect(existsSync(world.home)).toBe(false);
  });
});

describe("retinue update", () => {
  test.each([
    ["99.0.0", `retinue 99.0.0 is out; this is ${VERSION}.`],
    [VERSION, `retinue ${VERSION} is the newest version.`],
  ])("--check asks the registry of npm: %s", async (latest, words) => {
    const body = {
      name: "retinue",
      "dist-tags": { latest },
      versions: { [latest]: { name: "retinue", version: latest } },
    };
    await using registry = await testEndpoint({ "/retinue": { body } });
    using world = setUp();
    const env = {
      ...process.env,
      npm_config_registry: `${registry.address}/`,
      npm_config_cache: join(world.root, "cache"),
    };
    expect(await checkForUpdate({ check: true, json: false }, { ...world.context, env })).toBe(0);
    expect(world.terminal.written).toContain(words);
    expect(registry.requests.map(({ path }) => path)).toEqual(["/retinue"]);
  });

  test("without --check nothing is asked", async () => {
    using world = setUp();
    await expect(checkForUpdate({ check: false, json: false }, world.context)).rejects.toThrow("update --check");
  });
});
