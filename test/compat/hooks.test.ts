/** Hooks: the input of each type, what each answer does, and that a broken hook breaks nothing. */
import type { SessionHooks } from "@github/copilot-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, say, status } from "../support/model-answers.ts";
import { ours, startClient, type World } from "../support/runtime.ts";
import { openTalk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

const BASH = call("bash", { command: "echo original", description: "Say it" }, "call-1");

const probe = (handler: (args: unknown) => unknown = () => "probed") => ({
  name: "probe",
  description: "Probes.",
  parameters: { type: "object" },
  skipPermission: true,
  handler,
});

const withHooks = (hooks: SessionHooks, extra: object = {}) => openTalk(world, { hooks, ...extra });

test.runIf(ours)("a runtime that is told to do so takes the hooks of every client for guards", async () => {
  await using strict = await startClient({ env: { RETINUE_HOOKS_ON_ERROR: "deny" } });
  const nonsense = (() => ({ permissionDecision: "denied" })) as unknown as SessionHooks["onPreToolUse"];
  for (const [runtime, isDenied] of [
    [strict, true],
    [world, false],
  ] as const) {
    await using talk = await openTalk(runtime, { hooks: { onPreToolUse: nonsense } });
    talk.model.script(BASH, say("done"));
    await talk.ask("go");
    const { success, error } = talk.record.one("tool.execution_complete").data;
    expect(success).toBe(!isDenied);
    if (isDenied) expect(error?.message).toContain("its answer cannot be read (permissionDecision)");
  }
});

test("a run calls the hooks in this order", async () => {
  const order: string[] = [];
  const note = (name: string) => () => {
    order.push(name);
  };
  await using talk = await withHooks({
    onUserPromptSubmitted: note("userPromptSubmitted"),
    onUserPromptTransformed: note("userPromptTransformed"),
    onSessionStart: note("sessionStart"),
    onPreToolUse: note("preToolUse"),
    onPostToolUse: note("postToolUse"),
    onPostToolUseFailure: note("postToolUseFailure"),
    onAgentStop: note("agentStop"),
    onSessionEnd: note("sessionEnd"),
    onErrorOccurred: note("errorOccurred"),
  });
  talk.model.script(BASH, say("done"), say("again"));
  await talk.ask("first");
  const first = [
    "userPromptSubmitted",
    "userPromptTransformed",
    "sessionStart",
    "preToolUse",
    "postToolUse",
    "agentStop",
    "sessionEnd",
  ];
  expect(order).toEqual(first);
  await talk.ask("second");
  expect(order.slice(first.length)).toEqual([
    "userPromptSubmitted",
    "userPromptTransformed",
    "agentStop",
    "sessionEnd",
  ]);
});

test("every hook is told the session, the folder and the time", async () => {
  const inputs: { sessionId: string; workingDirectory: string; timestamp: Date | number }[] = [];
  const keep = (input: (typeof inputs)[number]) => void inputs.push(input);
  await using talk = await withHooks({
    onUserPromptSubmitted: keep,
    onSessionStart: keep,
    onPreToolUse: keep,
    onPostToolUse: keep,
    onAgentStop: keep,
    onSessionEnd: keep,
  });
  talk.model.script(BASH, say("done"));
  await talk.ask("go");
  expect(inputs).toHaveLength(6);
  for (const input of inputs) {
    expect(input).toMatchObject({ sessionId: talk.session.sessionId, workingDirectory: world.folder });
    expect(Number(input.timestamp)).toBeGreaterThan(0);
  }
});

test("each call of a hook stands between hook.start and hook.end", async () => {
  await using talk = await withHooks({ onUserPromptSubmitted: () => ({ modifiedPrompt: "changed" }) });
  await talk.ask("go");
  const start = await talk.record.until("hook.start", {
    passes: ({ data }) => data.hookType === "userPromptSubmitted",
  });
  const { hookInvocationId } = start.data;
  const end = await talk.record.until("hook.end", { passes: ({ data }) => data.hookInvocationId === hookInvocationId });
  expect(end.data).toMatchObject({ hookType: "userPromptSubmitted", success: true });
});

test("userPromptSubmitted may replace the prompt", async () => {
  const prompts: string[] = [];
  await using talk = await withHooks({
    onUserPromptSubmitted: ({ prompt }) => {
      prompts.push(prompt);
      return { modifiedPrompt: "the changed prompt" };
    },
  });
  await talk.ask("the first prompt");
  expect(prompts).toEqual(["the first prompt"]);
  expect(talk.model.lastRequest.lastText).toContain("the changed prompt");
  expect(talk.model.lastRequest.lastText).not.toContain("the first prompt");
});

test("userPromptSubmitted may add context to the prompt", async () => {
  await using talk = await withHooks({ onUserPromptSubmitted: () => ({ additionalContext: "it is raining" }) });
  await talk.ask("shall we go out?");
  expect(talk.model.lastRequest.lastText).toMatch(/shall we go out\?[\s\S]*it is raining/);
});

test("userPromptTransformed sees and may replace what the model reads", async () => {
  const seen: unknown[] = [];
  await using talk = await withHooks({
    onUserPromptTransformed: ({ prompt, transformedPrompt }) => {
      seen.push({ prompt, contains: transformedPrompt.includes("as typed") });
      return { modifiedTransformedPrompt: "as the model shall read it" };
    },
  });
  await talk.ask("as typed");
  expect(seen).toEqual([{ prompt: "as typed", contains: true }]);
  expect(talk.model.lastRequest.lastText).toBe("as the model shall read it");
});

test("sessionStart is told where the session comes from and may add a message before the prompt", async () => {
  const seen: unknown[] = [];
  await using talk = await withHooks({
    onSessionStart: ({ source, initialPrompt }) => {
      seen.push({ source, initialPrompt });
      return { additionalContext: "house rules" };
    },
  });
  await talk.ask("hello");
  expect(seen).toEqual([{ source: "new", initialPrompt: "hello" }]);
  const texts = talk.model.lastRequest.texts("user").join("\n---\n");
  expect(texts).toMatch(/house rules[\s\S]*hello/);
});

test("preToolUse is told the tool and its arguments before anybody is asked for permission", async () => {
  const order: string[] = [];
  await using talk = await withHooks(
    {
      onPreToolUse: ({ toolName, toolArgs }) => {
        order.push(`hook ${toolName} ${JSON.stringify(toolArgs)}`);
      },
    },
    {
      onPermissionRequest: () => {
        order.push("permission");
        return { kind: "approve-once" };
      },
    },
  );
  talk.model.script(BASH, say("done"));
  await talk.ask("go");
  expect(order).toEqual(['hook bash {"command":"echo original","description":"Say it"}', "permission"]);
});

test("preToolUse may allow a call, and then nobody is asked", async () => {
  await using talk = await withHooks({ onPreToolUse: () => ({ permissionDecision: "allow" }) });
  talk.model.script(BASH, say("done"));
  await talk.ask("go");
  expect(talk.record.all("permission.requested").filter(({ data }) => !data.resolvedByHook)).toEqual([]);
  expect(talk.record.one("tool.execution_complete").data.success).toBe(true);
});

test("preToolUse may deny a call with a reason that the model reads", async () => {
  const permissionDecisionReason = "not on a Sunday";
  await using talk = await withHooks({
    onPreToolUse: () => ({ permissionDecision: "deny", permissionDecisionReason }),
  });
  talk.model.script(BASH, say("I see"));
  expect(await talk.ask("go")).toBe("I see");
  expect(talk.record.one("tool.execution_complete").data).toMatchObject({ success: false, error: { code: "denied" } });
  expect(talk.model.lastRequest.texts("tool")[0]).toContain(permissionDecisionReason);
});

test("preToolUse may demand an ask, even for a tool that needs none", async () => {
  const asked: unknown[] = [];
  await using talk = await withHooks(
    { onPreToolUse: () => ({ permissionDecision: "ask", permissionDecisionReason: "please look" }) },
    {
      tools: [probe()],
      onPermissionRequest: (request: object) => {
        asked.push(request);
        return { kind: "approve-once" };
      },
    },
  );
  talk.model.script(call("probe", { a: 1 }), say("done"));
  await talk.ask("go");
  expect(asked).toMatchObject([{ kind: "hook", toolName: "probe" }]);
  expect(talk.record.one("tool.execution_complete").data.success).toBe(true);
});

test("preToolUse may change the arguments", async () => {
  const seen: unknown[] = [];
  await using talk = await withHooks(
    { onPreToolUse: () => ({ modifiedArgs: { changed: true } }) },
    { tools: [probe((args) => void seen.push(args))] },
  );
  talk.model.script(call("probe", { changed: false }), say("done"));
  await talk.ask("go");
  expect(seen).toEqual([{ changed: true }]);
});

test("preToolUse may add context that the model reads after the result", async () => {
  await using talk = await withHooks({ onPreToolUse: () => ({ additionalContext: "mind the gap" }) });
  talk.model.script(BASH, say("done"));
  await talk.ask("go");
  const { messages } = talk.model.lastRequest;
  const tool = messages.findIndex(({ role }) => role === "tool");
  const context = messages.findIndex(({ content }) => JSON.stringify(content).includes("mind the gap"));
  expect(context).toBeGreaterThanOrEqual(tool);
});

test("postToolUse is told the result and may replace it", async () => {
  const seen: unknown[] = [];
  await using talk = await withHooks(
    {
      onPostToolUse: ({ toolName, toolArgs, toolResult }) => {
        seen.push({ toolName, toolArgs, toolResult });
        return { modifiedResult: { textResultForLlm: "the polished result", resultType: "success" } };
      },
    },
    { tools: [probe(() => "the raw result")] },
  );
  talk.model.script(call("probe", { a: 1 }), say("done"));
  await talk.ask("go");
  const toolResult = { textResultForLlm: "the raw result", resultType: "success" };
  expect(seen).toMatchObject([{ toolName: "probe", toolArgs: { a: 1 }, toolResult }]);
  expect(talk.model.lastRequest.texts("tool")).toEqual(["the polished result"]);
});

test("postToolUse may add context to the result", async () => {
  await using talk = await withHooks(
    { onPostToolUse: () => ({ additionalContext: "and a note" }) },
    { tools: [probe()] },
  );
  talk.model.script(call("probe"), say("done"));
  await talk.ask("go");
  expect(talk.model.lastRequest.texts("tool")[0]).toMatch(/^probed[\s\S]*and a note/);
});

test("a failed call goes to postToolUseFailure and not to postToolUse", async () => {
  const seen: unknown[] = [];
  await using talk = await withHooks(
    {
      onPostToolUse: () => void seen.push("success hook"),
      onPostToolUseFailure: ({ toolName, toolArgs, error }) => {
        seen.push({ toolName, toolArgs, error });
        return { additionalContext: "try the other one" };
      },
    },
    { tools: [probe(() => ({ textResultForLlm: "it broke", resultType: "failure", error: "broken" }))] },
  );
  talk.model.script(call("probe", { a: 1 }), say("done"));
  await talk.ask("go");
  expect(seen).toEqual([{ toolName: "probe", toolArgs: { a: 1 }, error: "broken" }]);
  expect(JSON.stringify(talk.model.lastRequest.messages)).toContain("try the other one");
});

test("a command that ends with another code than 0 has succeeded as a call", async () => {
  const seen: string[] = [];
  await using talk = await withHooks({
    onPostToolUse: () => void seen.push("success"),
    onPostToolUseFailure: () => void seen.push("failure"),
  });
  talk.model.script(call("bash", { command: "exit 3", description: "x" }), say("done"));
  await talk.ask("go");
  expect(seen).toEqual(["success"]);
});

test("agentStop may block the end, and its reason becomes the next prompt", async () => {
  const active: (boolean | undefined)[] = [];
  await using talk = await withHooks({
    onAgentStop: ({ stopHookActive, stopReason }) => {
      expect(stopReason).toBe("end_turn");
      active.push(stopHookActive);
      return active.length === 1 ? { decision: "block", reason: "run the tests too" } : undefined;
    },
  });
  talk.model.script(say("finished"), say("tests are green"));
  expect(await talk.ask("go")).toBe("tests are green");
  expect(active).toEqual([false, true]);
  expect(talk.model.lastRequest.lastText).toContain("run the tests too");
  expect(talk.record.all("session.idle")).toHaveLength(1);
});

test("errorOccurred is told of a model that failed for good, and the session lives on", async () => {
  const seen: { errorContext: string; recoverable: boolean }[] = [];
  const reasons: string[] = [];
  await using talk = await withHooks({
    onErrorOccurred: ({ errorContext, recoverable }) => void seen.push({ errorContext, recoverable }),
    onSessionEnd: ({ reason }) => void reasons.push(reason),
  });
  talk.model.script(status(400), say("better now"));
  await talk.ask("go");
  expect(seen).toMatchObject([{ errorContext: "model_call" }]);
  expect(reasons).toEqual(["error"]);
  expect(await talk.ask("again")).toBe("better now");
});

test("sessionEnd is told that the run is complete", async () => {
  const reasons: string[] = [];
  await using talk = await withHooks({ onSessionEnd: ({ reason }) => void reasons.push(reason) });
  await talk.ask("go");
  expect(reasons).toEqual(["complete"]);
});

test("hooks that throw change nothing", async () => {
  const broken = () => {
    throw new Error("broken hook");
  };
  await using talk = await withHooks({
    onUserPromptSubmitted: broken,
    onUserPromptTransformed: broken,
    onSessionStart: broken,
    onPreToolUse: broken,
    onPostToolUse: broken,
    onAgentStop: broken,
    onSessionEnd: broken,
  });
  talk.model.script(BASH, say("unharmed"));
  expect(await talk.ask("go")).toBe("unharmed");
  expect(talk.model.lastRequest.texts("user").at(-1)).toContain("go");
});

test("without hooks no hook event is told", async () => {
  await using talk = await openTalk(world);
  await talk.ask("go");
  expect(talk.record.story().filter((type) => type.startsWith("hook."))).toEqual([]);
});
