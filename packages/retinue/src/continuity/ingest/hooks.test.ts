import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OWNER } from "../records/scope.ts";
import { hook, type TestHome, testHome } from "../test-home.ts";
import { CallInput } from "./hook-input.ts";
import { onSessionEnd, onSessionStart, onSubagentStart, onSubagentStop, onToolCall, onTurns } from "./hooks.ts";
import { MAX_LINE } from "./readers/jsonl.ts";

let folder: string;
let home: TestHome;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "retinue-hooks-")));
  mkdirSync(join(folder, "projects"));
  home = testHome({ roots: { "claude-code": [join(folder, "projects")] } });
});
afterEach(() => {
  home.close();
  rmSync(folder, { recursive: true });
});

const file = (name = "s.jsonl") => join(folder, "projects", name);
let uuid = 0;
const line = (role: "user" | "assistant", text: string) =>
  `${JSON.stringify({ type: role, uuid: `u${++uuid}`, timestamp: "2026-11-15T12:00:00Z", message: { role, content: text } })}\n`;
const named = (key: string) => home.transcripts.sessions.byKey(key);
const texts = async (key: string) => {
  const turns = await Promise.all((await named(key)).map(({ id }) => home.transcripts.turns.read(id)));
  return turns.flat().map(({ text }) => text);
};
const prompt = (sessionKey: string, more: Record<string, unknown> = {}) =>
  onTurns(home, OWNER, hook({ sessionKey, ...more }));
const startChild = (fields: { sessionKey: string } & Record<string, unknown>) =>
  onSubagentStart(home, OWNER, hook(fields));
const lineage = async (key: string) => (await named(key))[0]?.lineage;

