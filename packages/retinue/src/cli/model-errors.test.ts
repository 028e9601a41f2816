/** What a person reads when the model endpoint fails: a real endpoint on the loopback address for each case. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { brokenSse, json, type Loopback, loopback, type Reply, sse } from "../models/wire/loopback.ts";
import { type PromptOptions, runPrompt } from "./prompt.ts";
import { openTerminal, type TerminalStreams } from "./terminal.ts";

const OPTIONS: PromptOptions = {
  allowTool: [],
  denyTool: [],
  allowAllTools: false,
  addDir: [],
  continue: false,
  stream: true,
  quiet: false,
  outputFormat: "text",
};

interface Said {
  code: number;
  stdout: string;
  stderr: string;
}

/** One prompt in a fresh home, with no waits before another try. */
async function ask(
  env: Record<string, string>,
  { config, ...options }: Partial<PromptOptions> & { config?: unknown } = {},
): Promise<Said> {
  const home = mkdtempSync(join(tmpdir(), "retinue-errors-"));
  const cwd = join(home, "work");
  mkdirSync(cwd);
  if (config !== undefined) writeFileSync(join(home, "config.json"), JSON.stringify(config));
  const [stdin, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const said: Said = { code: -1, stdout: "", stderr: "" };
  out.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
  err.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
  // The streams of a process have more than is used here.
  const terminal = openTerminal({ stdin, stdout: out, stderr: err, env: {} } as unknown as TerminalStreams);
  const full = { RETINUE_HOME: home, RETINUE_MODEL: "small", RETINUE_RETRY_WAIT_MS: "0", ...env };
  try {
    said.code = await runPrompt({ text: "try" }, { ...OPTIONS, ...options }, { terminal, env: full, cwd, program: [] });
    await terminal.flush();
    return said;
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 10 });
  }
}

const at = (server: Loopback, more: Record<string, string> = {}) => ({
  RETINUE_PROVIDER_URL: `${server.url}/v1`,
  ...more,
});
const asked = ({ received }: Loopback) => received.filter(({ method }) => method === "POST").length;

const piece = (content: string, finish: string | null = null) => ({
  id: "x",
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});
const answer = (...pieces: string[]): Reply => sse(...pieces.map((text) => piece(text)), piece("", "stop"), "[DONE]");
const failing = (status: number, message: string, more: Record<string, unknown> = {}): Reply =>
  json({ error: { message, type: "scripted", ...more } }, { status });
const page: Reply = (response) => {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  response.end("<!doctype html><html><head><title>Welcome</title></head><body>Sign in</body></html>");
};

