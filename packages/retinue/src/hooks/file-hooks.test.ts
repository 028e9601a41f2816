import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TaskServer } from "../mcp/fixtures/task-server.ts";
import { call, say, when } from "../models/scripted.ts";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { by, delegate, main } from "../tasks/test-tasks.ts";
import {
  aCall,
  allow,
  bash,
  copilot,
  discovering,
  ends,
  everything,
  linesOf,
  put,
  results,
  warnings,
} from "./test-hook-files.ts";

test("a hook of an untrusted folder does not run, and one line says which was left out", async () => {
  await inSmallWorld([[say("hello")]], async (world) => {
    put(world, ".github/hooks/log.json", copilot({ sessionStart: [{ bash: "touch started" }] }));
    const sessionId = await world.create(discovering);
    await world.send(sessionId, "go");
    expect(existsSync(join(world.folder, "started"))).toBe(false);
    expect(ends(world)).toEqual([]);
    expect(warnings(world)).toEqual([expect.stringContaining("1 hook (sessionStart: touch started)")]);
  });
});

test("a hook that has changed since it was allowed does not run", async () => {
  await inSmallWorld([[say("hello")]], async (world) => {
    put(world, ".retinue/hooks.json", copilot({ sessionStart: [{ bash: "touch one" }] }));
    await allow(world);
    put(world, ".retinue/hooks.json", copilot({ sessionStart: [{ bash: "touch two" }] }));
    const sessionId = await world.create(discovering);
    await world.send(sessionId, "go");
    expect([existsSync(join(world.folder, "one")), existsSync(join(world.folder, "two"))]).toEqual([false, false]);
    expect(warnings(world)[0]).toContain("Nobody has allowed these hooks");
  });
});

test("it stands before calls of MCP tools too, also of an agent in the background", async () => {
  await using server = await TaskServer.start({ dialect: "2025" });
  const turns = [
    main(delegate("dig", { mode: "background" })),
    main(say("waiting")),
    by("dig", call("jobs-plain", { job: "x" })),
    by("dig", say("refused")),
    main(say("seen")),
  ];
  await inSmallWorld(turns, async (world) => {
    const guard = "grep -q jobs-plain && { echo 'not this server' >&2; exit 2; }; true";
    put(world, ".github/hooks/g.json", copilot({ preToolUse: [{ bash: guard }] }));
    await allow(world);
    const mcpServers = { jobs: server.config };
    const sessionId = await world.create({ ...discovering, ...everything, mcpServers });
    await world.client.call("session.send", { sessionId, prompt: "go" });
    await world.client.received("session.idle");
    expect(results(world).at(-1)).toMatchObject({ success: false, error: { message: "not this server" } });
    expect(server.of("tools/call")).toEqual([]);
    world.provider.assertSpent();
  });
});

