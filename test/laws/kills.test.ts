/** Random session trees whose runtime is killed at a random event: the laws hold. `npm run laws:kills` runs many more of them. */
import { expect, test } from "vitest";
import { runSeed } from "./random-kill.ts";

const SEEDS = Array.from({ length: 20 }, (_, at) => at + 1);

test("random trees keep the laws when their runtime is killed at a random event", async () => {
  const problems: Record<string, string[]> = {};
  const next = SEEDS.values();
  const worker = async () => {
    for (const seed of next) {
      const broken = await runSeed(seed).catch((error: unknown) => [String(error)]);
      if (broken.length > 0) problems[`npm run laws:kills -- --seed ${seed}`] = broken;
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  expect(problems).toEqual({});
});