describe("live transcripts", () => {
  test("only what is new in a file is stored, also when hooks were missed", async () => {
    writeFileSync(file(), line("user", "one"));
    await prompt("s", { transcriptPath: file() });
    appendFileSync(file(), line("assistant", "two") + line("user", "three"));
    await prompt("s", { transcriptPath: file() });
    await prompt("s", { transcriptPath: file() });
    expect(await texts("s")).toEqual(["one", "two", "three"]);
  });

  test("a prompt and an answer that a hook tells before the file has them are stored once", async () => {
    await prompt("s", { transcriptPath: file(), userMessage: "one" });
    expect(await texts("s")).toEqual(["one"]);
    writeFileSync(file(), line("user", "one") + line("assistant", "working"));
    await prompt("s", { transcriptPath: file(), lastAssistantMessage: "done" });
    appendFileSync(file(), line("assistant", "done") + line("user", "one"));
    await prompt("s", { transcriptPath: file() });
    expect(await texts("s")).toEqual(["one", "working", "done", "one"]);
  });

  test("a half-written line is read when it is whole", async () => {
    const whole = line("user", "one");
    writeFileSync(file(), whole.slice(0, 30));
    await prompt("s", { transcriptPath: file() });
    expect(await texts("s")).toEqual([]);
    appendFileSync(file(), whole.slice(30));
    await prompt("s", { transcriptPath: file() });
    expect(await texts("s")).toEqual(["one"]);
  });

  test("damaged lines and NUL bytes lose only themselves", async () => {
    writeFileSync(file(), `{"type":"user",\n\0\0\0\n[]\nnull\n${line("user", "good")}`);
    await prompt("s", { transcriptPath: file() });
    expect(await texts("s")).toEqual(["good"]);
  });

  test("a line of a hundred megabytes is passed over and what follows is stored", async () => {
    writeFileSync(file(), line("user", "before"));
    appendFileSync(file(), Buffer.alloc(100 * 1024 * 1024, "x"));
    await prompt("s", { transcriptPath: file() });
    appendFileSync(file(), Buffer.concat([Buffer.alloc(MAX_LINE, "x"), Buffer.from(`\n${line("user", "after")}`)]));
    await prompt("s", { transcriptPath: file() });
    expect(await texts("s")).toEqual(["before", "[1 line of the transcript left out: too long]", "after"]);
  });

  test("a moved file goes on, a deleted one is no error, one that was rewritten brings only what is new", async () => {
    writeFileSync(file(), line("user", "one"));
    await prompt("s", { transcriptPath: file() });
    renameSync(file(), file("moved.jsonl"));
    appendFileSync(file("moved.jsonl"), line("user", "two"));
    await prompt("s", { transcriptPath: file("moved.jsonl") });
    expect(await texts("s")).toEqual(["one", "two"]);
    const kept = line("user", "three");
    truncateSync(file("moved.jsonl"), 0);
    writeFileSync(file("moved.jsonl"), kept);
    await prompt("s", { transcriptPath: file("moved.jsonl") });
    rmSync(file("moved.jsonl"));
    await prompt("s", { transcriptPath: file("moved.jsonl"), userMessage: "four" });
    writeFileSync(file("moved.jsonl"), kept + line("user", "four") + line("user", "five"));
    await prompt("s", { transcriptPath: file("moved.jsonl") });
    expect(await texts("s")).toEqual(["one", "two", "three", "four", "five"]);
  });

  test("a transcript that comes whole each time is stored once, also when its last turn grows", async () => {
    const send = (transcript: unknown) => prompt("s", { harness: "other", transcript });
    await send("User: one\nAssistant: two");
    await send("User: one\nAssistant: two and a half\nUser: three");
    await send("User: one\nAssistant: two and a half\nUser: three");
    expect(await texts("s")).toEqual(["one", "two", "and a half", "three"]);
    await send([
      { role: "user", content: "three" },
      { role: "assistant", content: [{ type: "text", text: "four" }] },
    ]);
    expect(await texts("s")).toEqual(["one", "two", "and a half", "three", "four"]);
  });

  test("turns with ids are stored once", async () => {
    const turns = [
      { id: "m1", role: "user", text: "one", at: 5 },
      { id: "m2", role: "assistant", text: "two", at: 6 },
    ];
    await prompt("s", { harness: "openclaw", turns: [turns[0]] });
    await prompt("s", { harness: "openclaw", turns });
    await prompt("s", { harness: "openclaw", turns });
    expect(await texts("s")).toEqual(["one", "two"]);
  });

  test("hooks of one session at the same time lose nothing and store nothing twice", async () => {
    writeFileSync(file(), line("user", "one") + line("assistant", "two"));
    await Promise.all(Array.from({ length: 8 }, () => prompt("s", { transcriptPath: file() })));
    expect(await texts("s")).toEqual(["one", "two"]);
    const words = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(words.map((userMessage) => prompt("t", { userMessage })));
    expect((await texts("t")).sort()).toEqual(words);
  });

  test("a transcript that is too long to be held is stored piece by piece, once, by two readers at once", async () => {
    const long = "x".repeat(15_000);
    const count = 700;
    writeFileSync(file(), Array.from({ length: count }, (_, n) => line("user", `${n} ${long}`)).join(""));
    await Promise.all([prompt("s", { transcriptPath: file() }), prompt("s", { transcriptPath: file() })]);
    expect((await texts("s")).map((text) => Number(text.split(" ")[0]))).toEqual([...Array(count).keys()]);
  });

  test.each(["/etc/passwd", "../../etc/passwd", "projects-evil/x.jsonl"])(
    "a hook that names %s reads nothing",
    async (path) => {
      mkdirSync(join(folder, "projects-evil"));
      writeFileSync(join(folder, "projects-evil/x.jsonl"), line("user", "stolen"));
      const transcriptPath = path.startsWith("/") ? path : join(folder, path);
      await expect(prompt("s", { transcriptPath })).rejects.toThrow(
        expect.objectContaining({ code: "authentication_failed" }),
      );
      expect(await texts("s")).toEqual([]);
    },
  );

  test("a link inside the harness's folder does not lead out of it", async () => {
    writeFileSync(join(folder, "outside.jsonl"), line("user", "stolen"));
    symlinkSync(join(folder, "outside.jsonl"), file("link.jsonl"));
    await expect(prompt("s", { transcriptPath: file("link.jsonl") })).rejects.toThrow(/keeps no transcripts there/);
  });
});