describe("before a call", () => {
  const guard = (bash: string, more = {}) => ({ ".github/hooks/g.json": copilot({ preToolUse: [{ bash, ...more }] }) });
  const claude = (command: string, more = {}) => ({
    ".claude/settings.json": {
      hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command, ...more }] }] },
    },
  });
  const hasRun = ({ folder }: SmallWorld) => existsSync(join(folder, "ran"));

  test("exit code 2 denies it, and the model reads what the hook wrote to stderr", async () => {
    for (const files of [guard("echo 'not on Sunday' >&2; exit 2"), claude("echo 'not on Sunday' >&2; exit 2")])
      await aCall(files, (world) => {
        expect(hasRun(world)).toBe(false);
        expect(results(world)[0]).toMatchObject({ success: false, error: { message: "not on Sunday" } });
        expect(ends(world)[0]).toMatchObject({ success: true, output: { permissionDecision: "deny" } });
      });
  });

  test("a hook names its file and command in its events", async () => {
    await aCall(guard("true"), (world) => {
      const source = { file: join(world.folder, ".github/hooks/g.json"), command: "true" };
      expect(world.client.of("hook.start")[0]).toMatchObject({ hookType: "preToolUse", source });
      expect(ends(world)[0]).toMatchObject({ hookType: "preToolUse", source, success: true });
      expect(hasRun(world)).toBe(true);
    });
  });

  test.each([
    ["crashes", "exit 3", "exit code 3"],
    ["is missing", "./nowhere.sh", "exit code 127"],
    ["is killed", "kill -9 $$", "SIGKILL"],
    ["prints half an object", 'echo \'{"permissionDecision": "al\'', "cannot be read"],
    ["prints a decision that nobody knows", 'echo \'{"permissionDecision": "denied"}\'', "cannot be read"],
  ])("a hook of Copilot's form that %s denies it and says so on the screen", async (_, command, words) => {
    await aCall(guard(command), (world) => {
      expect(hasRun(world)).toBe(false);
      expect(results(world)[0]?.error?.message).toContain(words);
      expect(warnings(world)).toEqual([expect.stringContaining(`of ${world.folder}/.github/hooks/g.json failed`)]);
      expect(ends(world)[0]).toMatchObject({ success: false });
    });
  });

  test.each([
    ["crashes", "exit 3", "exit code 3"],
    ["is missing", "./nowhere.sh", "exit code 127"],
  ])("a hook of Claude Code's form that %s has no effect, and says so on the screen", async (_, command, words) => {
    await aCall(claude(command), (world) => {
      expect(hasRun(world)).toBe(true);
      expect(warnings(world)).toEqual([expect.stringContaining(words)]);
    });
  });

  test("a slow hook is killed at its limit, with the daemon that it has forked", async () => {
    const command = "setsid sleep 1000 & echo $! > daemon; sleep 1000";
    await aCall(guard(command, { timeoutSec: 1 }), async (world) => {
      expect(hasRun(world)).toBe(false);
      expect(results(world)[0]?.error?.message).toContain("did not answer within 1 s");
      await expect.poll(() => isAlive(Number(linesOf(join(world.folder, "daemon"))[0]))).toBe(false);
    });
  });

  test("a daemon that keeps the output open does not hold the hook up, and ends with the session at the latest", async () => {
    let daemon = 0;
    await aCall(guard("setsid sleep 1000 & echo $! > daemon"), (world) => {
      expect(hasRun(world)).toBe(true);
      daemon = Number(linesOf(join(world.folder, "daemon"))[0]);
    });
    await expect.poll(() => isAlive(daemon)).toBe(false);
  });

  test("a hook whose folder is missing says so, and denies it", async () => {
    await aCall(guard("true", { cwd: "nowhere" }), (world) => {
      expect(hasRun(world)).toBe(false);
      expect(results(world)[0]?.error?.message).toContain(`there is no folder ${join(world.folder, "nowhere")}`);
    });
  });

  test("plain words on the output are no decision", async () => {
    await aCall(guard("echo looks good"), (world) => expect(hasRun(world)).toBe(true));
  });

  test("a decision after other words is a decision", async () => {
    const decision = { permissionDecision: "deny", permissionDecisionReason: "no" };
    for (const text of [JSON.stringify(decision), JSON.stringify(decision, null, 2)])
      await aCall(guard(`echo 'now checking {a call}'; echo '${text}'`), (world) =>
        expect(results(world)[0]?.error?.message).toBe("no"),
      );
  });

  test.each([
    ["prints bytes that are no text", "printf '\\377\\376\\000{'", true],
    ["closes its input unread", "exec 0<&-; true", true],
    ["closes its output", "exec 1>&- 2>&-; true", true],
    ["prints a hundred megabytes of an answer", `printf '{"a":"'; head -c 100000000 /dev/zero | tr "\\0" x`, false],
    ["answers with other types", `echo '{"permissionDecision": 7}'`, false],
    ["answers with a list of decisions", `echo '{"permissionDecision": ["deny"]}'`, false],
    ["gives arguments that are a word", `echo '{"modifiedArgs": "rm -rf /"}'`, false],
    ["gives arguments that are a list", `echo '{"modifiedArgs": ["echo done > ran"]}'`, false],
    ["gives arguments of another tool", `echo '{"modifiedArgs": {"path": "/etc/passwd"}}'`, false],
  ])("a hook that %s does not hold the call up", async (_, command, runs) => {
    await aCall(
      guard(command),
      (world) => {
        expect(hasRun(world)).toBe(runs);
        expect(results(world)).toHaveLength(1);
      },
      { command: `echo ${"long ".repeat(20_000)} > /dev/null; echo done > ran` },
    );
  });

  test("a hook for MCP tools, at depth three, for a background agent and for task itself is asked", async () => {
    const spawn = (mode: string, prompt: string) =>
      call("task", { name: prompt, agent_type: "general-purpose", description: "d", prompt, mode });
    const turns = [
      when("START", [spawn("sync", "LEVEL1")]),
      when("LEVEL1", [spawn("sync", "LEVEL2")]),
      when("LEVEL2", [spawn("background", "LEVEL3"), bash("echo done > ran")]),
      when("LEVEL2", [say("two")]),
      when("LEVEL1", [say("one")]),
      when("START", [say("end")]),
    ];
    await inSmallWorld(turns, async (world) => {
      const deny = `node -e 'const p=JSON.parse(require("fs").readFileSync(0));if(p.toolName==="bash"||p.toolArgs.prompt==="LEVEL3"){console.error("not at "+p.agentPathNames.length);process.exit(2)}'`;
      put(world, ".github/hooks/g.json", copilot({ preToolUse: [{ matcher: "bash|task", bash: deny }] }));
      await allow(world);
      await world.send(await world.create({ ...discovering, ...everything }), "START");
      expect(hasRun(world)).toBe(false);
      const denied = results(world).filter(({ success }) => !success);
      expect(denied.map(({ error }) => error?.message)).toEqual(["not at 2", "not at 2"]);
      expect(world.client.of("subagent.started")).toHaveLength(2);
    });
  });

  test("lines of progress are no part of the answer", async () => {
    const line = `echo '{"type":"progress","message":"m"}'; echo '{"permissionDecision":"deny","permissionDecisionReason":"no"}'`;
    await aCall(guard(line), (world) => expect(results(world)[0]?.error?.message).toBe("no"));
  });

  test("a file does not loosen what an earlier one has said", async () => {
    const say = (decision: string) => ({ bash: `echo '{"permissionDecision":"${decision}"}'` });
    const files = { ".github/hooks/g.json": copilot({ preToolUse: [say("deny"), say("allow")] }) };
    await aCall(files, (world) => expect(hasRun(world)).toBe(false));
  });

  test("a hook may change the arguments, with the names that it knows", async () => {
    const changed = { hookSpecificOutput: { permissionDecision: "allow", updatedInput: { command: "touch changed" } } };
    await aCall(claude(`echo '${JSON.stringify(changed)}'`), (world) => {
      expect([hasRun(world), existsSync(join(world.folder, "changed"))]).toEqual([false, true]);
    });
  });

  test("the host's own hook is asked about the arguments that a file has changed", async () => {
    await inSmallWorld([[bash("ls")], [say("end")]], async (world) => {
      put(
        world,
        ".github/hooks/g.json",
        guard(`echo '{"modifiedArgs":{"command":"touch ran","description":"d"}}'`)[".github/hooks/g.json"],
      );
      await allow(world);
      world.client.answers.set(
        "hooks.invoke",
        ({ hookType, input }: { hookType: string; input: { toolArgs?: { command?: string } } }) => {
          const isHarmless = hookType !== "preToolUse" || input.toolArgs?.command === "ls";
          return { output: { permissionDecision: isHarmless ? "allow" : "deny" } };
        },
      );
      await world.send(await world.create({ ...discovering, ...everything, hooks: true }), "go");
      expect(hasRun(world)).toBe(false);
      expect(results(world)[0]).toMatchObject({ success: false });
    });
  });

  test("a matcher that does not match leaves the hook out", async () => {
    const files = {
      ".github/hooks/g.json": copilot({ preToolUse: [{ matcher: "edit|create", bash: "exit 2" }] }),
      ".claude/settings.json": { hooks: { PreToolUse: [{ matcher: "Edit|Write", hooks: [{ command: "exit 2" }] }] } },
    };
    await aCall(files, (world) => {
      expect(hasRun(world)).toBe(true);
      expect(ends(world)).toEqual([]);
    });
  });

  test("a hook gets no credential of ours, and no answer from a file that floods its output", async () => {
    process.env.OPENAI_API_KEY = "sk-of-the-test";
    try {
      const command = 'env > environment; head -c 3000000 /dev/zero | tr "\\0" x';
      await aCall(guard(command), (world) => {
        const names = linesOf(join(world.folder, "environment")).map((line) => line.split("=")[0]);
        expect(names).toContain("RETINUE_PROJECT_DIR");
        expect(names).not.toContain("OPENAI_API_KEY");
        expect(hasRun(world)).toBe(true);
      });
    } finally {
      delete process.env.OPENAI_API_KEY;
    }
  });
});

