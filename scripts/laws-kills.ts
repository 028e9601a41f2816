/**
 * Random session trees, killed at random events, and judged by the laws: `npm run laws:kills -- --seeds 200`.
 *
 * `--seed 17` runs one of them again, `--from 1000` begins at another seed, `--at-once 2` says how many run at the same time.
 */
import { parseArgs } from "node:util";
import { runSeed } from "../test/laws/random-kill.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    "at-once": { type: "string", default: "2" },
  },
});
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const next = Array.from({ length: count }, (_, at) => first + at).values();
const failed: number[] = [];
let done = 0;

const worker = async () => {
  for (const seed of next) {
    const broken = await runSeed(seed).catch((error: unknown) => [String(error)]);
    done++;
    if (broken.length > 0) {
      failed.push(seed);
      console.log(`seed ${seed} breaks:\n  ${broken.join("\n  ")}\n  again with: npm run laws:kills -- --seed ${seed}`);
    }
    if (done % 10 === 0 || done === count) console.log(`${done} of ${count} seeds, ${failed.length} failed`);
  }
};
await Promise.all(Array.from({ length: Number(values["at-once"]) }, worker));
process.exitCode = failed.length > 0 ? 1 : 0;
