/**
 * The benchmark: `npm run bench -- --peer name=path [--control] [--only turn,tool] [--rounds n] [--quick] [--json]`.
 *
 * Our runtime and each peer are driven by the same official client over the same loopback model, each from a client process
 * of its own. They alternate step by step within each measure, so that a slow second of the machine affects them all.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Contender } from "./contender.ts";
import { playRound } from "./contest.ts";
import { MEASURES, type Setting } from "./measures.ts";
import { ROWS } from "./rows.ts";
import { linesOf, markdown, type Result } from "./table.ts";

const { values: options } = parseArgs({
  options: {
    peer: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
    ours: { type: "string", default: fileURLToPath(new URL("../bin/retinue.js", import.meta.url)) },
    /** Every measure is taken this often, with new processes each time. */
    rounds: { type: "string", default: "1" },
    /** Our runtime once more, as the last contender: how far its ratios are from 1 is the noise of the run. */
    control: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const contenders: Contender[] = [
  { name: "retinue", path: options.ours },
  ...options.peer.map((given) => {
    const [name = "", ...rest] = given.split("=");
    if (rest.length === 0) throw new Error(`--peer takes name=path, not ${given}`);
    return { name, path: rest.join("=") };
  }),
  ...(options.control ? [{ name: "control", path: options.ours }] : []),
];

const rounds = Math.max(1, Math.floor(Number(options.rounds) || 1));
const wanted = options.only?.split(",") ?? Object.keys(MEASURES);
const unknown = wanted.filter((id) => !(id in MEASURES));
if (unknown.length > 0)
  throw new Error(`no measure ${unknown.join(", ")}; there are ${Object.keys(MEASURES).join(", ")}`);

const model = fork(new URL("./model-process.ts", import.meta.url));
try {
  const [{ port }] = await once(model, "message");
  const results = await measureAll({ port, quick: options.quick });
  const lines = linesOf(ROWS, results);
  if (options.quick)
    process.stderr.write("A quick run: shorter histories, fewer agents and fewer samples than the titles say.\n");
  console.log(options.json ? JSON.stringify({ results, lines }, null, 2) : markdown(lines, results));
} finally {
  model.disconnect();
}

async function measureAll(setting: Setting): Promise<Result[]> {
  const results: Result[] = contenders.map(({ name }) => ({ name, rounds: [], failures: {} }));
  for (const measure of wanted)
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`${measure} (${round + 1} of ${rounds}) …\n`);
      const taken = await playRound(contenders, { measure, setting, round });
      for (const [at, { numbers, failure }] of taken.entries()) {
        const result = results[at];
        if (result === undefined) continue;
        result.rounds[round] = { ...result.rounds[round], ...numbers };
        if (failure !== undefined) result.failures[measure] = failure;
      }
    }
  return results;
}
