/** Providers of the host's own: the wire formats, keys, headers and names that a session may ask for. */
import type { ProviderConfig } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, chunks, say } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const probe = {
  name: "probe",
  description: "Probes.",
  parameters: { type: "object", properties: { a: { type: "number" } } },
  skipPermission: true,
  handler: () => "probed",
};

async function openWith(provider: (url: string) => ProviderConfig, extra: object = {}) {
  const endpoint = world.model.endpoint();
  const talk = await openTalk(world, { provider: provider(endpoint.url), tools: [probe], ...extra });
  return Object.assign(talk, { endpoint });
}

const FORMATS: [string, (url: string) => ProviderConfig, RegExp][] = [
  ["OpenAI completions", (baseUrl) => ({ type: "openai", baseUrl, apiKey: "k" }), /\/v1\/chat\/completions$/],
  [
    "OpenAI responses",
    (baseUrl) => ({ type: "openai", wireApi: "responses", baseUrl, apiKey: "k" }),
    /\/v1\/responses$/,
  ],
  ["Anthropic", (url) => ({ type: "anthropic", baseUrl: url.replace(/\/v1$/, ""), apiKey: "k" }), /\/v1\/messages$/],
];

test.each(FORMATS)("%s gives a plain answer", async (_, provider, path) => {
  await using talk = await openWith(provider);
  talk.endpoint.script(say("plain"));
  expect(await talk.ask("hi")).toBe("plain");
  expect(talk.endpoint.lastRequest.path).toMatch(path);
});

test.each(FORMATS)("%s streams an answer", async (_, provider) => {
  await using talk = await openWith(provider, { streaming: true });
  talk.endpoint.script(chunks(5));
  const answer = await talk.ask("hi");
  const deltas = talk.record.all("assistant.message_delta").map(({ data }) => data.deltaContent);
  expect(deltas.join("")).toBe(answer);
  expect(answer).toContain("word4");
});

test.each(FORMATS)("%s calls a host tool and reads its result", async (_, provider) => {
  await using talk = await openWith(provider);
  talk.endpoint.script(call("probe", { a: 1 }, "call_1"), say("done"));
  expect(await talk.ask("probe")).toBe("done");
  expect(talk.record.one("tool.execution_start").data).toMatchObject({ toolName: "probe", arguments: { a: 1 } });
  const second = talk.endpoint.lastRequest.bytes.toString();
  expect(second).toContain("probed");
  expect(second).toContain("call_1");
});

test.each(FORMATS)("%s streams a tool call", async (_, provider) => {
  await using talk = await openWith(provider, { streaming: true });
  talk.endpoint.script(call("probe", { a: 1 }, "call_1"), say("done"));
  expect(await talk.ask("probe")).toBe("done");
  expect(talk.record.one("tool.execution_start").data.arguments).toEqual({ a: 1 });
});

test("an Anthropic provider is given its key in its own header", async () => {
  await using talk = await openWith((url) => ({
    type: "anthropic",
    baseUrl: url.replace(/\/v1$/, ""),
    apiKey: "secret",
  }));
  await talk.ask("hi");
  const { headers } = talk.endpoint.lastRequest;
  expect(headers["x-api-key"]).toBe("secret");
  expect(headers["anthropic-version"]).toBeTruthy();
});

test("headers of the provider are sent with every request", async () => {
  await using talk = await openWith((baseUrl) => ({ type: "openai", baseUrl, headers: { "x-team": "blue" } }));
  await talk.ask("hi");
  expect(talk.endpoint.lastRequest.headers["x-team"]).toBe("blue");
});

test("a bearer token is preferred to the key", async () => {
  await using talk = await openWith((baseUrl) => ({ type: "openai", baseUrl, apiKey: "key", bearerToken: "token" }));
  await talk.ask("hi");
  expect(talk.endpoint.lastRequest.headers.authorization).toBe("Bearer token");
});

test("a token provider of the host is asked for the token", async () => {
  let asked = 0;
  const bearerTokenProvider = async () => `token-${++asked}`;
  await using talk = await openWith((baseUrl) => ({ type: "openai", baseUrl, bearerTokenProvider }));
  await talk.ask("hi");
  expect(talk.endpoint.lastRequest.headers.authorization).toMatch(/^Bearer token-\d+$/);
  expect(asked).toBeGreaterThan(0);
});

test("a provider without a key is asked without one", async () => {
  await using talk = await openWith((baseUrl) => ({ type: "openai", baseUrl }));
  expect(await talk.ask("hi")).toBe("ok");
});

test("the wire model is the name that the provider reads", async () => {
  await using talk = await openWith((baseUrl) => ({ type: "openai", baseUrl, wireModel: "deployed-as-this" }));
  await talk.ask("hi");
  expect(talk.endpoint.lastRequest.body.model).toBe("deployed-as-this");
});

test("headers of one prompt are sent with its requests", async () => {
  await using talk = await openWith((baseUrl) => ({ type: "openai", baseUrl }));
  await talk.session.rpc.send({ prompt: "hi", requestHeaders: { "x-request-kind": "urgent" } });
  await talk.record.until("session.idle");
  expect(talk.endpoint.lastRequest.headers["x-request-kind"]).toBe("urgent");
});

test("named providers and models can be offered together and chosen by name", async () => {
  const [red, blue] = [world.model.endpoint(), world.model.endpoint()];
  red.script(say("red answer"));
  blue.script(say("blue answer"));
  const providers = [
    { name: "red", type: "openai" as const, baseUrl: red.url, apiKey: "k" },
    { name: "blue", type: "openai" as const, baseUrl: blue.url, apiKey: "k" },
  ];
  const models = [
    { id: "m1", provider: "red" },
    { id: "m2", provider: "blue" },
  ];
  await using talk = await openTalk(world, { provider: undefined, model: "blue/m2", providers, models });
  expect(await talk.ask("hi")).toBe("blue answer");
});
