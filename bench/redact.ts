/**
 * How well redaction does, on the whole corpora with twenty values for each format, and how long it takes for lines of one
 * megabyte (best of five): `npm run bench:secrets`.
 */
import { CREDENTIALS, exampleOf, ORDINARY, readable } from "../packages/retinue/src/secrets/corpus/test-corpus.ts";
import { redact } from "../packages/retinue/src/secrets/redact.ts";

const SEEDS = Array.from({ length: 20 }, (_, at) => at + 1);
const examples = SEEDS.flatMap((seed) => CREDENTIALS.map((pattern) => exampleOf(pattern, seed)));
const shown = examples.filter((example) => readable(example, redact(example.text)).length > 0);
const changed = ORDINARY.filter((line) => redact(line) !== line);
const percent = (part: number, all: number) => `${((100 * part) / all).toFixed(2)} %`;
console.log(
  `hidden: ${percent(examples.length - shown.length, examples.length)} of ${examples.length} credentials (${CREDENTIALS.length} formats)`,
);
console.log(`changed: ${percent(changed.length, ORDINARY.length)} of ${ORDINARY.length} ordinary lines\n`);

const LINES: Readonly<Record<string, string>> = {
  "one long word": "a",
  base64: "aB3x/+Zq9K",
  prose: "The quick brown fox asks for the password of the lazy dog. ",
  JSON: '{"id":42,"name":"widget","token":"none","price":12.5,"tags":["a","b"]},',
  "minified code": "function a(b,c){return b.token===c?d(b.key):e(f=>f.id)};var g=h.i||{};",
  "names without values": "token: ",
  "unclosed quotes": "token='",
  "begun keys": "sk-",
};
const SIZE = 1024 * 1024;

for (const [name, unit] of Object.entries(LINES)) {
  const line = unit.repeat(Math.ceil(SIZE / unit.length)).slice(0, SIZE);
  const taken = [1, 2, 3, 4, 5].map(() => {
    const before = performance.now();
    redact(line);
    return performance.now() - before;
  });
  console.log(
    `${name.padEnd(24)} ${Math.min(...taken)
      .toFixed(1)
      .padStart(8)} ms`,
  );
}
