/** Law 4 over a long time. `npm run laws:soak` does all the work; `npm test` does a small part of it. */
import { expect, test } from "vitest";
import { type Amounts, leftIn, soak } from "./soak.ts";
import { World } from "./world.ts";

const SMALL: Amounts = { turns: 60, agents: 40, sessions: 20 };
const WHOLE: Amounts = { turns: 2_000, agents: 1_000, sessions: 500 };
const isWhole = process.env.LAWS_SOAK === "whole";

/** Compiled code and caches with an upper bound are not a leak. */
const MOST_MB_MORE = 3;

test(
  "after much work in one process nothing of it is left: sessions, rows, handles, files, processes, memory",
  async () => {
    await using world = new World({ maxConcurrent: 4, maxDepth: 2 });
    const say = (words: string) => void (isWhole && process.stderr.write(`soak: ${words}\n`));
    await soak(world, SMALL, () => undefined); // What is made once, such as caches, is there before the first count.
    const before = await leftIn(world);
    await soak(world, isWhole ? WHOLE : SMALL, say);
    const after = await leftIn(world);
    say(`live heap ${before.heapMb.toFixed(1)} MB before, ${after.heapMb.toFixed(1)} MB after`);
    expect({ ...after, heapMb: 0 }).toEqual({ ...before, heapMb: 0 });
    expect(after.heapMb - before.heapMb).toBeLessThan(MOST_MB_MORE);
  },
  isWhole ? 1_800_000 : 60_000,
);
