/** How long redaction takes for lines of one megabyte: `npx tsx bench/redact.ts`. Best of five, in milliseconds. */
import { redact } from "../packages/retinue/src/secrets/redact.ts";

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
