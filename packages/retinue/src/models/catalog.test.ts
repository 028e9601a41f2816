import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@retinue/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CatalogOptions, openCatalog, type SessionModelConfig } from "./catalog.ts";
import type { ModelRequest } from "./provider.ts";
import { collect, json, loopback, namedSse, sse } from "./wire/loopback.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "catalog-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const signal = new AbortController().signal;
const request = (model: string): ModelRequest => ({ model, system: "", messages: [], tools: [], stream: true });
const configure = (config: unknown) =>
  writeFileSync(join(home, "config.json"), typeof config === "string" ? config : JSON.stringify(config));
const catalog = (env: Record<string, string> = {}, more: Partial<CatalogOptions> = {}) =>
  openCatalog({ env, home, ...more });

/** The provider and model that serve a session, in one line. */
function served(
  env: Record<string, string>,
  session: SessionModelConfig = {},
  options: Partial<CatalogOptions> & { model?: string } = {},
): string {
  const { model, ...more } = options;
  const { provider, wireModel } = catalog(env, more).forSession(session).choose(model);
  return `${provider.id} ${provider.baseUrl ?? "-"} ${wireModel}`;
}

const RETINUE = { RETINUE_PROVIDER_URL: "http://r/v1", RETINUE_MODEL: "rm" };
const COPILOT = { COPILOT_API_URL: "http://c" };
const OPENAI = { OPENAI_API_KEY: "ok" };
const ANTHROPIC = { ANTHROPIC_API_KEY: "ak" };
const LOCAL = { name: "local", baseUrl: "http://l/v1", models: ["llama"] };

describe("the model of a session", () => {
  test("is the offline one when nothing is configured, whatever is asked for", () => {
    expect(served({})).toBe("offline - offline");
    expect(served({}, { model: "gpt-5" })).toBe("offline - offline");
  });

  test("comes from the first source that is set up: ours, the client's, OpenAI, Anthropic, the configuration file", () => {
    configure({ providers: [LOCAL] });
    expect(served({ ...RETINUE, ...COPILOT, ...OPENAI, ...ANTHROPIC })).toBe("retinue http://r/v1 rm");
    expect(served({ ...COPILOT, ...OPENAI, ...ANTHROPIC })).toBe("copilot http://c gpt-4.1");
    expect(served({ ...OPENAI, ...ANTHROPIC })).toBe("openai https://api.openai.com/v1 gpt-4.1");
    expect(served(ANTHROPIC)).toBe("anthropic https://api.anthropic.com claude-sonnet-4-5");
    expect(served({})).toBe("local http://l/v1 llama");
  });

  test("comes from a provider of the configuration file before a key in the environment when the file names it", () => {
    configure({ model: "local/llama", providers: [LOCAL] });
    expect(served(OPENAI)).toBe("local http://l/v1 llama");
    expect(served({ ...OPENAI, ...RETINUE })).toBe("retinue http://r/v1 rm");
  });

  test("comes from the session's own provider before everything else", () => {
    const provider = { baseUrl: "http://s/v1" };
    expect(served(RETINUE, { model: "m", provider })).toBe("default http://s/v1 m");
    expect(served({}, { provider: { ...provider, modelId: "known", wireModel: "wire" } })).toBe(
      "default http://s/v1 wire",
    );
    expect(served({}, { model: "m", provider: { ...provider, modelId: "known" } })).toBe("default http://s/v1 known");
  });

  test("that a sub-agent asks for is sent to the session's provider as it is", () => {
    const session = { model: "m", provider: { baseUrl: "http://s/v1", wireModel: "deployment" } };
    expect(served({}, session)).toBe("default http://s/v1 deployment");
    expect(served({}, session, { model: "small" })).toBe("default http://s/v1 small");
  });

  test("is found among the session's named providers by its full or its short name", () => {
    const session = {
      providers: [
        { name: "one", baseUrl: "http://one/v1" },
        { name: "two", type: "anthropic" as const, baseUrl: "http://two" },
      ],
      models: [
        { id: "a", provider: "one" },
        { id: "b", provider: "two", wireModel: "b-wire" },
      ],
    };
    expect(served({}, { ...session, model: "two/b" })).toBe("two http://two b-wire");
    expect(served({}, { ...session, model: "b" })).toBe("two http://two b-wire");
    expect(served({}, { ...session, model: "one/unlisted/x" })).toBe("one http://one/v1 unlisted/x");
    expect(served({}, session)).toBe("one http://one/v1 a");
    expect(served(OPENAI, { ...session, model: "gpt-5" })).toBe("openai https://api.openai.com/v1 gpt-5");
    expect(
      catalog()
        .forSession({ ...session, model: "b" })
        .choose().id,
    ).toBe("two/b");
  });

  test("of a named provider that is missing is refused", () => {
    const session = {
      model: "a",
      providers: [{ name: "one", baseUrl: "http://one" }],
      models: [{ id: "a", provider: "ghost" }],
    };
    expect(() => served({}, session)).toThrow("names a provider ghost");
  });

  test("goes to the source that is named before it, that lists it, or that has such models", () => {
    configure({ providers: [LOCAL] });
    const env = { ...OPENAI, ...ANTHROPIC };
    expect(served(env, { model: "anthropic/claude-x" })).toBe("anthropic https://api.anthropic.com claude-x");
    expect(served(env, { model: "llama" })).toBe("local http://l/v1 llama");
    expect(served(env, { model: "claude-x" })).toBe("anthropic https://api.anthropic.com claude-x");
    expect(served(env, { model: "o3" })).toBe("openai https://api.openai.com/v1 o3");
    expect(served({ ...env, ...RETINUE }, { model: "claude-x" })).toBe("retinue http://r/v1 claude-x");
    expect(served(env, { model: "offline" })).toBe("offline - offline");
  });

  test("goes where --provider points: a name, an address, or offline", () => {
    configure({ providers: [LOCAL] });
    expect(served(OPENAI, {}, { provider: "local" })).toBe("local http://l/v1 llama");
    expect(served({ ...OPENAI, RETINUE_MODEL: "m" }, {}, { provider: "http://x/v1" })).toBe("retinue http://x/v1 m");
    expect(served(OPENAI, {}, { provider: "offline" })).toBe("offline - offline");
    expect(() => served(OPENAI, {}, { provider: "ghost" })).toThrow("Known are: openai, local, offline");
  });

  test("must have a name where the endpoint has no usual one", () => {
    expect(() => served({ RETINUE_PROVIDER_URL: "http://r/v1" })).toThrow("RETINUE_MODEL");
    expect(() => served({}, { provider: { baseUrl: "http://s" } })).toThrow("needs a model");
  });

  test("is the same object each time, so that its provider keeps what it has serialised", () => {
    const models = catalog(OPENAI).forSession({});
    expect(models.choose()).toBe(models.choose());
    expect(models.choose("gpt-4.1").provider).toBe(models.choose("o3").provider);
  });

  test.each([
    [{ baseUrl: "http://x" }, "/chat/completions"],
    [{ baseUrl: "http://x", wireApi: "responses" as const }, "/responses"],
    [{ baseUrl: "http://x", type: "azure" as const }, "/chat/completions"],
    [{ baseUrl: "http://x", type: "anthropic" as const }, "/v1/messages"],
  ])("of provider %j is asked at %s", (provider, apiEndpoint) => {
    expect(catalog().forSession({ model: "m", provider }).choose().provider.apiEndpoint).toBe(apiEndpoint);
  });
});

