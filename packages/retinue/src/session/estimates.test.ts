import type { EventData, EventType } from "@retinue/protocol";
import { expect, test } from "vitest";
import { UsageTotals } from "./usage.ts";

const prompt = { model: "m", inputTokens: 100, outputTokens: 0, nanoAiu: 7 };
const begin = { turnId: "0", prompt };

function after(...events: { [T in EventType]?: EventData<T> }[]): UsageTotals {
  const totals = new UsageTotals();
  for (const event of events)
    for (const [type, data] of Object.entries(event)) totals.apply({ type: type as EventType, data });
  return totals;
}

test("a request limits from before it is sent until its end is known, and is not on the bill", () => {
  const totals = after({ "assistant.turn_start": begin });
  expect([totals.tally, totals.nanoAiu]).toMatchObject([{ tokens: 100, nanoAiu: 7, turns: 0 }, 0]);
  expect(after({ "assistant.turn_start": begin }, { "assistant.turn_end": { turnId: "0" } }).tally.tokens).toBe(0);
  const usage = { inputTokens: 90, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const answer = { messageId: "a", content: "", model: "m", usage, totalNanoAiu: 6 };
  expect(after({ "assistant.turn_start": begin }, { "assistant.message": answer }).tally).toMatchObject({
    tokens: 95,
    nanoAiu: 6,
  });
});

test("a request that has no end when the next one begins was killed, and counts for good", () => {
  const totals = after({ "assistant.turn_start": begin }, { "session.compaction_start": { prompt } });
  expect(totals.estimates.unreported).toEqual({ requests: 1, inputTokens: 100, outputTokens: 0, nanoAiu: 7 });
  totals.apply({ type: "session.compaction_complete", data: { success: false } });
  expect(totals.tally).toMatchObject({ tokens: 100, nanoAiu: 7 });
});

test("what was used in a run never shrinks, also when a killed request lies before it", () => {
  const totals = after({ "assistant.turn_start": begin });
  totals.inRun(1);
  totals.apply({ type: "assistant.turn_start", data: begin });
  expect(totals.inLatestRun).toMatchObject({ tokens: 100, nanoAiu: 7 });
  totals.apply({
    type: "session.usage_checkpoint",
    data: { totalNanoAiu: 0, unreported: { ...prompt, outputTokens: 4 } },
  });
  totals.apply({ type: "assistant.turn_end", data: { turnId: "0" } });
  expect(totals.inLatestRun).toMatchObject({ tokens: 104, nanoAiu: 7 });
});