function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z") === false;
  } catch {
    return false;
  }
}

test("every event reaches its hook, with the whole payload, and the transcript can be read while the session runs", async () => {
  const events = ["sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "agentStop", "sessionEnd"];
  const save =
    'cat > payload; cat payload >> all; echo >> all; node -e \'const p=JSON.parse(require("fs").readFileSync("payload"));console.error(require("fs").readFileSync(p.transcriptPath,"utf8").includes(p.sessionId)||process.exit(1))\' 2>/dev/null';
  const hooks = Object.fromEntries(events.map((event) => [event, [{ bash: save }]]));
  await aCall({ ".github/hooks/all.json": copilot(hooks) }, (world) => {
    const payloads = linesOf(join(world.folder, "all")).map((line) => JSON.parse(line));
    expect(ends(world).map(({ hookType, success }) => [hookType, success])).toEqual(
      ["userPromptSubmitted", "sessionStart", "preToolUse", "postToolUse", "agentStop", "sessionEnd"].map((e) => [
        e,
        true,
      ]),
    );
    const sessionId = world.client.of("session.start")[0]?.sessionId;
    for (const payload of payloads)
      expect(payload).toMatchObject({
        sessionId,
        cwd: world.folder,
        timestamp: expect.any(Number),
        transcriptPath: expect.stringMatching(/events\.jsonl$/),
      });
    expect(payloads[2]).toMatchObject({
      toolName: "bash",
      toolArgs: { command: "echo done > ran" },
      toolCallId: expect.any(String),
    });
    expect(payloads[4]).toMatchObject({ stopReason: "end_turn", stop_hook_active: false, response: "end" });
  });
});

test("a hook of Claude Code reads the payload that it knows", async () => {
  const hook = [{ hooks: [{ type: "command", command: "cat >> all; echo >> all" }] }];
  const hooks = Object.fromEntries(
    ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"].map((event) => [
      event,
      hook,
    ]),
  );
  await aCall({ ".claude/settings.json": { hooks } }, (world) => {
    const [prompt, start, before, after, stop, end] = linesOf(join(world.folder, "all")).map((line) =>
      JSON.parse(line),
    );
    const shared = { session_id: expect.any(String), cwd: world.folder, transcript_path: expect.any(String) };
    expect(start).toMatchObject({ ...shared, hook_event_name: "SessionStart", source: "startup" });
    expect(prompt).toMatchObject({
      ...shared,
      hook_event_name: "UserPromptSubmit",
      prompt: "go",
      permission_mode: "default",
    });
    const bashCall = { tool_name: "Bash", tool_input: { command: "echo done > ran" }, tool_use_id: expect.any(String) };
    expect(before).toMatchObject({ ...shared, ...bashCall, hook_event_name: "PreToolUse" });
    expect(after).toMatchObject({ ...shared, ...bashCall, tool_response: { stdout: expect.any(String) } });
    expect(stop).toMatchObject({ ...shared, stop_hook_active: false, last_assistant_message: "end" });
    expect(end).toMatchObject({ ...shared, hook_event_name: "SessionEnd", reason: "other" });
  });
});

