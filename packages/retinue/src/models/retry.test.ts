import { describe, expect, test } from "vitest";
import { ModelCallFailed } from "./call-failed.ts";
import { ModelError, type ModelRequest, type Part, type Provider } from "./provider.ts";
import { type FailedAttempt, withRetries } from "./retry.ts";
import { type ScriptedProvider, say, scripted, type Turn } from "./scripted.ts";

const request: ModelRequest = { model: "m", system: "", messages: [], tools: [], stream: true };
const api = (status: number, message: string, more: { retryAfterMs?: number; providerCode?: string } = {}) =>
  new ModelError(`${status} ${message}`, { kind: "api", status, ...more });
const transport = (providerCode?: string) => new ModelError("connection lost", { kind: "transport", providerCode });
const times = (count: number, error: Error): Turn[] => Array.from({ length: count }, () => error);

interface Trial {
  parts: Part[];
  failures: FailedAttempt[];
  slept: number[];
  restarts: number;
  error?: unknown;
  provider: ScriptedProvider;
}

async function attempt(
  turns: Turn[],
  { random = 0.5, ...settings }: { random?: number } & Pick<Provider, "origin" | "retryWaitMs" | "models"> = {},
): Promise<Trial> {
  const provider = scripted(turns);
  const trial: Trial = { parts: [], failures: [], slept: [], restarts: 0, provider };
  const answered = withRetries({ ...provider, baseUrl: "http://model.test/v1", ...settings }, request, {
    signal: new AbortController().signal,
    onPart: (part) => trial.parts.push(part),
    onFailure: (failure) => trial.failures.push(failure),
    onRestart: () => {
      trial.parts = [];
      trial.restarts++;
    },
    sleep: async (ms) => trial.slept.push(ms),
    random: () => random,
  });
  try {
    await answered;
  } catch (error) {
    trial.error = error;
  }
  return trial;
}

