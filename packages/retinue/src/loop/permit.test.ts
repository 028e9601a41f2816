import { join } from "node:path";
import type { PermissionRequest, PermissionResult, PromptRequest } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { Stop } from "../session/stop.ts";
import { loadGrammar } from "../shell-language/grammar.ts";
import { shellRequest } from "../tools/shell/shell-command.ts";
import { type CallScene, inCallScene, mainAgent, probe } from "./test-calls.ts";

await loadGrammar();

const custom: PermissionRequest = { kind: "custom-tool", toolName: "tool", toolDescription: "does it" };
const write = (fileName: string, resolvedPath?: string): PermissionRequest => ({
  kind: "write",
  fileName,
  resolvedPath,
  diff: "+1",
  intention: "Write",
  canOfferSessionApproval: true,
});
const url = (address: string): PermissionRequest => ({ kind: "url", url: address, intention: "Fetch" });
const shell = (command: string) => shellRequest(command, { intention: "Run", toolCallId: "a" });

/** One call of a tool that needs this permission. */
async function callOf(scene: CallScene, permission: PermissionRequest | undefined, { id = "a" }: { id?: string } = {}) {
  const tool = probe("tool", { permission });
  scene.ask({ id, name: "tool", arguments: { n: 1 } });
  const endsTurn = await scene.run([tool]);
  return { hasRun: tool.ran.length === 1, endsTurn, end: (await scene.ends()).get(id) };
}

const asked = ({ client }: CallScene) => client.of("permission.requested");
const decided = ({ client }: CallScene): PermissionResult[] =>
  client.of("permission.completed").map(({ result }) => result);

