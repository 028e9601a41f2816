import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { say } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { hookIdentity, hookLine } from "./file-hook.ts";
import { parseHookFile } from "./hook-file.ts";
import { aCall, allow, copilot, discovering, ends, put, results, warnings } from "./test-hook-files.ts";

interface Answer {
  status?: number;
  body?: string;
  headers?: Record<string, string>;
}

/** Somebody on this machine who is asked over HTTP. `undefined` never answers. */
async function asked(
  answer: (path: string) => Answer | undefined,
  onRequest: (request: IncomingMessage) => void = () => undefined,
) {
  const requests: { path: string; headers: IncomingHttpHeaders; payload: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    onRequest(request);
    requests.push({ path, headers: request.headers, payload: JSON.parse((await text(request)) || "null") });
    const said = answer(path);
    if (!said) return;
    response.writeHead(said.status ?? 200, said.headers);
    response.end(said.body ?? "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/hook`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const hasRun = ({ folder }: SmallWorld) => existsSync(join(folder, "ran"));
const own = (url: string, more = {}) => ({
  ".github/hooks/h.json": copilot({ preToolUse: [{ type: "http", url, ...more }] }),
});
const claude = (url: string, more = {}) => ({
  ".claude/settings.json": { hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "http", url, ...more }] }] } },
});
const denial = JSON.stringify({ permissionDecision: "deny", permissionDecisionReason: "not on Sunday" });

describe("a hook that is an address", () => {
  test("gets the payload of a command, and its answer decides", async () => {
    await using there = await asked(() => ({ body: denial }));
    await aCall(own(there.url), (world) => {
      expect(hasRun(world)).toBe(false);
      expect(results(world)[0]?.error?.message).toBe("not on Sunday");
      expect(there.requests).toMatchObject([
        {
          headers: { "content-type": "application/json" },
          payload: { toolName: "bash", toolArgs: { command: "echo done > ran" }, cwd: world.folder },
        },
      ]);
      expect(ends(world)[0]).toMatchObject({ success: true, source: { command: `POST ${there.url}` } });
    });
  });

  test("in Claude Code's spelling gets and answers what Claude Code says", async () => {
    const answer = { hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "no shell" } };
    await using there = await asked(() => ({ body: JSON.stringify(answer) }));
    await aCall(claude(there.url), (world) => {
      expect(results(world)[0]?.error?.message).toBe("no shell");
      expect(there.requests[0]?.payload).toMatchObject({ hook_event_name: "PreToolUse", tool_name: "Bash" });
    });
  });

  test("that says nothing lets the call be", async () => {
    await using there = await asked(() => ({ status: 204 }));
    await aCall(own(there.url), (world) => expect(hasRun(world)).toBe(true));
  });

  test("may answer in plain words, which are context where those of a command are", async () => {
    await using there = await asked(() => ({ body: "WELCOME" }));
    await inSmallWorld([[say("hello")]], async (world) => {
      put(world, ".github/hooks/h.json", copilot({ sessionStart: [{ type: "http", url: there.url }] }));
      await allow(world);
      await world.send(await world.create(discovering), "go");
      expect(JSON.stringify(world.provider.requests[0]?.messages)).toContain("WELCOME");
    });
  });

  test.each<[string, Answer | undefined, string]>([
    ["answers with an error", { status: 500, body: "out of order" }, "it was answered with HTTP 500 (out of order)"],
    ["sends us elsewhere", { status: 307, headers: { location: "/other" } }, "HTTP 307"],
    ["answers half an object", { body: '{"permissionDecision": "al' }, "cannot be read"],
    ["answers without end", { body: "x".repeat(2_000_000) }, "sent more than"],
    ["never answers", undefined, "did not answer within 1 s"],
  ])("and %s denies the call in our spelling, and has no effect in that of Claude Code", async (_, answer, words) => {
    await using there = await asked(() => answer);
    await aCall(own(there.url, { timeoutSec: 1 }), (world) => {
      expect(hasRun(world)).toBe(false);
      expect(results(world)[0]?.error?.message).toContain(words);
    });
    await aCall(claude(there.url, { timeout: 1 }), (world) => {
      expect(hasRun(world)).toBe(true);
      expect(warnings(world)).toEqual([expect.stringContaining(words)]);
    });
    expect(there.requests.map(({ path }) => path)).toEqual(["/hook", "/hook"]);
  });

  test("that nobody listens at is a failure", async () => {
    const there = await asked(() => ({}));
    await there[Symbol.asyncDispose]();
    await aCall(own(there.url), (world) => expect(results(world)[0]?.error?.message).toContain("could not be asked"));
  });

  test("gets the variables that it may have in its headers, no others, and none of our credentials", async () => {
    const env = { HOOK_TOKEN: "q7Zk2PwX9vLm4TrB", HOOK_OTHER: "other", OPENAI_API_KEY: "sk-of-the-test" };
    Object.assign(process.env, env);
    try {
      await using there = await asked(() => ({ status: 403, body: `no: ${env.HOOK_TOKEN}` }));
      const headers = {
        authorization: "Bearer $HOOK_TOKEN",
        "x-other": "<$HOOK_OTHER>",
        "x-key": "<$OPENAI_API_KEY>",
      };
      const more = { headers, allowedEnvVars: ["HOOK_TOKEN", "OPENAI_API_KEY"] };
      await aCall(own(there.url, more), (world) => {
        const sent = { authorization: `Bearer ${env.HOOK_TOKEN}`, "x-other": "<>", "x-key": "<>" };
        expect(there.requests[0]?.headers).toMatchObject(sent);
        expect(warnings(world).join()).toContain("allowedEnvVars does not name it");
        expect(JSON.stringify(world.client.events)).not.toContain(env.HOOK_TOKEN);
      });
    } finally {
      for (const name of Object.keys(env)) delete process.env[name];
    }
  });

  test("is not asked in a folder that nobody trusts, nor when its address has changed since", async () => {
    await using there = await asked(() => ({ body: denial }));
    for (const isTrusted of [false, true])
      await inSmallWorld([[say("hello")]], async (world) => {
        const start = (url: string) => copilot({ sessionStart: [{ type: "http", url }] });
        put(world, ".github/hooks/h.json", start(there.url));
        if (isTrusted) await allow(world);
        put(world, ".github/hooks/h.json", start(`${there.url}/more`));
        await world.send(await world.create(discovering), "go");
        expect(warnings(world)[0]).toContain(`POST ${there.url}/more`);
      });
    expect(there.requests).toEqual([]);
  });

  test("that nobody waits for is left when the session closes", async () => {
    const gone: Promise<unknown>[] = [];
    await using there = await asked(
      () => undefined,
      (request) => gone.push(once(request.socket, "close")),
    );
    await inSmallWorld([[say("hello")]], async (world) => {
      put(
        world,
        ".github/hooks/h.json",
        copilot({ agentStop: [{ type: "http", url: there.url, async: true, timeoutSec: 3600 }] }),
      );
      await allow(world);
      await world.send(await world.create(discovering), "go");
      await expect.poll(() => gone.length).toBe(1);
    });
    await gone[0];
  });

  test("is left when the run is aborted", async () => {
    await using there = await asked(() => undefined);
    await inSmallWorld([[say("never")]], async (world) => {
      put(world, ".github/hooks/h.json", copilot({ userPromptSubmitted: [{ type: "http", url: there.url }] }));
      await allow(world);
      const sessionId = await world.create(discovering);
      await world.client.call("session.send", { sessionId, prompt: "go" });
      await expect.poll(() => there.requests.length).toBe(1);
      await world.client.call("session.abort", { sessionId });
      await world.client.received("session.idle");
      expect(world.provider.requests).toEqual([]);
    });
  });
});

