import { expect, test } from "vitest";
import { envelopeOf, eventOf, wireEvents } from "./stored-event.ts";

const envelope = { id: "e", timestamp: "2026-01-01T00:00:00.000Z", parentId: null };
const stored = (type: string, data: unknown) => ({ type, json: JSON.stringify({ type, data, ...envelope }) });

test("the envelope of an event is read, even of an unknown type", () => {
  expect(envelopeOf(stored("assistant.turn_end", { turnId: "0" }))).toMatchObject({
    type: "assistant.turn_end",
    id: "e",
  });
  expect(envelopeOf(stored("session.invented", { a: 1 }))).toMatchObject({ type: undefined, data: { a: 1 } });
});

test("a damaged event is refused with its type and the first characters", () => {
  for (const json of [
    "{",
    "5",
    "null",
    '{"id":"e"}',
    '{"id":5,"timestamp":"t","data":{}}',
    '{"id":"e","timestamp":"t","data":1}',
  ])
    expect(() => envelopeOf({ type: "abort", json })).toThrow(/A stored event \(abort\) cannot be read: .*It begins: /);
});

test("the data of the wanted type are parsed in full, and other types are skipped", () => {
  expect(eventOf(stored("assistant.turn_end", { turnId: "0" }), "assistant.turn_end")?.data).toEqual({ turnId: "0" });
  expect(eventOf(stored("abort", {}), "assistant.turn_end")).toBeUndefined();
  expect(() => eventOf(stored("assistant.turn_end", { turnId: 5 }), "assistant.turn_end")).toThrow(/malformed/);
});

test("clients get every event that is not damaged", () => {
  const fine = stored("abort", { reason: "user_abort" });
  expect(wireEvents([{ json: "{" }, fine, { json: "[]" }])).toEqual([JSON.parse(fine.json)]);
});