describe("without asking a person", () => {
  test("a call that needs no permission runs, and nothing is recorded about it", async () => {
    await inCallScene(async (scene) => {
      expect((await callOf(scene, undefined)).hasRun).toBe(true);
      expect([...asked(scene), ...decided(scene)]).toEqual([]);
    });
  });

  test("a call that a rule allows runs, and nothing is recorded about it", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      const rules = { approved: [{ kind: "tool", argument: null }], denied: [] };
      await client.call("session.permissions.configure", { sessionId, rules });
      expect((await callOf(scene, custom)).hasRun).toBe(true);
      expect([...asked(scene), ...decided(scene)]).toEqual([]);
    });
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      expect((await callOf(scene, custom)).hasRun).toBe(true);
      expect([...asked(scene), ...decided(scene)]).toEqual([]);
    });
  });

  test("a call that a rule denies is denied with the rule in words and in the log", async () => {
    await inCallScene(async (scene) => {
      await deny(scene, "tool");
      const { hasRun, endsTurn, end } = await callOf(scene, custom);
      expect([hasRun, endsTurn]).toEqual([false, false]);
      expect(end?.error).toEqual({
        code: "denied",
        message: "The call of 'tool' is denied by the deny rule tool. Do it another way, or ask the user.",
      });
      expect(asked(scene)).toEqual([]);
      expect(scene.client.of("permission.completed")).toMatchObject([
        { toolCallId: "a", result: { kind: "denied-by-rules", rules: [{ kind: "tool", argument: null }] } },
      ]);
    });
  });

  test("a call is denied when no one can answer, and the log says so", async () => {
    await inCallScene(
      async (scene) => {
        const { hasRun, endsTurn, end } = await callOf(scene, custom);
        expect([hasRun, endsTurn]).toEqual([false, false]);
        expect(end?.error).toEqual({
          code: "denied",
          message:
            "Permission for custom-tool was needed, and nobody can give it: no person or program that answers is connected. Go on without, or say what you need.",
        });
        expect(asked(scene)).toEqual([]);
        expect(scene.client.of("permission.completed")).toMatchObject([
          {
            toolCallId: "a",
            decisionSource: "unattended_fallback",
            result: { kind: "denied-no-approval-rule-and-could-not-request-from-user" },
          },
        ]);
      },
      { requestPermission: false },
    );
  });

  test("a file outside the session's folder is not written in plan mode, whatever is allowed", async () => {
    await inCallScene(async (scene) => {
      const { agent, client, sessionId, folder } = scene;
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await client.call("session.mode.set", { sessionId, mode: "plan" });
      const outside = await callOf(scene, write(join(folder, "a.ts")));
      expect(outside.hasRun).toBe(false);
      expect(outside.end?.error).toEqual({
        code: "denied",
        message:
          "Plan mode: files outside the session's own folder must not be changed. Write the plan, then leave plan mode.",
      });
      expect((await callOf(scene, write(join(agent.session.place.folder, "plan.md")), { id: "b" })).hasRun).toBe(true);
      expect((await callOf(scene, shell("ls"), { id: "c" })).hasRun).toBe(true);
      expect([...asked(scene), ...decided(scene)]).toEqual([]);
    });
  });

  test.each([
    ["rm x", "it is not known to only read"],
    ["ls > x", "it writes to a file"],
    ["ls && touch x", "it is not known to only read"],
    ["cat $(touch x)", "it runs a command inside another one"],
    ["sh -c 'touch x'", "it is not known to only read"],
    ['python3 -c \'open("x", "w")\'', "it is not known to only read"],
    ["sed -i s/a/b/ x", "it is not known to only read"],
    ["git commit -am x", "it is not known to only read"],
    ["cat a >> b", "it writes to a file"],
  ])("does not run %j in plan mode, whatever is approved, and says why", async (line, reason) => {
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await client.call("session.mode.set", { sessionId, mode: "plan" });
      const call = await callOf(scene, shell(line));
      expect(call.hasRun).toBe(false);
      expect(call.end?.error?.message).toContain(`this line is not one: ${reason}.`);
    });
  });

  test("the plan, notes and reports in the session's folder are written without asking, unless a rule denies it or a link leads out", async () => {
    await inCallScene(async (scene) => {
      const { agent, client, sessionId, folder } = scene;
      const own = agent.session.place.folder;
      for (const [id, name] of ["plan.md", "research/r.md", "files/n.txt"].entries())
        expect((await callOf(scene, write(join(own, name)), { id: `own${id}` })).hasRun).toBe(true);
      expect(asked(scene)).toEqual([]);
      const linked = callOf(scene, write(join(own, "plan.md"), join(folder, "a.ts")), { id: "l" });
      await scene.answer({ kind: "reject" });
      expect((await linked).hasRun).toBe(false);
      await client.call("session.permissions.configure", {
        sessionId,
        rules: { approved: [], denied: [{ kind: "write", argument: null }] },
      });
      expect((await callOf(scene, write(join(own, "plan.md")), { id: "d" })).hasRun).toBe(false);
    });
  });

  test("a tool of a server runs in plan mode only when the server says that it changes nothing", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      await client.call("session.mode.set", { sessionId, mode: "plan" });
      scene.hook("preToolUse", () => ({ permissionDecision: "allow" }));
      const about = {
        kind: "mcp",
        serverName: "files",
        toolName: "files-write",
        toolTitle: "write",
        args: {},
      } as const;
      const writing = await callOf(scene, { ...about, readOnly: false });
      expect(writing.hasRun).toBe(false);
      expect(writing.end?.error?.message).toContain("the server files does not say so of this one");
      expect((await callOf(scene, { ...about, readOnly: true }, { id: "b" })).hasRun).toBe(true);
      expect((await callOf(scene, custom, { id: "c" })).hasRun).toBe(true); // Only the host knows what its tools do.
    });
  });

  test("a call that is approved after plan mode has begun is refused", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId, folder } = scene;
      const called = callOf(scene, write(join(folder, "a.ts")));
      await client.until(() => client.of("permission.requested").length === 1);
      await client.call("session.mode.set", { sessionId, mode: "plan" });
      await scene.answer({ kind: "approve-once" });
      const { hasRun, end } = await called;
      expect(hasRun).toBe(false);
      expect(end?.error?.message).toContain("Plan mode: files outside");
    });
  });
});

