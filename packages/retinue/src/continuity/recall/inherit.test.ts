import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NewTurn, TranscriptSession } from "../../store/transcript-records.ts";
import type { NewAttribute } from "../../store/transcripts.ts";
import { appendTurns, openSession, type TestHome, testHome } from "../test-home.ts";
import { inheritBlock } from "./inherit.ts";

let home: TestHome;
let parent: TranscriptSession;
beforeEach(async () => {
  home = testHome();
  parent = await openSession(home, { sessionKey: "p", at: 1 });
});
afterEach(() => home.close());

const say = (...turns: NewTurn[]) => appendTurns(home, parent, { turns, at: 1 });
const block = (tailChars = 3_000, maxChars = 9_500) => inheritBlock(home.transcripts, parent, { tailChars, maxChars });
const checkpoint = (summary: string, entities: string[] = []) =>
  home.transcripts.checkpoints.add(parent.id, { summary, entities, origin: "cli", at: 1 });
const addAttribute = (attribute: NewAttribute) => home.transcripts.entities.addAttribute(attribute);

describe("the inherit block", () => {
  test("is not there when the parent has neither a checkpoint nor a turn", async () => {
    expect(await block()).toBeUndefined();
  });

  test("has the headings of the spec in their order", async () => {
    await say({ role: "user", text: "old talk" });
    await checkpoint("We chose PostgreSQL for the ledger.", ["Ledger"]);
    await addAttribute({
      agentId: "default",
      entity: "Ledger",
      kind: "constraint",
      content: "never delete a row",
      at: 1,
    });
    await addAttribute({
      agentId: "default",
      entity: "Ledger",
      kind: "attribute",
      content: "has two tables",
      at: 1,
    });
    await say({ role: "user", text: "now write the migration" }, { role: "assistant", text: "on it" });
    expect(await block()).toBe(
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

  test("is the same for the same store", async () => {
    await say({ role: "user", text: "hello" });
    await checkpoint("summary");
    expect(await block()).toBe(await block());
  });

  test("ends the tail on a turn boundary within its characters", async () => {
    for (let n = 0; n < 100; n++) await say({ role: "user", text: `turn ${n} ${"x".repeat(100)}` });
    const tail = (await block(1_000))?.split("Recent context:\n")[1] ?? "";
    expect(tail.length).toBeLessThanOrEqual(1_000);
    expect(tail.split("\n").every((line) => /^ {2}User: turn \d+ x{100}$/.test(line))).toBe(true);
    expect(tail).toContain("turn 99 ");
  });

  test("keeps the end of a last turn that alone is too long", async () => {
    await say({ role: "user", text: `${"x".repeat(10_000)} the very end` });
    const text = (await block()) ?? "";
    expect(text).toContain("the very end");
    expect(text.length).toBeLessThan(3_200);
  });

  test("says nothing of turns that the checkpoint covers, nor of the call that starts the child", async () => {
    await say({ role: "user", text: "covered" });
    await checkpoint("summary");
    await say({ role: "user", text: "fresh" }, { role: "assistant", tool: "Agent", text: '{"prompt":"child task"}' });
    expect(await block()).not.toContain("covered");
    expect(await block()).not.toContain("child task");
    expect(await block()).toContain("fresh");
  });

  test("speaks of an entity that the recent turns name, with its constraints, also without a checkpoint", async () => {
    await addAttribute({
      agentId: "default",
      entity: "Billing",
      kind: "constraint",
      content: "amounts are cents",
      at: 1,
    });
    await addAttribute({ agentId: "other", entity: "Fix", kind: "constraint", content: "of another agent", at: 1 });
    await say({ role: "user", text: "fix the billing page" });
    expect(await block()).toContain("Focal entities: Billing\nActive constraints:\n  - amounts are cents");
    expect(await block()).not.toContain("of another agent");
  });

  test.each([2_000, 9_500])("never exceeds one budget of %d characters, and keeps constraints", async (maxChars) => {
    for (let n = 0; n < 50; n++)
      await addAttribute({
        agentId: "default",
        entity: "Ledger",
        kind: "constraint",
        content: `rule ${n} ${"r".repeat(200)}`,
        at: 1,
      });
    await checkpoint(`start ${"lines\n".repeat(5_000)}`, ["Ledger"]);
    for (let n = 0; n < 300; n++) await say({ role: "user", text: `a\nb\nc ${n} ${"y".repeat(50)}` });
    const text = (await block(60_000, maxChars)) ?? "";
    expect(text.length).toBeLessThanOrEqual(maxChars);
    expect(text.length).toBeGreaterThan(maxChars * 0.7);
    expect(text).toContain("rule 0 ");
    expect(text).toMatch(/\(\d+ more\)$/);
  });

  test("shows no secret of the checkpoint, the tail or a constraint", async () => {
    await addAttribute({
      agentId: "default",
      entity: "Ledger",
      kind: "constraint",
      content: "use password=correcthorse1 there",
      at: 1,
    });
    await checkpoint("the token: ghp_abcdefghijklmnopqrstuvwxyz0123456789", ["Ledger"]);
    await say({ role: "user", text: "postgres://app:s3cretpw@db/ledger" });
    expect(await block()).not.toMatch(/correcthorse1|ghp_abc|s3cretpw/);
  });
});