describe("lineage and the inherit block", () => {
  test("a child is given what its parent said by then, though no hook told it", async () => {
    writeFileSync(file(), line("user", "the plan is blue"));
    await prompt("p", { transcriptPath: file() });
    appendFileSync(file(), line("assistant", "blue it is"));
    const answer = await startChild({ sessionKey: "p", harnessAgentId: "a1" });
    expect(answer).toMatchObject({ sessionKey: "p:a1", parentSessionKey: "p" });
    expect(answer.inject).toContain("Assistant: blue it is");
  });

  test("each of two rival sessions in one project gets its own children right", async () => {
    await prompt("p1", { userMessage: "first plan" });
    await prompt("p2", { userMessage: "second plan" });
    expect((await startChild({ sessionKey: "p1", harnessAgentId: "a" })).inject).toContain("first plan");
    expect((await startChild({ sessionKey: "p2", harnessAgentId: "a" })).inject).toContain("second plan");
  });

  test("siblings have the same parent", async () => {
    await prompt("p", { userMessage: "the plan" });
    for (const harnessAgentId of ["a", "b", "c"])
      expect((await startChild({ sessionKey: "p", harnessAgentId })).parentSessionKey).toBe("p");
  });

  test("a grandchild belongs to the agent whose call is open; when two agents have one, to nobody", async () => {
    const call = (harnessAgentId: string | undefined, callId: string) =>
      onToolCall(
        home,
        OWNER,
        CallInput.parse({ ...hook({ sessionKey: "p", harnessAgentId }), callId, tool: "Agent", phase: "before" }),
      );
    await prompt("p", { userMessage: "the plan" });
    await call(undefined, "c1");
    await startChild({ sessionKey: "p", harnessAgentId: "a" });
    await prompt("p", { harnessAgentId: "a", userMessage: "inner work" });
    await call("a", "c2");
    expect((await startChild({ sessionKey: "p", harnessAgentId: "b" })).parentSessionKey).toBe("p:a");
    await call(undefined, "c3");
    await call("a", "c4");
    const unclear = await startChild({ sessionKey: "p", harnessAgentId: "c" });
    expect(unclear.inject).toBeUndefined();
    expect(unclear.reason).toBe("several agents of this session were starting one at once");
    expect(await lineage("p:c")).toBe(unclear.reason);
  });

  test("children that start at once each take a call of their own", async () => {
    await prompt("p", { userMessage: "the plan" });
    const open = async (callId: string) => {
      const call = { ...hook({ sessionKey: "p" }), callId, tool: "Agent", phase: "before" };
      await onToolCall(home, OWNER, CallInput.parse(call));
    };
    for (const callId of ["c1", "c2", "c3"]) await open(callId);
    await Promise.all(["a", "b"].map((harnessAgentId) => startChild({ sessionKey: "p", harnessAgentId })));
    const [root] = await named("p");
    if (!root) throw new Error("no parent");
    const left = await home.transcripts.calls.unclaimed({ root, since: 0 });
    expect(left).toHaveLength(1);
    expect([await lineage("p:a"), await lineage("p:b")]).toEqual(["its call was open", "its call was open"]);
  });

  test("without a signal the only running session is the parent, and of two neither", async () => {
    await prompt("p1", { userMessage: "plan one" });
    expect((await onSessionStart(home, OWNER, hook({ sessionKey: "x1", harnessAgentId: "a" }))).parentSessionKey).toBe(
      "p1",
    );
    await onSubagentStop(home, OWNER, hook({ sessionKey: "x1", parentSessionKey: "p1" }));
    await prompt("p2", { userMessage: "plan two" });
    const answer = await onSessionStart(home, OWNER, hook({ sessionKey: "x2", harnessAgentId: "a" }));
    expect(answer).toEqual({
      sessionKey: "x2",
      reason: "several sessions run in this project; the harness names none",
    });
    expect(await lineage("x2")).toBe(answer.reason);
  });

  test("a cleared terminal does not lend its child the session of the other terminal", async () => {
    for (const key of ["left", "right"]) {
      await onSessionStart(home, OWNER, hook({ sessionKey: key }));
      await prompt(key, { userMessage: `${key} plan` });
    }
    await onSessionEnd(home, OWNER, hook({ sessionKey: "left", reason: "clear" }));
    await onSessionStart(home, OWNER, hook({ sessionKey: "left-2" }));
    expect((await onSessionStart(home, OWNER, hook({ sessionKey: "x", harnessAgentId: "a" }))).inject).toBeUndefined();
  });

  test("a compaction in one of two terminals is told to the children of that one only", async () => {
    for (const key of ["left", "right"]) await prompt(key, { userMessage: `${key} plan` });
    writeFileSync(
      file("left.jsonl"),
      `${JSON.stringify({ type: "user", uuid: "c", isCompactSummary: true, message: { role: "user", content: "left was summarised" } })}\n`,
    );
    await onSessionStart(home, OWNER, hook({ sessionKey: "left", transcriptPath: file("left.jsonl") }));
    expect((await startChild({ sessionKey: "left", harnessAgentId: "a" })).inject).toContain("left was summarised");
    const { inject: right } = await startChild({ sessionKey: "right", harnessAgentId: "a" });
    expect(right).toContain("right plan");
    expect(right).not.toContain("left");
  });

  test("a child is told nothing of what was said before the user began anew under the same key", async () => {
    await prompt("agent:main:main", { userMessage: "old plan" });
    await onSessionEnd(home, OWNER, hook({ sessionKey: "agent:main:main", reason: "new" }));
    await onSessionStart(home, OWNER, hook({ sessionKey: "agent:main:main" }));
    expect((await startChild({ sessionKey: "c1", parentSessionKey: "agent:main:main" })).inject).toBeUndefined();
    await prompt("agent:main:main", { userMessage: "new plan" });
    const { inject: block } = await startChild({ sessionKey: "c2", parentSessionKey: "agent:main:main" });
    expect(block).toContain("new plan");
    expect(block).not.toContain("old plan");
  });

  test("a session that is resumed counts as running again", async () => {
    await prompt("p1", { userMessage: "plan one" });
    await onSessionEnd(home, OWNER, hook({ sessionKey: "p1", reason: "other" }));
    await prompt("p2", { userMessage: "plan two" });
    await onSessionStart(home, OWNER, hook({ sessionKey: "p1" }));
    expect((await onSessionStart(home, OWNER, hook({ sessionKey: "x", harnessAgentId: "a" }))).inject).toBeUndefined();
  });

  test("a parent that has ended is still the parent when it is named", async () => {
    await prompt("p", { userMessage: "the plan" });
    await onSessionEnd(home, OWNER, hook({ sessionKey: "p", reason: "other" }));
    expect((await startChild({ sessionKey: "c", parentSessionKey: "p" })).inject).toContain("the plan");
    const elsewhere = hook({ sessionKey: "x", harnessAgentId: "a", project: "/elsewhere" });
    expect((await onSessionStart(home, OWNER, elsewhere)).reason).toBe("no running session in this project");
  });

  test("a stop without a start keeps nothing", async () => {
    await prompt("p", { userMessage: "the plan" });
    const stop = hook({ sessionKey: "p", harnessAgentId: "ghost", lastAssistantMessage: "boo" });
    expect((await onSubagentStop(home, OWNER, stop)).reason).toBeDefined();
    expect(await named("p:ghost")).toEqual([]);
  });

  test("a child keeps its parent's agent; the harness's agent id is only part of its key", async () => {
    await prompt("p", { userMessage: "the plan", agentId: "red" });
    await startChild({ sessionKey: "p", harnessAgentId: "a6c0", agentId: "red" });
    expect((await named("p:a6c0")).map(({ agentId }) => agentId)).toEqual(["red"]);
    await startChild({ sessionKey: "c", parentSessionKey: "p" });
    expect((await named("c")).map(({ agentId }) => agentId)).toEqual(["red"]);
  });

  test("a token of another team neither writes nor inherits", async () => {
    await prompt("p", { userMessage: "red plan", agentId: "red" });
    const blue = { agentId: "blue" };
    await expect(onTurns(home, blue, hook({ sessionKey: "p", agentId: "red" }))).rejects.toThrow(/may not act as/);
    const answer = await onSubagentStart(home, blue, hook({ sessionKey: "c", parentSessionKey: "p" }));
    expect(answer).toEqual({ sessionKey: "c", reason: "the parent session p is not known" });
    await expect(
      onTurns(home, { project: "/projects/shop" }, hook({ sessionKey: "z", project: "/projects/shopping" })),
    ).rejects.toThrow(/may not speak for/);
    await expect(onTurns(home, blue, hook({ sessionKey: "z", transcriptPath: file() }))).rejects.toThrow(
      /may not name files/,
    );
  });

  test("inheritContext: false gives no block", async () => {
    await prompt("p", { userMessage: "the plan" });
    const off = { ...home, config: { ...home.config, subagents: { inheritContext: false, tailChars: 3_000 } } };
    expect((await onSubagentStart(off, OWNER, hook({ sessionKey: "p", harnessAgentId: "a" }))).inject).toBeUndefined();
  });
});