describe("a deny rule", () => {
  const unasked: PermissionRequest[] = [
    custom,
    { kind: "mcp", serverName: "docs", toolName: "docs-find", toolTitle: "Find", readOnly: true },
  ];

  test.each([
    ["tool", unasked[0]],
    ["custom-tool", unasked[0]],
    ["mcp", unasked[1]],
    ["docs", unasked[1]],
    ["docs-find", unasked[1]],
  ])("%s binds a call that needs no permission", async (rule, request) => {
    await inCallScene(async (scene) => {
      const run = async (id: string) => {
        const tool = probe("tool", { permission: request, needsNoAsk: true, readOnly: true });
        scene.ask({ id, name: "tool" });
        await scene.run([tool]);
        await scene.ends();
        return tool.ran.length;
      };
      expect(await run("a")).toBe(1);
      await deny(scene, rule);
      expect(await run("b")).toBe(0);
      expect(decided(scene)).toEqual([{ kind: "denied-by-rules", rules: [{ kind: rule, argument: null }] }]);
      expect(asked(scene)).toEqual([]);
    });
  });

  const unclear = "X=rm; $X y";
  const rules = { approved: [{ kind: "shell", argument: null }], denied: [{ kind: "shell", argument: "rm" }] };

  test("makes a person decide about a line that is not clear, though everything is approved and a hook allows it", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      await client.call("session.permissions.configure", { sessionId, rules });
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      scene.hook("preToolUse", () => ({ permissionDecision: "allow" }));
      expect((await callOf(scene, shell("ls"))).hasRun).toBe(true);
      const running = callOf(scene, shell(unclear), { id: "b" });
      await scene.answer({ kind: "reject", feedback: "no" });
      expect((await running).hasRun).toBe(false);
      const warning =
        "There are deny rules for commands, and a denied command may hide in the line: it sets a variable.";
      expect(asked(scene)).toMatchObject([{ permissionRequest: { warning }, promptRequest: { warning } }]);
    });
  });

  test("tells the model about such a line when the client finds nobody", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      await client.call("session.permissions.configure", { sessionId, rules });
      const running = callOf(scene, shell(unclear));
      await scene.answer({ kind: "user-not-available" });
      const { end } = await running;
      expect(end?.error?.message).toContain("a denied command may hide in the line: it sets a variable.");
    });
  });

  test("denies such a line when no one can answer, and says how to go on", async () => {
    await inCallScene(
      async (scene) => {
        const { client, sessionId } = scene;
        await client.call("session.permissions.configure", { sessionId, rules });
        await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
        const { hasRun, end } = await callOf(scene, shell(unclear));
        expect(hasRun).toBe(false);
        expect(end?.error?.message).toBe(
          "There are deny rules for commands, and a denied command may hide in the line: it sets a variable. Permission for shell was " +
            "needed, and nobody can give it: no person or program that answers is connected. Go on without, or say what you need. Plain commands, without that, are decided by the rules.",
        );
      },
      { requestPermission: false },
    );
  });
});

test("in plan mode a link in the session's folder is no way to write elsewhere", async () => {
  await inCallScene(async (scene) => {
    const { agent, client, sessionId, folder } = scene;
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await client.call("session.mode.set", { sessionId, mode: "plan" });
    const request = write(join(agent.session.place.folder, "link/a.ts"));
    const { hasRun } = await callOf(scene, { ...request, resolvedPath: join(folder, "a.ts") } as PermissionRequest);
    expect(hasRun).toBe(false);
  });
});

