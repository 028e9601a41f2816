import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RunClock } from "./run-clock.ts";
import { Slot } from "./slot.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const clockOf = ({ limitMs, above }: { limitMs?: number; above?: RunClock } = {}) =>
  new RunClock({ now: Date.now, above, limitMs: () => limitMs });
const DAY_MS = 24 * 60 * 60 * 1000;

/** Waits for a person until the returned function is called. */
function ask(clock: RunClock, slot: Slot): () => Promise<void> {
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const waiting = slot.waiting(() => clock.waitingForPerson(() => answered));
  return async () => {
    answer();
    await waiting;
  };
}

test("an agent is stopped once when it has worked for as long as it may", () => {
  const clock = clockOf({ limitMs: 1000 });
  const late = vi.fn();
  clock.start(late);
  vi.advanceTimersByTime(999);
  expect([late.mock.calls.length, clock.elapsedMs]).toEqual([0, 999]);
  vi.advanceTimersByTime(5000);
  expect([late.mock.calls.length, clock.elapsedMs, vi.getTimerCount()]).toEqual([1, 1000, 0]);
});

test("a limit of thirty days is not one of a millisecond", () => {
  const late = vi.fn();
  clockOf({ limitMs: 30 * DAY_MS }).start(late);
  vi.advanceTimersByTime(30 * DAY_MS - 1);
  expect(late).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(late).toHaveBeenCalledOnce();
});

test("time in which the agent only waits for a person does not count", async () => {
  const clock = clockOf({ limitMs: 1000 });
  const slot = new Slot(undefined, clock);
  const late = vi.fn();
  clock.start(late);
  await slot.enter();
  vi.advanceTimersByTime(600);
  const answer = ask(clock, slot);
  vi.advanceTimersByTime(40 * DAY_MS);
  expect([late.mock.calls.length, clock.elapsedMs]).toEqual([0, 600]);
  await answer();
  vi.advanceTimersByTime(400);
  expect(late).toHaveBeenCalledOnce();
});

test("an open question stops no clock while something else works", async () => {
  const clock = clockOf({ limitMs: 1000 });
  const slot = new Slot(undefined, clock);
  const late = vi.fn();
  clock.start(late);
  await Promise.all([slot.enter(), slot.enter()]); // Two calls of one turn.
  const answer = ask(clock, slot);
  vi.advanceTimersByTime(1000);
  expect(late).toHaveBeenCalledOnce();
  await answer();
});

test("a question below stops the clocks above, unless a sibling works", async () => {
  const above = clockOf({ limitMs: 10_000 });
  const [asking, working] = [clockOf({ above }), clockOf({ above })];
  const [askingSlot, workingSlot] = [new Slot(undefined, asking), new Slot(undefined, working)];
  above.start(vi.fn());
  await askingSlot.enter();
  await workingSlot.enter();
  const answer = ask(asking, askingSlot);
  vi.advanceTimersByTime(1000);
  expect(above.elapsedMs).toBe(1000);
  workingSlot.leave();
  vi.advanceTimersByTime(1000);
  expect(above.elapsedMs).toBe(1000);
  await answer();
  vi.advanceTimersByTime(1000);
  expect(above.elapsedMs).toBe(2000);
  above.stop();
});

test("a run that is continued has only the time that is left", () => {
  const late = vi.fn();
  const clock = clockOf({ limitMs: 1000 });
  clock.start(late, { fromMs: 900 });
  vi.advanceTimersByTime(100);
  expect(late).toHaveBeenCalledOnce();
});

test("a stopped clock leaves no timer behind", () => {
  const clock = clockOf({ limitMs: 1000 });
  clock.start(vi.fn());
  clock.stop();
  expect([vi.getTimerCount(), clock.isStarted]).toEqual([0, false]);
});

test("what has elapsed is noted now and then and when it stands still, without the time of a person", async () => {
  const notes: (number | undefined)[] = [];
  const clock = new RunClock({ now: Date.now, limitMs: () => 10_000, note: (elapsedMs) => notes.push(elapsedMs) });
  const slot = new Slot(undefined, clock);
  await slot.enter();
  clock.start(() => undefined);
  vi.advanceTimersByTime(1200);
  expect(notes).toEqual([500, 1000]);
  const answer = ask(clock, slot);
  vi.advanceTimersByTime(60_000);
  expect(notes).toEqual([500, 1000, 1200]);
  await answer();
  vi.advanceTimersByTime(500);
  expect(notes.at(-1)).toBe(1700);
  clock.stop();
  vi.advanceTimersByTime(60_000);
  expect([notes.at(-1), notes.length, vi.getTimerCount()]).toEqual([undefined, 5, 0]);
});

test("a run that is set aside keeps its time, and so does one that is late", () => {
  const notes: (number | undefined)[] = [];
  const clock = new RunClock({ now: Date.now, limitMs: () => 1000, note: (elapsedMs) => notes.push(elapsedMs) });
  clock.start(() => undefined, { fromMs: 600 });
  vi.advanceTimersByTime(100);
  clock.park();
  expect([notes, clock.isStarted]).toEqual([[700], false]);
  clock.start(() => undefined, { fromMs: 990 });
  vi.advanceTimersByTime(5000);
  expect(notes.at(-1)).toBe(1000);
});

test("nothing is noted where nothing is limited", () => {
  const note = vi.fn();
  const clock = new RunClock({ now: Date.now, limitMs: () => undefined, note });
  clock.start(() => undefined);
  vi.advanceTimersByTime(DAY_MS);
  clock.park();
  clock.stop();
  expect(note).not.toHaveBeenCalled();
});