test("a prompt that a hook refuses never reaches the model, also not after it was refused", async () => {
  await inSmallWorld([[say("second")]], async (world) => {
    const guard = "grep -q secret && { echo 'no secrets' >&2; exit 2; } || true";
    put(world, ".github/hooks/p.json", copilot({ userPromptSubmitted: [{ bash: guard }] }));
    await allow(world);
    const sessionId = await world.create(discovering);
    await world.send(sessionId, "the secret is 7");
    expect(world.client.of("session.error")[0]?.message).toBe(
      "A userPromptSubmitted hook refused this prompt: no secrets",
    );
    await world.send(sessionId, "hello");
    expect(world.provider.requests).toHaveLength(1);
    expect(JSON.stringify(world.provider.requests)).not.toContain("secret is 7");
  });
});

test("words of a start hook stand before the prompt, and a stop hook sends the agent on", async () => {
  await inSmallWorld([[say("one")], [say("two")]], async (world) => {
    const once = "test -e stopped && exit 0; touch stopped; echo 'and the tests?' >&2; exit 2";
    put(
      world,
      ".retinue/hooks.json",
      copilot({ sessionStart: [{ bash: "echo WELCOME" }], agentStop: [{ bash: once }] }),
    );
    await allow(world);
    await world.send(await world.create(discovering), "go");
    const texts = world.provider.requests.map(({ messages }) => JSON.stringify(messages));
    expect(texts[0]).toContain("WELCOME");
    expect(texts[1]).toContain("and the tests?");
  });
});

