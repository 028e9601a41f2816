import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { longTimer, timeoutSignal } from "./long-timer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const THIRTY_DAYS_MS = 30 * 24 * 60 * 60 * 1000;

test.each([1, 2 ** 31 - 1, 2 ** 31, THIRTY_DAYS_MS, 2 ** 33])("a timer of %i ms fires then, and once", (ms) => {
  const act = vi.fn();
  longTimer(act, ms);
  vi.advanceTimersByTime(ms - 1);
  expect(act).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(act).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

test("a timer that is cleared in its second stretch does not fire", () => {
  const act = vi.fn();
  const timer = longTimer(act, THIRTY_DAYS_MS);
  vi.advanceTimersByTime(2 ** 31);
  timer.clear();
  vi.advanceTimersByTime(THIRTY_DAYS_MS);
  expect(act).not.toHaveBeenCalled();
});

test("a timer without an end never fires", () => {
  longTimer(() => expect.unreachable(), Number.POSITIVE_INFINITY);
  expect(vi.getTimerCount()).toBe(0);
});

test("a signal of thirty days is aborted after thirty days, as one that timed out", () => {
  const signal = timeoutSignal(THIRTY_DAYS_MS);
  vi.advanceTimersByTime(THIRTY_DAYS_MS - 1);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});