/** No JSON, no words of the protocol, and no traces of the program. */
function expectPlain({ stderr }: Said): void {
  expect(stderr).not.toMatch(/\{"|"\}|JSON|RPC|Request session|\n\s+at |undefined|\[object/);
}

/** The lines that say that it is tried again, and the one that says why it failed. */
const retries = ({ stderr }: Said) => stderr.split("\n").filter((line) => line.includes("trying again"));
const reason = ({ stderr }: Said) => stderr.slice(stderr.indexOf("retinue: ")).trim();

describe("an endpoint that fails", () => {
  test("and recovers leaves one line for each further try, with its count and wait, and the answer", async () => {
    const slow = json({ error: { message: "busy" } }, { status: 503, headers: { "retry-after-ms": "1" } });
    await using server = await loopback(slow, failing(500, "oops"), answer("through"));
    const said = await ask(at(server));
    expect(said).toMatchObject({ code: 0, stdout: "through\n" });
    expect(retries(said)).toEqual([
      expect.stringMatching(/^! the model endpoint answered 503 \(busy\); trying again in 0 s \(2 of 6\)$/),
      expect.stringMatching(/^! the model endpoint answered 500 \(oops\); trying again in 0 s \(3 of 6\)$/),
    ]);
    expectPlain(said);
  });

  test("for good is tried six times and says so once, in the words of the provider", async () => {
    await using server = await loopback(failing(529, "Overloaded"));
    const said = await ask(at(server));
    expect(said.code).toBe(1);
    expect(asked(server)).toBe(6);
    expect(retries(said)).toHaveLength(5);
    expect(reason(said)).toMatch(/retried 5 times .*529 Overloaded$/);
    expectPlain(said);
  });

  test("in quiet mode is only an error", async () => {
    await using server = await loopback(failing(500, "oops"));
    const said = await ask(at(server), { quiet: true });
    expect(said.stderr.trim().split("\n")).toEqual([expect.stringMatching(/^retinue: .*500 oops$/)]);
  });
});

describe("a key that is refused", () => {
  test.each([401, 403])("with %i is not tried again, and the variable that it came from is named", async (status) => {
    await using server = await loopback(failing(status, "Wrong key"));
    const said = await ask(at(server, { RETINUE_API_KEY: "k-1234567890" }));
    expect(said.code).toBe(1);
    expect(asked(server)).toBe(1);
    expect(reason(said)).toContain(`(HTTP ${status}).\n  It said: Wrong key. `);
    expect(reason(said)).toContain("The key comes from RETINUE_API_KEY.");
    expectPlain(said);
  });

  test("and was never given says which variable to set", async () => {
    await using server = await loopback(failing(401, "Missing key"));
    expect(reason(await ask(at(server)))).toContain("No key was sent: set RETINUE_API_KEY.");
  });

  test("of a configured provider names its place in the file, or its variable", async () => {
    await using server = await loopback(failing(401, "Wrong key"));
    const provider = { name: "house", baseUrl: `${server.url}/v1`, models: ["small"] };
    const kept = await ask({}, { config: { providers: [{ ...provider, apiKey: "k-1234567890" }] } });
    expect(reason(kept)).toContain('The key comes from "apiKey" of the provider house in config.json.');
    const named = await ask({ HOUSE_KEY: "k-1" }, { config: { providers: [{ ...provider, apiKeyEnv: "HOUSE_KEY" }] } });
    expect(reason(named)).toContain("The key comes from HOUSE_KEY.");
    const absent = await ask({}, { config: { providers: [{ ...provider, apiKeyEnv: "HOUSE_KEY" }] } });
    expect(reason(absent)).toContain("No key was sent: set HOUSE_KEY.");
  });
});

describe("an address that is wrong", () => {
  test("because nobody listens there is tried twice, and named with its variable", async () => {
    const said = await ask({ RETINUE_PROVIDER_URL: `http://127.0.0.1:${await freePort()}/v1` });
    expect(said.code).toBe(1);
    expect(retries(said)).toEqual([expect.stringContaining("(2 of 2)")]);
    expect(reason(said)).toMatch(
      /to local model provider at http:\/\/127\.0\.0\.1:\d+\/v1\..*\(ECONNREFUSED\).*RETINUE_PROVIDER_URL/s,
    );
    expectPlain(said);
  });

  test("because it is no address of the web names the variable before anything is opened", async () => {
    await expect(ask({ RETINUE_PROVIDER_URL: "localhost:11434" })).rejects.toThrow(
      'RETINUE_PROVIDER_URL is "localhost:11434"; it must be an address such as http://localhost:11434/v1.',
    );
    await expect(ask({ RETINUE_RETRY_WAIT_MS: "soon" })).rejects.toThrow("RETINUE_RETRY_WAIT_MS is");
  });

  test("because there is no such host says so, for --provider too", async () => {
    const said = await ask({}, { provider: "http://no-such-host.invalid/v1" });
    expect(reason(said)).toMatch(/to model provider at http:\/\/no-such-host\.invalid\/v1\..*--provider/s);
    expect(retries(said).length).toBeLessThan(2);
    expectPlain(said);
  });

  test("because a web page is there is not tried again", async () => {
    await using server = await loopback(page);
    const said = await ask(at(server));
    expect(asked(server)).toBe(1);
    expect(reason(said)).toContain(
      "answered with a web page; is it the right URL? It comes from RETINUE_PROVIDER_URL.",
    );
    expectPlain(said);
  });

  test.each<[string, Reply]>([
    ["plain text", (response) => void response.writeHead(200, { "content-type": "text/plain" }).end("It works!")],
    ["an object of another kind", json({ ok: true, items: [1, 2] })],
  ])("because %s is there is not tried again", async (_, reply) => {
    await using server = await loopback(reply);
    const said = await ask(at(server));
    expect(asked(server)).toBe(1);
    expect(reason(said)).toContain("is it the right URL? It comes from RETINUE_PROVIDER_URL.");
    expectPlain(said);
  });

  test("because nothing is at that path says so", async () => {
    await using server = await loopback((response) => void response.writeHead(404).end("404 page not found"));
    const said = await ask(at(server));
    expect(asked(server)).toBe(1);
    expect(reason(said)).toMatch(/404.*Is it the right URL\? It comes from RETINUE_PROVIDER_URL\.$/s);
  });
});

describe("a model that the endpoint does not have", () => {
  const missing = failing(404, "The model `small` does not exist", { code: "model_not_found" });

  test("is answered with those that it has", async () => {
    const models = json({ data: [{ id: "large" }, { id: "medium" }, { id: "text-embedding-3" }] });
    await using server = await loopback((response, received) =>
      (received.method === "GET" ? models : missing)(response, received),
    );
    const said = await ask(at(server));
    expect(asked(server)).toBe(1);
    expect(reason(said)).toMatch(/has no model small: .*It has: large, medium\.$/s);
    expectPlain(said);
  });

  test("is answered with the configured ones where the endpoint has no list", async () => {
    await using server = await loopback(missing);
    const config = { providers: [{ name: "house", baseUrl: `${server.url}/v1`, models: ["one", "two"] }] };
    expect(reason(await ask({}, { config, model: "house/small" }))).toMatch(/config\.json names: one, two\.$/);
  });
});

test("a conversation that has become too long is summarised with a line that says so, and the answer comes", async () => {
  const look = { index: 0, id: "c1", function: { name: "glob", arguments: '{"pattern":"*"}' } };
  const called = { id: "x", choices: [{ index: 0, delta: { tool_calls: [look] }, finish_reason: "tool_calls" }] };
  const tooLong = failing(400, "maximum context length is 8192 tokens", { code: "context_length_exceeded" });
  await using server = await loopback(sse(called, "[DONE]"), tooLong, answer("a summary"), answer("done"));
  const said = await ask(at(server));
  expect(said).toMatchObject({ code: 0, stdout: "done\n" });
  expect(said.stderr).toContain("the conversation is long: making a summary of it");
  await using small = await loopback(tooLong);
  expect(reason(await ask(at(small)))).toMatch(
    /^retinue: This prompt, with .* 400 maximum context length is 8192 tokens$/,
  );
});

describe("a stream that is cut after some text", () => {
  test("is not written again: only what is new follows", async () => {
    await using server = await loopback(brokenSse(piece("one "), piece("two ")), answer("one ", "two ", "three"));
    const said = await ask(at(server));
    expect(said).toMatchObject({ code: 0, stdout: "one two three\n" });
    expect(retries(said)).toEqual([expect.stringContaining("(2 of 6)")]);
  });

  test("has a message id of its own in the events, which no message is completed with", async () => {
    await using server = await loopback(brokenSse(piece("one ")), answer("one ", "two"));
    const { stdout } = await ask(at(server), { outputFormat: "json" });
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const idsOf = (type: string) => events.filter((event) => event.type === type).map(({ data }) => data.messageId);
    const [told] = idsOf("assistant.message");
    expect(idsOf("assistant.message")).toEqual([told]);
    expect(idsOf("assistant.message_delta")).toEqual([expect.not.stringContaining(told), told, told]);
  });

  test("and comes differently begins on a line of its own, and a note says so", async () => {
    await using server = await loopback(brokenSse(piece("one "), piece("two")), answer("one ", "and a half"));
    const said = await ask(at(server));
    expect(said).toMatchObject({ code: 0, stdout: "one two\n\none and a half\n" });
    expect(said.stderr).toContain("the answer was cut off, and what follows is a new one");
  });

  test("and comes shorter is written anew as a whole", async () => {
    await using server = await loopback(brokenSse(piece("one "), piece("two ")), answer("one"));
    expect((await ask(at(server))).stdout).toBe("one two \n\none\n");
  });

  test("twice is still written once", async () => {
    const cut = (...pieces: string[]) => brokenSse(...pieces.map((text) => piece(text)));
    await using server = await loopback(cut("one ", "two "), cut("one"), answer("one two", " three", " four"));
    expect((await ask(at(server))).stdout).toBe("one two three four\n");
  });

  test("for good leaves what came, and the error", async () => {
    await using server = await loopback(brokenSse(piece("half")));
    const said = await ask(at(server));
    expect(said).toMatchObject({ code: 1, stdout: "half\n" });
    expect(asked(server)).toBe(6);
    expectPlain(said);
  });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}