describe("around a sub-agent", () => {
  const spawn = [call("task", { name: "n", agent_type: "explore", description: "d", prompt: "CHILD look" })];

  test("a start hook is chosen by the agent's name, is told who it is, and adds to its prompt", async () => {
    await inSmallWorld([spawn, [say("found")], [say("end")]], async (world) => {
      const other = { matcher: "research", bash: "touch wrong" };
      const own = { matcher: "expl.*", bash: `cat > payload; echo '{"additionalContext":"LOOK IN src"}'` };
      put(world, ".github/hooks/s.json", copilot({ subagentStart: [other, own] }));
      await allow(world);
      const sessionId = await world.create(discovering);
      await world.send(sessionId, "go");
      const payload = JSON.parse(readFileSync(join(world.folder, "payload"), "utf8"));
      const child = world.client.of("subagent.started")[0]?.remoteSessionId;
      expect(payload).toMatchObject({
        sessionId: child,
        parentSessionId: sessionId,
        agentName: "explore",
        agentDisplayName: expect.any(String),
        agentDescription: expect.any(String),
      });
      expect(JSON.stringify(world.provider.requests[1]?.messages)).toMatch(/LOOK IN src.*CHILD look/);
      expect(existsSync(join(world.folder, "wrong"))).toBe(false);
    });
  });

  test("a start hook may refuse it: it fails with the reason, and no model is asked", async () => {
    await inSmallWorld([spawn, [say("end")]], async (world) => {
      put(world, ".claude/settings.json", {
        hooks: { SubagentStart: [{ matcher: "explore", hooks: [{ command: "echo 'not today' >&2; exit 2" }] }] },
      });
      await allow(world);
      await world.send(await world.create(discovering), "go");
      expect(world.client.of("subagent.failed")[0]?.error).toBe("A subagentStart hook refused this agent: not today");
      expect(world.provider.requests).toHaveLength(2);
      expect(JSON.stringify(world.provider.requests[1]?.messages)).toContain("not today");
    });
  });

  test("a stop hook reads what it has answered, and who it was", async () => {
    await inSmallWorld([spawn, [say("found")], [say("end")]], async (world) => {
      put(world, ".github/hooks/s.json", copilot({ subagentStop: [{ matcher: "explore", bash: "cat > payload" }] }));
      await allow(world);
      const sessionId = await world.create(discovering);
      await world.send(sessionId, "go");
      expect(JSON.parse(readFileSync(join(world.folder, "payload"), "utf8"))).toMatchObject({
        parentSessionId: sessionId,
        agentName: "explore",
        stopReason: "end_turn",
        response: "found",
      });
    });
  });

  test("its calls are guarded by the same hooks as the main agent's", async () => {
    await inSmallWorld([spawn, [bash("echo done > ran")], [say("found")], [say("end")]], async (world) => {
      put(
        world,
        ".github/hooks/g.json",
        copilot({ preToolUse: [{ matcher: "bash", bash: "cat >> all; echo no >&2; exit 2" }] }),
      );
      await allow(world);
      const sessionId = await world.create({ ...discovering, ...everything });
      await world.send(sessionId, "go");
      expect(existsSync(join(world.folder, "ran"))).toBe(false);
      const payload = JSON.parse(readFileSync(join(world.folder, "all"), "utf8"));
      expect(payload).toMatchObject({
        parentSessionId: sessionId,
        agentName: "explore",
        agentPath: [payload.sessionId],
      });
    });
  });
});