describe("an entry with an address", () => {
  const parsed = (entry: object) =>
    parseHookFile(JSON.stringify({ hooks: { preToolUse: [{ type: "http", ...entry }] } }), "f.json");

  test.each([
    ["no address", {}, "it names no url"],
    ["a word", { url: "here" }, "it is not an address"],
    ["no encryption", { url: "http://example.com/" }, "it is not encrypted"],
    ["a password", { url: "https://me:secret@example.com/" }, "user name or a password"],
    ["a file", { url: "file:///etc/passwd" }, "it is not encrypted"],
    [
      "a variable that is none",
      { url: "https://example.com", allowedEnvVars: ["A) (sends nothing"] },
      "allowedEnvVars",
    ],
    ["a header that is none", { url: "https://example.com", headers: { "a b": "c" } }, "headers"],
  ])("that has %s does not run", (_, entry, words) => {
    const { hooks, problems } = parsed(entry);
    expect(hooks).toEqual([]);
    expect(problems.join()).toContain(words);
  });

  test("says which fields are those of a command", () => {
    expect(parsed({ url: "https://example.com", bash: "x" }).problems).toEqual([
      expect.stringContaining("the field bash has no effect"),
    ]);
  });

  test("is another one when anything of it changes, and shows a person all that it sends", () => {
    const url = "https://example.com/";
    const entries = [
      {},
      { headers: { a: "b" } },
      { headers: { a: "c" } },
      { headers: { c: "b" } },
      { allowedEnvVars: ["A"] },
      { timeoutSec: 5 },
      { url: "https://example.com/x" },
    ];
    const hooks = entries.flatMap((entry) => parsed({ url, ...entry }).hooks);
    expect(new Set(hooks.map(hookIdentity)).size).toBe(entries.length);
    const [shown] = parsed({ url, headers: { authorization: "Bearer $T" }, allowedEnvVars: ["T"] }).hooks.map(hookLine);
    expect(shown).toBe('preToolUse: POST https://example.com/ with authorization: "Bearer $T" (sends the variables T)');
  });
});