describe("what is known about a model", () => {
  test("is 128,000 prompt tokens and no images unless something says otherwise", () => {
    const { info } = catalog()
      .forSession({ model: "m", provider: { baseUrl: "http://x" } })
      .choose();
    expect(info).toMatchObject({ maxPromptTokens: 128_000, contextWindow: 128_000, vision: false });
  });

  test("comes from the session's capabilities first, then from its provider", () => {
    const provider = { baseUrl: "http://x", maxPromptTokens: 1000, maxOutputTokens: 50 };
    const modelCapabilities = { supports: { vision: true }, limits: { max_prompt_tokens: 500 } };
    expect(catalog().forSession({ model: "m", provider }).choose().info).toMatchObject({
      maxPromptTokens: 1000,
      maxOutputTokens: 50,
    });
    expect(catalog().forSession({ model: "m", provider, modelCapabilities }).choose().info).toMatchObject({
      maxPromptTokens: 500,
      maxOutputTokens: 50,
      vision: true,
    });
  });

  test("comes from the configuration file: limits, images, cost", () => {
    configure({
      providers: [
        { ...LOCAL, models: [{ id: "llama", maxContextWindowTokens: 8192, vision: true, multiplier: 0.25 }] },
      ],
    });
    expect(catalog().forSession({}).choose().info).toMatchObject({
      maxPromptTokens: 8192,
      contextWindow: 8192,
      vision: true,
      multiplier: 0.25,
    });
  });
});

describe("the configuration file", () => {
  test.each([
    ["{", "is not JSON"],
    [{ providers: [{ name: "x" }] }, "baseUrl"],
    [{ providers: [{ name: "a/b", baseUrl: "http://x" }] }, "no slash"],
    [{ providers: [{ name: "a", baseUrl: "ftp://x" }] }, "baseUrl"],
    [{ provider: [] }, "there is no setting 'provider'. Did you mean providers?"],
    [
      { providers: [{ name: "a", baseUrl: "http://x", apikey: "k" }] },
      "there is no setting 'providers[0].apikey'. Did you mean apiKey?",
    ],
    [
      { providers: [{ name: "a", baseUrl: "http://x", models: ["m", { id: "n", maxToken: 5 }] }] },
      "there is no setting 'providers[0].models[1].maxToken'. There are: id, name",
    ],
    [{ subagents: { costguard: true } }, "Did you mean costGuard?"],
    [
      { model: "loacl/m", providers: [{ name: "local", baseUrl: "http://x" }] },
      "model: there is no provider 'loacl'. Did you mean local/m?",
    ],
    [{ model: "work/m" }, "model: there is no provider 'work'. There are: retinue, "],
  ])("that reads %j is refused with its path and the reason", (config, reason) => {
    configure(config);
    let error: unknown;
    try {
      served({});
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: "not_configured", message: expect.stringContaining(reason) });
    expect(String(error)).toContain(join(home, "config.json"));
  });

  test("does not stand in the way of a session that brings its own provider", () => {
    configure("{");
    expect(served({}, { model: "m", provider: { baseUrl: "http://s" } })).toBe("default http://s m");
  });

  test("may hold other settings too", () => {
    configure({ $schema: "x", theme: "dark" });
    expect(served({})).toBe("offline - offline");
  });
});

