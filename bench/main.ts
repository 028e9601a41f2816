/**
 * The benchmark: `npm run bench -- --peer name=path [--only turn,tool] [--rounds n] [--quick] [--json]`.
 *
 * Our runtime and each peer are driven by the same official client over the same loopback model. The runtimes take
 * turns within each measure, so that a slow minute of the machine affects them all.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Contender } from "./contender.ts";
import { MEASURES, type Setting } from "./measures.ts";
import { ROWS } from "./rows.ts";
import { linesOf, markdown, type Result } from "./table.ts";

const { values: options } = parseArgs({
  options: {
    peer: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
    ours: { type: "string", default: fileURLToPath(new URL("../bin/retinue.js", import.meta.url)) },
    /** On a machine with other work: every measure is taken this often, and the median counts. */
    rounds: { type: "string", default: "1" },
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
  const [ours = { name: "retinue", numbers: {}, failures: {} }, ...peers] = results;
  const lines = linesOf(ROWS, { ours, peers });
  if (options.quick)
    process.stderr.write("A quick run: shorter histories, fewer agents and fewer samples than the titles say.\n");
  console.log(options.json ? JSON.stringify({ results, lines }, null, 2) : markdown(lines, results));
} finally {
  model.disconnect();
}

async function measureAll(setting: Setting): Promise<Result[]> {
  const results: Result[] = contenders.map(({ name }) => ({ name, numbers: {}, failures: {} }));
  for (const id of wanted) {
    const taken = contenders.map(() => new Map<string, number[]>());
    for (let round = 1; round <= rounds; round++) {
      for (const [at, contender] of inTurn(round)) {
        process.stderr.write(`${id}: ${contender.name} (${round} of ${rounds}) …\n`);
        try {
          const numbers = await MEASURES[id]?.(contender, setting);
          for (const [name, number] of Object.entries(numbers ?? {})) keep(taken[at], name, number);
        } catch (error) {
          const result = results[at];
          if (result) result.failures[id] = error instanceof Error ? error.message : String(error);
        }
      }
    }
    for (const [at, numbers] of taken.entries())
      for (const [name, all] of numbers) Object.assign(results[at]?.numbers ?? {}, { [name]: median(all) });
  }
  return results;
}

/** Whoever comes second may find a warmer machine, so the order changes from round to round. */
function inTurn(round: number): [number, Contender][] {
  const order = [...contenders.entries()];
  return round % 2 === 0 ? order.reverse() : order;
}

function keep(numbers: Map<string, number[]> | undefined, name: string, number: number): void {
  const all = numbers?.get(name) ?? [];
  all.push(number);
  numbers?.set(name, all);
}

function median(all: readonly number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