describe("after a restart", () => {
  const reading = (resolvedPath: string): PermissionRequest => ({
    kind: "read",
    path: "/w/link",
    resolvedPath,
    intention: "",
    toolCallId: "a",
  });

  /** A call whose log has this ask of an earlier process, and that would read /w/now. */
  async function resumed(scene: CallScene, before: PermissionRequest, { isApproved }: { isApproved: boolean }) {
    const { session } = scene.agent;
    const tool = probe("tool", { permission: reading("/w/now"), readOnly: true });
    scene.ask({ id: "a", name: "tool" });
    session.append("permission.requested", { requestId: "p", permissionRequest: before }, { untagged: true });
    const result = { kind: "approved" as const };
    if (isApproved)
      session.append("permission.completed", { requestId: "p", toolCallId: "a", result }, { untagged: true });
    return { tool, running: scene.run([tool], { isResumed: true }) };
  }

  test("an answer holds for the files that it was about", async () => {
    await inCallScene(async (scene) => {
      const { tool, running } = await resumed(scene, reading("/w/now"), { isApproved: true });
      await running;
      expect(tool.ran).toHaveLength(1);
      expect(asked(scene)).toHaveLength(1);
    });
  });

  test.each([true, false])(
    "an ask about other files is asked anew, and has an end (it was answered: %s)",
    async (isApproved) => {
      await inCallScene(async (scene) => {
        const { tool, running } = await resumed(scene, reading("/w/before"), { isApproved });
        await scene.client.until(() => asked(scene).length === 2);
        expect(tool.ran).toHaveLength(0);
        const requestId = asked(scene)[1]?.requestId ?? "";
        const params = { sessionId: scene.sessionId, requestId, result: { kind: "approve-once" as const } };
        while (!(await scene.client.call("session.permissions.handlePendingPermissionRequest", params)).success);
        await running;
        expect(tool.ran).toHaveLength(1);
        expect(scene.client.of("permission.completed").map(({ requestId: id }) => id)).toEqual(["p", requestId]);
      });
    },
  );
});

describe("what a client is asked", () => {
  test("is in the log before anybody can answer, with the request, its form for a screen and the mode", async () => {
    await inCallScene(async (scene) => {
      const { agent, answer, client, sessionId } = scene;
      const running = callOf(scene, custom);
      const sent = await client.received("permission.requested");
      const { events } = await client.call("session.getMessages", { sessionId });
      expect((events as { type: string }[]).map(({ type }) => type)).toContain("permission.requested");
      const request = { ...custom, toolCallId: "a" };
      expect(sent).toMatchObject({ permissionRequest: request, promptRequest: request, agentMode: "interactive" });
      expect(sent).not.toHaveProperty("agentId");
      await answer({ kind: "approve-once" });
      await running;
      expect(agent.session.state.openCalls.size).toBe(0);
    });
  });

  const forms: [PermissionRequest, PromptRequest][] = [
    [
      shell("git status && rm -rf x"),
      {
        kind: "commands",
        toolCallId: "a",
        fullCommandText: "git status && rm -rf x",
        intention: "Run",
        commandIdentifiers: ["git status && rm -rf x"],
        canOfferSessionApproval: expect.any(Boolean),
      },
    ],
    [
      { kind: "mcp", serverName: "srv", toolName: "srv-add", toolTitle: "Add", readOnly: false, args: { n: 1 } },
      { kind: "mcp", toolCallId: "a", serverName: "srv", toolName: "add", toolTitle: "Add", args: { n: 1 } },
    ],
    [
      { kind: "mcp", serverName: "srv", toolName: "add", toolTitle: "Add", readOnly: false },
      { kind: "mcp", toolCallId: "a", serverName: "srv", toolName: "add", toolTitle: "Add" },
    ],
    [
      { ...custom, skipPermission: false },
      { ...custom, toolCallId: "a" },
    ],
    [url("https://example.com"), { ...url("https://example.com"), toolCallId: "a" } as PromptRequest],
  ];
  test.each(forms)("has a form for a screen: %j", async (request, form) => {
    await inCallScene(async (scene) => {
      const running = callOf(scene, request);
      await scene.answer({ kind: "reject" });
      await running;
      expect(asked(scene)[0]?.promptRequest).toEqual(form);
    });
  });
});