describe("a request through the catalog", () => {
  test("is signed with the key of its source", async () => {
    await using server = await loopback(
      sse({ choices: [{ delta: { content: "x" }, finish_reason: "stop" }] }, "[DONE]"),
    );
    configure({
      providers: [
        { name: "local", baseUrl: server.url, apiKeyEnv: "LOCAL_KEY", headers: { "x-a": "b" }, models: ["m"] },
      ],
    });
    const { provider, wireModel } = catalog({ LOCAL_KEY: "from-env" }).forSession({}).choose();
    await collect(provider.stream(request(wireModel), { signal }));
    expect(server.received[0]?.headers).toMatchObject({ authorization: "Bearer from-env", "x-a": "b" });
  });

  test("to the client's address is signed with the session's token, else with the client's", async () => {
    await using server = await loopback(sse({ choices: [{ delta: {}, finish_reason: "stop" }] }, "[DONE]"));
    const models = catalog({ COPILOT_API_URL: server.url }, { clientToken: () => "client" });
    for (const session of [{}, { gitHubToken: "session" }]) {
      await collect(models.forSession(session).choose().provider.stream(request("m"), { signal }));
    }
    const sent = server.received.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(["Bearer client", "Bearer session"]);
  });

  test("asks the client for a token before each request when the session says so", async () => {
    await using server = await loopback(namedSse({ type: "message_stop" }));
    const asked: string[] = [];
    const askToken = async (name: string) => `token-${asked.push(name)}`;
    const session = {
      model: "m",
      provider: { type: "anthropic" as const, baseUrl: server.url, apiKey: "k", hasBearerTokenProvider: true },
    };
    const { provider } = catalog().forSession(session, { askToken }).choose();
    for (let i = 0; i < 2; i++) await collect(provider.stream(request("m"), { signal }));
    expect(asked).toEqual(["default", "default"]);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
    expect(() => catalog().forSession(session).choose()).toThrow("no client is attached");
  });

  test("loads the rules of the offline model", async () => {
    const { provider } = catalog().forSession({}).choose();
    const parts = await collect(provider.stream(request("offline"), { signal }));
    expect(parts.at(-1)).toMatchObject({ type: "end" });
  });
});

describe("the list of models", () => {
  test("is asked of the default endpoint, without what cannot hold a conversation", async () => {
    const data = [
      {
        id: "gpt-5",
        object: "model",
        capabilities: { limits: { max_prompt_tokens: 9000 }, supports: { vision: true } },
        billing: { multiplier: 1 },
      },
      { id: "text-embedding-3-small", object: "model" },
      { id: "claude-x", display_name: "Claude X" },
    ];
    await using server = await loopback(json({ object: "list", data }));
    const models = await catalog({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${server.url}/v1` }).list({ signal });
    expect(server.received[0]).toMatchObject({
      method: "GET",
      url: "/v1/models",
      headers: { authorization: "Bearer k" },
    });
    expect(models).toMatchObject([
      {
        id: "gpt-5",
        capabilities: { limits: { max_prompt_tokens: 9000 }, supports: { vision: true } },
        billing: { multiplier: 1 },
      },
      { id: "claude-x", name: "Claude X", capabilities: { limits: { max_context_window_tokens: 128_000 } } },
    ]);
  });

  test("is what the configuration names when it names models", async () => {
    configure({ providers: [{ ...LOCAL, models: ["llama", { id: "big", name: "Big" }] }] });
    expect(await catalog().list({ signal })).toMatchObject([
      { id: "local/llama", name: "local/llama" },
      { id: "local/big", name: "Big" },
    ]);
  });

  test.each([json({}, { status: 500 }), json("nonsense")])(
    "falls back to the default model when the endpoint cannot say",
    async (reply) => {
      await using server = await loopback(reply);
      const env = { RETINUE_PROVIDER_URL: server.url, RETINUE_MODEL: "m" };
      expect(await catalog(env).list({ signal })).toMatchObject([{ id: "m" }]);
    },
  );

  test("is the offline model when nothing is configured", async () => {
    expect(await catalog().list({ signal })).toMatchObject([{ id: "offline" }]);
  });
});