test("fifty calls at once each have their own hook, and nothing of them is left", async () => {
  const calls = Array.from({ length: 50 }, (_, n) => bash(`echo ${n}`));
  await inSmallWorld([calls, [say("end")]], async (world) => {
    put(world, ".github/hooks/g.json", copilot({ preToolUse: [{ bash: "sleep 1000 & echo $$ >> pids" }] }));
    await allow(world);
    await world.send(await world.create({ ...discovering, ...everything }), "go");
    expect(results(world).filter(({ success }) => success)).toHaveLength(50);
    const pids = linesOf(join(world.folder, "pids"));
    expect(new Set(pids).size).toBe(50);
    await expect.poll(() => pids.some((pid) => isGroupAlive(Number(pid)))).toBe(false);
  });
});

function isGroupAlive(pgid: number): boolean {
  try {
    return process.kill(-pgid, 0);
  } catch {
    return false;
  }
}

test("an aborted run does not wait for its hook, and ends it", async () => {
  await inSmallWorld([[bash("echo done > ran")]], async (world) => {
    put(world, ".github/hooks/g.json", copilot({ preToolUse: [{ bash: "echo $$ > pid; sleep 1000" }] }));
    await allow(world);
    const sessionId = await world.create({ ...discovering, ...everything });
    const sent = world.client.call("session.send", { sessionId, prompt: "go" });
    await expect.poll(() => linesOf(join(world.folder, "pid"))).toHaveLength(1);
    await sent;
    await world.client.call("session.abort", { sessionId });
    await world.client.received("session.idle");
    expect(existsSync(join(world.folder, "ran"))).toBe(false);
    await expect.poll(() => isGroupAlive(Number(linesOf(join(world.folder, "pid"))[0]))).toBe(false);
  });
});

test("a person who is needed is announced by the notification hook, and nobody waits for it", async () => {
  await inSmallWorld([[bash("touch x")], [say("end")]], async (world) => {
    put(
      world,
      ".github/hooks/n.json",
      copilot({ notification: [{ bash: "cat > note.part; mv note.part note; sleep 1000" }] }),
    );
    await allow(world);
    const sessionId = await world.create({ ...discovering, requestPermission: true });
    const sent = world.client.call("session.send", { sessionId, prompt: "go" });
    const { requestId } = await world.client.received("permission.requested");
    await expect.poll(() => existsSync(join(world.folder, "note"))).toBe(true);
    expect(JSON.parse(readFileSync(join(world.folder, "note"), "utf8"))).toMatchObject({
      notification_type: "permission_prompt",
      message: expect.any(String),
    });
    await world.client.call("session.permissions.handlePendingPermissionRequest", {
      sessionId,
      requestId,
      result: { kind: "approve-once" },
    } as never);
    await sent;
    await world.client.received("session.idle");
  });
});

test("the user's own hooks need nobody's consent, and a runtime inside a hook runs none", async () => {
  for (const env of [{}, { RETINUE_IN_HOOK: "1" }])
    await inSmallWorld(
      [[say("hello")]],
      async (world) => {
        writeFileSync(
          join(world.runtime.config.home, "hooks.json"),
          JSON.stringify(copilot({ sessionStart: [{ bash: "touch started" }] })),
        );
        await world.send(await world.create(discovering), "go");
        expect(existsSync(join(world.folder, "started"))).toBe(!("RETINUE_IN_HOOK" in env));
      },
      { config: { env } },
    );
});