describe("an answer", () => {
  test("that approves once lets this call run, and the next one asks again", async () => {
    await inCallScene(async (scene) => {
      const first = callOf(scene, custom);
      await scene.answer({ kind: "approve-once" });
      expect((await first).hasRun).toBe(true);
      expect(decided(scene)).toEqual([{ kind: "approved" }]);
      const second = callOf(scene, custom, { id: "b" });
      await scene.answer({ kind: "approve-once" });
      await second;
      expect(asked(scene)).toHaveLength(2);
    });
  });

  test("for the session covers what it names from then on", async () => {
    await inCallScene(async (scene) => {
      const approval = { kind: "custom-tool" as const, toolName: "tool" };
      const first = callOf(scene, custom);
      await scene.answer({ kind: "approve-for-session", approval });
      expect((await first).hasRun).toBe(true);
      expect((await callOf(scene, custom, { id: "b" })).hasRun).toBe(true);
      expect(decided(scene)).toEqual([{ kind: "approved-for-session", approval }]);
    });
  });

  test("for the session may name a domain, and a permanent answer is kept for other sessions", async () => {
    await inCallScene(async (scene) => {
      const first = callOf(scene, url("https://docs.example.com/a"));
      await scene.answer({ kind: "approve-for-session", domain: "example.com" });
      await first;
      expect((await callOf(scene, url("https://example.com/b"), { id: "b" })).hasRun).toBe(true);
      const other = callOf(scene, url("https://other.org"), { id: "c" });
      await scene.answer({ kind: "approve-permanently", domain: "other.org" });
      expect((await other).hasRun).toBe(true);
      expect(decided(scene)).toEqual([{ kind: "approved-for-session" }, { kind: "approved" }]);
      const later = await scene.create();
      const { rules } = mainAgent(scene, later).permissions;
      expect(rules.decide(url("https://other.org/x")).type).toBe("allow");
      expect(rules.decide(url("https://example.com/x")).type).toBe("ask");
    });
  });

  test("for a folder covers what it names in other sessions there", async () => {
    await inCallScene(async (scene) => {
      const approval = { kind: "commands" as const, commandIdentifiers: ["touch"] };
      const locationKey = scene.folder;
      const first = callOf(scene, shell("touch a"));
      await scene.answer({ kind: "approve-for-location", approval, locationKey });
      expect((await first).hasRun).toBe(true);
      expect(decided(scene)).toEqual([{ kind: "approved-for-location", approval, locationKey }]);
      expect((await callOf(scene, shell("touch b"), { id: "b" })).hasRun).toBe(true);
    });
  });

  test("that rejects ends the turn; with feedback it does not, and the model reads the feedback", async () => {
    await inCallScene(async (scene) => {
      const first = callOf(scene, custom);
      await scene.answer({ kind: "reject" });
      const plain = await first;
      expect([plain.hasRun, plain.endsTurn]).toEqual([false, true]);
      expect(plain.end?.error).toEqual({ code: "rejected", message: "The user did not allow this call." });
      const second = callOf(scene, custom, { id: "b" });
      await scene.answer({ kind: "reject", feedback: "use the other one" });
      const wordy = await second;
      expect([wordy.hasRun, wordy.endsTurn]).toEqual([false, false]);
      expect(wordy.end).toMatchObject({
        error: { code: "denied", message: "use the other one" },
        modelText: "The user did not allow this call and said: use the other one",
      });
      expect(decided(scene)).toEqual([
        { kind: "denied-interactively-by-user" },
        { kind: "denied-interactively-by-user", feedback: "use the other one" },
      ]);
    });
  });

  const others: [Parameters<CallScene["answer"]>[0], PermissionResult][] = [
    [{ kind: "user-not-available" }, { kind: "denied-no-approval-rule-and-could-not-request-from-user" }],
    [{ kind: "nonsense" } as never, { kind: "denied-no-approval-rule-and-could-not-request-from-user" }],
    [
      { kind: "cancelled", reason: "gone" },
      { kind: "cancelled", reason: "gone" },
    ],
    [{ kind: "cancelled" }, { kind: "cancelled" }],
  ];
  test.each(others)("that is no decision, %j, is a denial after which the model goes on", async (answer, result) => {
    await inCallScene(async (scene) => {
      const running = callOf(scene, custom);
      await scene.answer(answer);
      const { hasRun, endsTurn, end } = await running;
      expect([hasRun, endsTurn]).toEqual([false, false]);
      expect(end?.error).toEqual({
        code: "denied",
        message: "Nobody could allow this call of 'tool'. Go on without it, or say what you need.",
      });
      expect(decided(scene)).toEqual([result]);
    });
  });

  test("is in the log before the call runs", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId, ask, run, answer } = scene;
      let types: string[] = [];
      const looks = probe("tool", {
        permission: custom,
        outcome: async () => {
          const { events } = await client.call("session.getMessages", { sessionId });
          types = (events as { type: string }[]).map(({ type }) => type);
          return { resultType: "success", text: "" };
        },
      });
      ask({ id: "a", name: "tool" });
      const running = run([looks]);
      await answer({ kind: "approve-once" });
      await running;
      expect(types.slice(-2)).toEqual(["permission.requested", "permission.completed"]);
    });
  });
});

