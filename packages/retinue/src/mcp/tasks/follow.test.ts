/** How long a server that cannot be asked is waited for, and how often one is asked, by a clock of the test. */
import { Client } from "@modelcontextprotocol/client";
import { AppError } from "@retinue/protocol";
import { expect, test, vi } from "vitest";
import { type FollowOptions, follow } from "./follow.ts";
import type { TaskHome } from "./questions.ts";
import { TaskNews } from "./task-news.ts";

const MINUTE = 60_000;

const QUIET = {
  task: { dialect: "2025-11-25", taskId: "t" },
  deadline: () => 60 * 24 * MINUTE,
  now: () => 0,
  onLook: () => undefined,
  onProgress: () => undefined,
  onWarning: () => undefined,
  ask: () => Promise.reject(new Error("nobody asks")),
} satisfies Partial<FollowOptions>;

/** Each try fails with the next of these errors, and the clock has gone on by so much before it. */
async function followed(tries: readonly { error: Error; afterMs: number }[], more: Partial<FollowOptions> = {}) {
  const left = [...tries];
  const warnings: string[] = [];
  let now = 0;
  const server: TaskHome = {
    with: async () => {
      const { error, afterMs } = left.shift() ?? { error: new Error("asked too often"), afterMs: 0 };
      now += afterMs;
      throw error;
    },
  };
  const end = await follow({
    ...QUIET,
    server: async () => server,
    now: () => now,
    signal: new AbortController().signal,
    onWarning: (message) => warnings.push(message),
    ...more,
  });
  return { end, warnings, left };
}

const gone = new Error("connection refused");
const closed = new AppError("authentication_required", "sign in first");

test("a server that is away for ten minutes has lost its task, and each failure was a warning", async () => {
  const { end, warnings, left } = await followed([
    { error: gone, afterMs: 0 },
    { error: gone, afterMs: 11 * MINUTE },
  ]);
  expect(end).toEqual({
    way: "lost",
    error: "The server could not be reached for 10 minutes: connection refused",
  });
  expect(warnings).toEqual(["connection refused", "connection refused"]);
  expect(left).toEqual([]);
});

test("the time in which somebody must sign in does not count", async () => {
  const wrapped = new AppError("not_configured", "MCP server 'jobs': sign in first", { cause: closed });
  const { end, left } = await followed([
    { error: closed, afterMs: 0 },
    { error: wrapped, afterMs: 60 * MINUTE },
    { error: gone, afterMs: 11 * MINUTE },
  ]);
  expect([end?.way, left]).toEqual(["lost", []]);
});

test("the end of the task's own time comes before that of a server that is away", async () => {
  const { end } = await followed([{ error: gone, afterMs: 2 * MINUTE }], { deadline: () => MINUTE });
  expect(end).toEqual({ way: "expired", error: "The task had not ended when its time was up." });
});

test("a server that sends news after each of its answers is not asked without pause", async () => {
  vi.useFakeTimers();
  try {
    const over = new AbortController();
    let looks = 0;
    const news = new TaskNews({ server: "jobs" });
    const client = new Client({ name: "test", version: "1" });
    client.request = async () => {
      looks++;
      setTimeout(() => news.of("t")?.onNews(), 1);
      return { taskId: "t", status: "working", pollInterval: MINUTE };
    };
    const following = follow({
      ...QUIET,
      server: async () => ({ with: (use) => use(client, news) }),
      signal: over.signal,
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(looks).toBeGreaterThan(5);
    expect(looks).toBeLessThan(12);
    over.abort();
    expect(await following).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});