describe("a failing model call", () => {
  test.each([
    ["400", api(400, "bad thing"), 1],
    ["404", api(404, "no model"), 1],
    ["403", api(403, "no"), 1],
    ["422", api(422, "no"), 1],
    ["401", api(401, "no key"), 1],
    ["408", api(408, "late"), 6],
    ["429", api(429, "slow down"), 6],
    ["500", api(500, "oops"), 6],
    ["529", api(529, "overloaded"), 6],
    ["a broken connection", transport("ECONNRESET"), 6],
    ["a refused connection", transport("ECONNREFUSED"), 2],
    ["an unknown host", transport("ENOTFOUND"), 2],
    ["a certificate that is not trusted", transport("DEPTH_ZERO_SELF_SIGNED_CERT"), 2],
    ["a quota that is used up", api(429, "quota", { providerCode: "insufficient_quota" }), 1],
    ["a context that is too long", new ModelError("prompt is too long", { kind: "api" }), 1],
    ["a web page", new ModelError("a page", { kind: "protocol", isElsewhere: true }), 1],
    ["a protocol fault", new ModelError("broken JSON", { kind: "protocol" }), 6],
    ["an API error without a status", new ModelError("odd", { kind: "api" }), 6],
  ])("with %s is tried as often as the table says", async (_, error, count) => {
    const { failures, error: final, provider } = await attempt(times(count, error));
    expect(failures.map((failure) => failure.attempt)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    expect(failures.map((failure) => failure.willRetry)).toEqual([...Array(count - 1).fill(true), false]);
    expect(final).toBeInstanceOf(ModelCallFailed);
    expect((final as ModelCallFailed).last).toBe(error);
    provider.assertSpent();
  });

  test("waits as long at first as its provider is set to", async () => {
    const retryWaitMs = 40;
    expect((await attempt(times(6, api(500, "oops")), { retryWaitMs })).slept).toEqual([40, 80, 160, 320, 640]);
    expect((await attempt(times(2, transport("ECONNREFUSED")), { retryWaitMs: 0 })).slept).toEqual([0]);
  });

  test("waits twice as long each time after 500, with jitter", async () => {
    expect((await attempt(times(6, api(500, "oops")))).slept).toEqual([500, 1000, 2000, 4000, 8000]);
    expect((await attempt(times(6, api(500, "oops")), { random: 0 })).slept).toEqual([375, 750, 1500, 3000, 6000]);
    expect((await attempt(times(6, api(500, "oops")), { random: 1 })).slept).toEqual([625, 1250, 2500, 5000, 10_000]);
  });

  test("waits at least as long as the endpoint asks", async () => {
    const error = api(429, "slow down", { retryAfterMs: 3000 });
    expect((await attempt(times(6, error), { random: 0 })).slept).toEqual(Array(5).fill(3000));
    expect((await attempt(times(6, error), { random: 1 })).slept).toEqual(Array(5).fill(3300));
  });

  test("is not tried again when the endpoint asks for hours", async () => {
    const { slept, error } = await attempt([api(429, "tomorrow", { retryAfterMs: 3_600_000 })]);
    expect(slept).toEqual([]);
    expect(error).toMatchObject({ errorType: "rate_limit", message: "429 tomorrow" });
  });

  test("gives the parts of the attempt that succeeds", async () => {
    const { parts, restarts, provider } = await attempt([api(500, "oops"), [say("hello")]]);
    expect(parts).toMatchObject([say("hello"), { type: "end" }]);
    expect(restarts).toBe(0);
    provider.assertSpent();
  });

  test("that breaks after parts have come tells the reader to start over", async () => {
    const { parts, restarts } = await attempt([[say("hal"), transport()], [say("hello")]]);
    expect(restarts).toBe(1);
    expect(parts).toMatchObject([say("hello"), { type: "end" }]);
  });

  test("ends the wait when it is aborted", async () => {
    const stop = new AbortController();
    const answered = withRetries(scripted([api(500, "oops")]), request, {
      signal: stop.signal,
      onPart: () => undefined,
      onFailure: () => queueMicrotask(() => stop.abort(new Error("enough"))),
    });
    await expect(answered).rejects.toThrow("enough");
  });

  test("is not tried again after an abort", async () => {
    const stop = new AbortController();
    const failures: FailedAttempt[] = [];
    const provider: Provider = {
      id: "p",
      apiEndpoint: "offline",
      // biome-ignore lint/correctness/useYield: it fails before the first part
      async *stream() {
        stop.abort(new Error("enough"));
        throw transport();
      },
    };
    const answered = withRetries(provider, request, {
      signal: stop.signal,
      onPart: () => undefined,
      onFailure: (failure) => failures.push(failure),
    });
    await expect(answered).rejects.toThrow("enough");
    expect(failures).toEqual([]);
  });

  test("lets an error of our own pass at once", async () => {
    const { failures, error } = await attempt([new TypeError("a bug")]);
    expect(error).toBeInstanceOf(TypeError);
    expect(failures).toEqual([]);
  });
});

describe("the final error", () => {
  test.each([
    [1, api(400, "bad thing"), "query", "400 bad thing"],
    [
      1,
      api(401, "no key"),
      "authentication",
      "Authentication failed with provider at http://model.test/v1 (HTTP 401).",
    ],
    [
      1,
      api(404, "nothing"),
      "query",
      "Resource not found on provider at http://model.test/v1 (HTTP 404).\n  Is it the right URL?",
    ],
    [
      6,
      api(429, "slow down"),
      "rate_limit",
      "Failed to get response from the AI model; retried 5 times (total retry wait time: 15.50 seconds) Last error: 429 slow down",
    ],
    [
      6,
      api(500, "oops"),
      "query",
      "Failed to get response from the AI model; retried 5 times (total retry wait time: 15.50 seconds) Last error: 500 oops",
    ],
    [6, transport(), "query", "Last error: connection lost"],
    [
      2,
      transport("ECONNREFUSED"),
      "query",
      "Could not connect to model provider at http://model.test/v1.\n  Is it running? (ECONNREFUSED)",
    ],
    [
      2,
      transport("EPROTO"),
      "query",
      "Could not connect to model provider at http://model.test/v1.\n  It does not speak TLS",
    ],
    [2, transport("CERT_HAS_EXPIRED"), "query", "Its certificate is not trusted"],
    [1, api(413, "Payload Too Large"), "context_limit", "413 Payload"],
    [1, api(400, "Input is too long for requested model"), "context_limit", "400 Input"],
    [1, api(400, "This model's maximum context length is 8192 tokens"), "context_limit", "400 This model's maximum"],
    [1, api(400, "too long", { providerCode: "context_length_exceeded" }), "context_limit", "400 too long"],
    [1, api(400, "prompt is too long: 210000 tokens > 200000 maximum"), "context_limit", "400 prompt is too long"],
  ])("after %s attempts of %s is of the class %s", async (count, error, errorType, message) => {
    const { error: final } = await attempt(times(count, error));
    expect(final).toMatchObject({ errorType, statusCode: error.status, code: "model_failed" });
    expect((final as Error).message).toContain(message);
  });
});

describe("a model that the endpoint does not have", () => {
  const notThere = (status: number, said: string, providerCode?: string) =>
    new ModelError(`${status} ${said}`, { kind: "api", status, said, providerCode });
  const models = async () => Array.from({ length: 40 }, (_, at) => `m${at}`);

  test.each([
    notThere(404, "The model `m` does not exist or you do not have access to it.", "model_not_found"),
    notThere(404, 'model "m" not found, try pulling it first'),
    notThere(404, "model: claude-none"),
    notThere(400, "m is not a valid model ID"),
    notThere(404, "The API deployment for this resource does not exist.", "DeploymentNotFound"),
  ])("is recognised, and the first models of the endpoint are listed: %s", async (error) => {
    const { error: final } = await attempt([error], { models });
    expect((final as Error).message).toMatch(
      /\(HTTP 40.\)\.\n {2}It has no model m: .*[^.]\. It has: m0, m1, .*m29 and 10 more\.$/,
    );
  });

  test("is not assumed when something else was not found", async () => {
    const { error } = await attempt([notThere(400, "tool_call_id not found in model output")], { models });
    expect((error as Error).message).toBe("400 tool_call_id not found in model output");
  });
});

describe("an attempt that the endpoint may charge for", () => {
  const gateway = new ModelError("504 late", { kind: "api", status: 504 });
  test.each<[string, Turn, boolean]>([
    ["it broke after its first part", [say("hal"), transport("ECONNRESET")], true],
    ["it broke before its first part", [transport("ECONNRESET")], true],
    ["the answer was no answer", [new ModelError("broken JSON", { kind: "protocol" })], true],
    ["a gateway has waited in vain", [gateway], true],
    ["an error came after its first part", [say("hal"), api(500, "oops")], true],
    ["the endpoint has refused it", [api(429, "slow down")], false],
    ["the connection was refused", transport("ECONNREFUSED"), false],
  ])("is told, and the next one is asked for anew: %s", async (_, turn, isWasted) => {
    const provider = scripted([turn, [say("hello")]]);
    const story: string[] = [];
    await withRetries(provider, request, {
      signal: new AbortController().signal,
      onPart: () => undefined,
      onWasted: () => story.push("wasted"),
      onRestart: () => story.push("restart"),
      renew: async () => {
        story.push("renewed");
        return { ...request, maxOutputTokens: 7 };
      },
      sleep: async () => undefined,
    });
    expect(story.filter((each) => each !== "restart")).toEqual(isWasted ? ["wasted", "renewed"] : []);
    expect(provider.requests.at(-1)?.maxOutputTokens).toBe(isWasted ? 7 : undefined);
  });

  test("is told when it was aborted on its way, and not when it was aborted before", async () => {
    for (const isSent of [true, false]) {
      const stop = new AbortController();
      let wasted = 0;
      const provider = scripted([[new Promise(() => undefined)]]);
      if (!isSent) stop.abort(new Error("enough"));
      const answered = withRetries(provider, request, {
        signal: stop.signal,
        onPart: () => undefined,
        onWasted: () => wasted++,
      });
      stop.abort(new Error("enough"));
      await expect(answered).rejects.toThrow("enough");
      expect(wasted).toBe(isSent ? 1 : 0);
    }
  });

  test("is the last one when the next does not fit", async () => {
    const provider = scripted([[say("hal"), transport()]]);
    const renew = async () => {
      throw new Error("used up");
    };
    const answered = withRetries(provider, request, {
      signal: new AbortController().signal,
      onPart: () => undefined,
      renew,
      sleep: async () => undefined,
    });
    await expect(answered).rejects.toThrow("used up");
    provider.assertSpent();
  });
});