describe("a hook", () => {
  const hooks = { hooks: true, requestPermission: true };

  test("that asks makes the call ask with the hook's message, even when a rule allows it", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId, hook, folder } = scene;
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      hook("preToolUse", () => ({
        permissionDecision: "ask",
        permissionDecisionReason: "sure?",
        modifiedArgs: { n: 2 },
      }));
      const running = callOf(scene, custom);
      await scene.answer({ kind: "approve-once" });
      expect((await running).hasRun).toBe(true);
      expect(asked(scene)).toMatchObject([
        {
          permissionRequest: {
            kind: "hook",
            toolCallId: "a",
            toolName: "tool",
            toolArgs: { n: 2 },
            hookMessage: "sure?",
            workingDirectory: folder,
          },
        },
      ]);
    }, hooks);
  });

  test("that asks does so even for a call that needs no permission", async () => {
    await inCallScene(async (scene) => {
      scene.hook("preToolUse", () => ({ permissionDecision: "ask" }));
      const running = callOf(scene, undefined);
      await scene.answer({ kind: "reject" });
      expect((await running).hasRun).toBe(false);
    }, hooks);
  });

  test("that allows skips the ask, and the log has nothing about it", async () => {
    await inCallScene(async (scene) => {
      scene.hook("preToolUse", () => ({ permissionDecision: "allow" }));
      expect((await callOf(scene, custom)).hasRun).toBe(true);
      expect([...asked(scene), ...decided(scene)]).toEqual([]);
    }, hooks);
  });

  test.each(["allow", "ask"])("that says %s does not override a denial", async (permissionDecision) => {
    await inCallScene(async (scene) => {
      await deny(scene, "tool");
      scene.hook("preToolUse", () => ({ permissionDecision }));
      expect((await callOf(scene, custom)).hasRun).toBe(false);
      expect(asked(scene)).toEqual([]);
      expect(decided(scene)).toMatchObject([{ kind: "denied-by-rules" }]);
    }, hooks);
  });
});