test("a file cannot hide from a runtime that it is in a hook", async () => {
  const hook = { bash: "echo $RETINUE_IN_HOOK > mark", env: { RETINUE_IN_HOOK: "" } };
  await aCall({ ".github/hooks/g.json": copilot({ preToolUse: [hook] }) }, (world) =>
    expect(linesOf(join(world.folder, "mark"))).toEqual(["1"]),
  );
});

test("an agent that a stop hook never lets go stops all the same", async () => {
  await inSmallWorld(
    Array.from({ length: 9 }, () => [say("done")]),
    async (world) => {
      put(world, ".github/hooks/s.json", copilot({ agentStop: [{ bash: "echo more >&2; exit 2" }] }));
      await allow(world);
      await world.send(await world.create(discovering), "go");
      world.provider.assertSpent();
    },
  );
});

test("no hook of a file runs where the host has not asked for files", async () => {
  await inSmallWorld([[say("hello")]], async (world) => {
    writeFileSync(
      join(world.runtime.config.home, "hooks.json"),
      JSON.stringify(copilot({ sessionStart: [{ bash: "touch started" }] })),
    );
    await world.send(await world.create({}), "go");
    expect(existsSync(join(world.folder, "started"))).toBe(false);
  });
});

test("a hook is told before a history becomes a summary, and may refuse that", async () => {
  await inSmallWorld([[say("one")]], async (world) => {
    const hook = { matcher: "manual", bash: "cat > payload; echo 'keep it all' >&2; exit 2" };
    put(world, ".github/hooks/c.json", copilot({ preCompact: [hook, { matcher: "auto", bash: "touch wrong" }] }));
    await allow(world);
    const sessionId = await world.create(discovering);
    await world.send(sessionId, "go");
    await expect(world.client.call("session.history.compact", { sessionId })).rejects.toThrow("keep it all");
    expect(JSON.parse(readFileSync(join(world.folder, "payload"), "utf8"))).toMatchObject({
      sessionId,
      trigger: "manual",
    });
    expect([world.provider.requests.length, existsSync(join(world.folder, "wrong"))]).toEqual([1, false]);
  });
});

test("a command of a project runs in the folder that was shown, also when the session has moved", async () => {
  await inSmallWorld([[bash("true")], [say("end")]], async (world) => {
    put(world, "guard.sh", "#!/bin/sh\ntouch right\n");
    put(world, "below/guard.sh", "#!/bin/sh\ntouch wrong\n");
    put(world, ".github/hooks/g.json", copilot({ preToolUse: [{ bash: "./guard.sh" }] }));
    await allow(world);
    const sessionId = await world.create({ ...discovering, ...everything });
    await world.client.call("session.commands.invoke", { sessionId, name: "cwd", input: join(world.folder, "below") });
    await world.send(sessionId, "go");
    expect(existsSync(join(world.folder, "right"))).toBe(true);
    expect(existsSync(join(world.folder, "below/wrong"))).toBe(false);
  });
});

test("a failed call reaches the hook for it", async () => {
  const wrong = [call("view", {})];
  await inSmallWorld([wrong, [say("end")]], async (world) => {
    put(world, ".github/hooks/s.json", copilot({ postToolUseFailure: [{ bash: "cat > failure" }] }));
    await allow(world);
    await world.send(await world.create(discovering), "go");
    const payload = JSON.parse(readFileSync(join(world.folder, "failure"), "utf8"));
    expect(payload).toMatchObject({ toolName: "view", error: expect.stringContaining("path") });
  });
});

test("a hook that nobody waits for and that fails is said all the same", async () => {
  const hooks = { postToolUse: [{ bash: "echo broken >&2; exit 3", async: true }] };
  await aCall({ ".github/hooks/a.json": copilot(hooks) }, async (world) => {
    await expect
      .poll(() => world.client.of("session.warning").map(({ message }) => message))
      .toContainEqual(expect.stringMatching(/postToolUse hook of .* failed: it ended with exit code 3 \(broken\)/));
  });
});

