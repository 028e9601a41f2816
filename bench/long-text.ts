/**
 * For how long each reader of foreign text keeps the event loop at most: `npm run bench:long-text [name] [bytes]`.
 *
 * Prints the longest stretch without a turn of the loop, in milliseconds, for the worst of the texts of test/support/long-texts.ts (best of
 * three each), with one megabyte and with 100 kilobytes. The promise is 50 ms on an idle machine.
 */
import { performance } from "node:perf_hooks";
import { READERS, type Reader, removeFolder, textOf, UNITS } from "../test/support/long-texts.ts";

const [only = "", bytes] = process.argv.slice(2);
const SIZES = bytes === undefined ? [100 * 1024, 1024 * 1024] : [Number(bytes)];
const LIMIT_MS = 50;

async function longestStretch(read: Reader["read"], text: string): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let isDone = false;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  await new Promise((resolve) => setImmediate(resolve));
  await read(text);
  await new Promise((resolve) => setImmediate(resolve));
  isDone = true;
  return longest;
}

for (const { name, read, prepare, most = Number.POSITIVE_INFINITY } of READERS.filter((reader) =>
  reader.name.includes(only),
)) {
  await prepare?.();
  for (const size of new Set(SIZES.map((each) => Math.min(each, most)))) {
    const taken: { unit: string; ms: number }[] = [];
    for (const unit of UNITS) {
      const text = textOf(unit, size);
      let ms = await longestStretch(read, text);
      if (ms > LIMIT_MS && ms < 2000)
        for (let again = 0; again < 2; again++) ms = Math.min(ms, await longestStretch(read, text));
      taken.push({ unit, ms });
    }
    taken.sort((a, b) => b.ms - a.ms);
    const over = taken.filter(({ ms }) => ms > LIMIT_MS).length;
    const worst = taken.slice(0, 4).map(({ unit, ms }) => `${ms.toFixed(0)} ms ${JSON.stringify(unit)}`);
    console.log(`${over > 0 ? "✗" : "✓"} ${name}, ${(size / 1024).toFixed(0)} KB: ${worst.join(", ")}`);
  }
}
removeFolder();