describe("a hook that is a guard", () => {
  const guard = { hooks: true, hooksOnError: "deny" as const, requestPermission: true };
  const raise = () => {
    throw new Error("the guard is broken");
  };

  test("denies the call when it fails, in words for the model, whatever is approved", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
      scene.hook("preToolUse", raise);
      const { hasRun, endsTurn, end } = await callOf(scene, undefined);
      expect([hasRun, endsTurn]).toEqual([false, false]);
      expect(end?.error).toMatchObject({ code: "denied" });
      expect(end?.modelText ?? end?.error?.message).toMatch(
        /^The call of 'tool' was denied, because the preToolUse hook that guards calls failed: .*\. Go on without it/,
      );
    }, guard);
  });

  test("has no such effect unless its client says so", async () => {
    await inCallScene(
      async (scene) => {
        scene.hook("preToolUse", raise);
        expect((await callOf(scene, undefined)).hasRun).toBe(true);
      },
      { hooks: true },
    );
  });

  test("denies every call once its connection is lost, until a guard is back; leaving takes it along", async () => {
    await inCallScene(async (scene) => {
      const { sessionId } = scene;
      const join = async () => {
        const client = scene.anotherClient();
        client.answers.set("hooks.invoke", () => ({}));
        await client.call("session.resume", { sessionId, hooks: true, hooksOnError: "deny" });
        return client;
      };
      const lost = await join();
      expect((await callOf(scene, undefined)).hasRun).toBe(true);
      lost.close();
      await lost.ended;
      const denied = await callOf(scene, undefined, { id: "b" });
      expect(denied.hasRun).toBe(false);
      expect(denied.end?.error?.message).toContain("the connection to its client was lost");
      const back = await join();
      expect((await callOf(scene, undefined, { id: "c" })).hasRun).toBe(true);
      await back.call("session.destroy", { sessionId });
      expect((await callOf(scene, undefined, { id: "d" })).hasRun).toBe(true);
    });
  });
});

describe("when the run is stopped while an ask is open", () => {
  async function stopped(scene: CallScene, type: Stop["type"], reason: string) {
    const controller = new AbortController();
    const tool = probe("tool", { permission: custom });
    scene.ask({ id: "a", name: "tool" });
    const running = scene.run([tool], { signal: controller.signal });
    await scene.client.received("permission.requested");
    controller.abort(new Stop(type, reason));
    expect(await running).toBe(true);
    return { ends: await scene.ends() };
  }

  test("the ask is withdrawn with the reason of the stop, and the call has an end", async () => {
    await inCallScene(async (scene) => {
      const { ends } = await stopped(scene, "cancel", "parent stopped");
      expect(decided(scene)).toEqual([{ kind: "cancelled", reason: "parent stopped" }]);
      expect(ends.get("a")).toMatchObject({ error: { code: "interrupted" } });
    });
  });

  test("a suspended session withdraws the ask, and the call stays open", async () => {
    await inCallScene(async (scene) => {
      const { ends } = await stopped(scene, "suspend", "whatever");
      expect(decided(scene)).toEqual([{ kind: "cancelled", reason: "Session suspended" }]);
      expect(ends.size).toBe(0);
    });
  });

  test("a session that closes leaves both open, for a resume", async () => {
    await inCallScene(async (scene) => {
      const { ends } = await stopped(scene, "shutdown", "session closed");
      expect(decided(scene)).toEqual([]);
      expect(ends.size).toBe(0);
      expect(scene.agent.session.state.openCalls.get("a")?.permission).toMatchObject({ isDecided: false });
    });
  });

  test("a later answer is refused as too late", async () => {
    await inCallScene(async (scene) => {
      const { client, sessionId } = scene;
      await stopped(scene, "abort", "user_initiated");
      const params = {
        sessionId,
        requestId: asked(scene)[0]?.requestId ?? "",
        result: { kind: "approve-once" as const },
      };
      expect(await client.call("session.permissions.handlePendingPermissionRequest", params)).toMatchObject({
        success: false,
      });
    });
  });
});

async function deny({ client, sessionId }: CallScene, kind: string): Promise<void> {
  await client.call("session.permissions.configure", {
    sessionId,
    rules: { approved: [], denied: [{ kind, argument: null }] },
  });
}