describe("an event that has a name in each spelling reaches the command for it", () => {
  const spawn = [call("task", { name: "n", agent_type: "explore", description: "d", prompt: "CHILD look" })];
  const quick = { command: "cat > payload.part; mv payload.part payload" };
  const payloadIn = ({ folder }: SmallWorld) => JSON.parse(readFileSync(join(folder, "payload"), "utf8"));

  test.each([
    ["errorOccurred", { errorContext: "model_call", recoverable: false, error: { name: "Error", message: "broken" } }],
    [
      "ErrorOccurred",
      {
        hook_event_name: "ErrorOccurred",
        error_context: "model_call",
        recoverable: false,
        error: { message: "broken" },
      },
    ],
  ])("%s, of a run that failed; the session lives on", async (event, payload) => {
    await inSmallWorld([new Error("broken"), [say("again")]], async (world) => {
      put(world, ".github/hooks/e.json", copilot({ [event]: [quick] }));
      await allow(world);
      const sessionId = await world.create(discovering);
      await world.send(sessionId, "go");
      expect(payloadIn(world)).toMatchObject(payload);
      expect(ends(world)).toEqual([expect.objectContaining({ hookType: "errorOccurred", success: true })]);
      await world.send(sessionId, "again");
      expect(ends(world)).toHaveLength(1);
    });
  });

  test("errorOccurred, of a sub-agent that failed, which says which one", async () => {
    await inSmallWorld([spawn, new Error("broken"), [say("end")]], async (world) => {
      put(world, ".github/hooks/e.json", copilot({ errorOccurred: [quick] }));
      await allow(world);
      const sessionId = await world.create(discovering);
      await world.send(sessionId, "go");
      const child = world.client.of("subagent.started")[0]?.remoteSessionId;
      expect(payloadIn(world)).toMatchObject({ sessionId: child, parentSessionId: sessionId, agentName: "explore" });
    });
  });

  test.each([
    ["SubagentStart", { agent_type: "explore" }],
    ["SubagentStop", { agent_type: "explore", last_assistant_message: "found", stop_hook_active: false }],
    ["PostToolUseFailure", { tool_name: "Agent", error: expect.any(String) }],
  ])("%s, of a sub-agent", async (event, payload) => {
    const turns =
      event === "PostToolUseFailure" ? [[call("task", {})], [say("end")]] : [spawn, [say("found")], [say("end")]];
    await inSmallWorld(turns, async (world) => {
      put(world, ".claude/settings.json", { hooks: { [event]: [{ hooks: [quick] }] } });
      await allow(world);
      await world.send(await world.create(discovering), "go");
      expect(payloadIn(world)).toMatchObject({ hook_event_name: event, ...payload });
    });
  });

  test("PreCompact, before a history becomes a summary", async () => {
    await inSmallWorld([[say("one")], [say("a summary")]], async (world) => {
      put(world, ".claude/settings.json", { hooks: { PreCompact: [{ matcher: "manual", hooks: [quick] }] } });
      await allow(world);
      const sessionId = await world.create(discovering);
      await world.send(sessionId, "go");
      await world.client.call("session.history.compact", { sessionId });
      expect(payloadIn(world)).toMatchObject({ hook_event_name: "PreCompact", trigger: "manual" });
    });
  });

  test("Notification, of a person who is needed", async () => {
    await inSmallWorld([[bash("touch x")]], async (world) => {
      put(world, ".claude/settings.json", { hooks: { Notification: [{ hooks: [quick] }] } });
      await allow(world);
      const sessionId = await world.create({ ...discovering, requestPermission: true });
      await world.client.call("session.send", { sessionId, prompt: "go" });
      await expect.poll(() => existsSync(join(world.folder, "payload"))).toBe(true);
      expect(payloadIn(world)).toMatchObject({
        hook_event_name: "Notification",
        notification_type: "permission_prompt",
      });
    });
  });
});
