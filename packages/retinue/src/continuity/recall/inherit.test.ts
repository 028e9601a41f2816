import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addCheckpoint } from "../records/checkpoints.ts";
import { addAttribute } from "../records/entities.ts";
import { appendTurns, lastSeq, type NewTurn, openSession, type TranscriptSession } from "../records/transcripts.ts";
import { type TestHome, testHome } from "../test-home.ts";
import { inheritBlock } from "./inherit.ts";

let home: TestHome;
let parent: TranscriptSession;
beforeEach(() => {
  home = testHome();
  parent = openSession(home.db, { sessionKey: "p", harness: "claude-code", agentId: "default", at: 1 });
});
afterEach(() => home.db.close());

const say = (...turns: NewTurn[]) => appendTurns(home.db, parent, turns, { now: 1 });
const block = (tailChars = 3_000, maxChars = 9_500) => inheritBlock(home.db, parent, { tailChars, maxChars });
const checkpoint = (summary: string, entities: string[] = []) =>
  addCheckpoint(home.db, {
    sessionId: parent.id,
    summary,
    entities,
    uptoSeq: lastSeq(home.db, parent.id),
    origin: "cli",
    at: 1,
  });

describe("the inherit block", () => {
  test("is not there when the parent has neither a checkpoint nor a turn", () => {
    expect(block()).toBeUndefined();
  });

  test("has the headings of the spec in their order", () => {
    say({ role: "user", text: "old talk" });
    checkpoint("We chose PostgreSQL for the ledger.", ["Ledger"]);
    addAttribute(home.db, {
      agentId: "default",
      entity: "Ledger",
      kind: "constraint",
      content: "never delete a row",
      at: 1,
    });
    addAttribute(home.db, {
      agentId: "default",
      entity: "Ledger",
      kind: "attribute",
      content: "has two tables",
      at: 1,
    });
    say({ role: "user", text: "now write the migration" }, { role: "assistant", text: "on it" });
    expect(block()).toBe(
      [
        "## Inherited from Parent Session",
        "",
        "[active session]",
        "Checkpoint:",
        "  We chose PostgreSQL for the ledger.",
        "Recent context:",
        "  User: now write the migration",
        "  Assistant: on it",
        "Focal entities: Ledger",
        "Active constraints:",
        "  - never delete a row",
      ].join("\n"),
    );
  });

  test("is the same for the same store", () => {
    say({ role: "user", text: "hello" });
    checkpoint("summary");
    expect(block()).toBe(block());
  });

  test("ends the tail on a turn boundary within its characters", () => {
    for (let n = 0; n < 100; n++) say({ role: "user", text: `turn ${n} ${"x".repeat(100)}` });
    const tail = block(1_000)?.split("Recent context:\n")[1] ?? "";
    expect(tail.length).toBeLessThanOrEqual(1_000);
    expect(tail.split("\n").every((line) => /^ {2}User: turn \d+ x{100}$/.test(line))).toBe(true);
    expect(tail).toContain("turn 99 ");
  });

  test("keeps the end of a last turn that alone is too long", () => {
    say({ role: "user", text: `${"x".repeat(10_000)} the very end` });
    const text = block() ?? "";
    expect(text).toContain("the very end");
    expect(text.length).toBeLessThan(3_200);
  });

  test("says nothing of turns that the checkpoint covers, nor of the call that starts the child", () => {
    say({ role: "user", text: "covered" });
    checkpoint("summary");
    say({ role: "user", text: "fresh" }, { role: "assistant", tool: "Agent", text: '{"prompt":"child task"}' });
    expect(block()).not.toContain("covered");
    expect(block()).not.toContain("child task");
    expect(block()).toContain("fresh");
  });

  test("speaks of an entity that the recent turns name, with its constraints, also without a checkpoint", () => {
    addAttribute(home.db, {
      agentId: "default",
      entity: "Billing",
      kind: "constraint",
      content: "amounts are cents",
      at: 1,
    });
    addAttribute(home.db, { agentId: "other", entity: "Fix", kind: "constraint", content: "of another agent", at: 1 });
    say({ role: "user", text: "fix the billing page" });
    expect(block()).toContain("Focal entities: Billing\nActive constraints:\n  - amounts are cents");
    expect(block()).not.toContain("of another agent");
  });

  test.each([2_000, 9_500])("never exceeds one budget of %d characters, and keeps constraints", (maxChars) => {
    for (let n = 0; n < 50; n++)
      addAttribute(home.db, {
        agentId: "default",
        entity: "Ledger",
        kind: "constraint",
        content: `rule ${n} ${"r".repeat(200)}`,
        at: 1,
      });
    checkpoint(`start ${"lines\n".repeat(5_000)}`, ["Ledger"]);
    for (let n = 0; n < 300; n++) say({ role: "user", text: `a\nb\nc ${n} ${"y".repeat(50)}` });
    const text = block(60_000, maxChars) ?? "";
    expect(text.length).toBeLessThanOrEqual(maxChars);
    expect(text.length).toBeGreaterThan(maxChars * 0.7);
    expect(text).toContain("rule 0 ");
    expect(text).toMatch(/\(\d+ more\)$/);
  });

  test("shows no secret of the checkpoint, the tail or a constraint", () => {
    addAttribute(home.db, {
      agentId: "default",
      entity: "Ledger",
      kind: "constraint",
      content: "use password=correcthorse1 there",
      at: 1,
    });
    checkpoint("the token: ghp_abcdefghijklmnopqrstuvwxyz0123456789", ["Ledger"]);
    say({ role: "user", text: "postgres://app:s3cretpw@db/ledger" });
    expect(block()).not.toMatch(/correcthorse1|ghp_abc|s3cretpw/);
  });
});
