/**
 * The whole suite on a machine that has other things to do: `npm run test:busy [-- --runs 3] [vitest arguments]`. One busy loop for
 * each core runs beside it, every time. Ends with 1 when a run fails.
 */
import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  options: { runs: { type: "string", default: "3" } },
  allowPositionals: true,
});
const loops = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
);
const stop = () => {
  for (const loop of loops) loop.kill("SIGKILL");
};
process.on("exit", stop);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

let failed = 0;
for (let run = 1; run <= Number(values.runs); run++) {
  const begun = Date.now();
  const { status } = spawnSync("npx", ["vitest", "run", ...positionals], { stdio: "inherit" });
  if (status !== 0) failed++;
  const minutes = ((Date.now() - begun) / 60_000).toFixed(1);
  console.log(`busy run ${run} of ${values.runs}: ${status === 0 ? "passed" : "failed"}, ${minutes} minutes`);
}
process.exit(failed === 0 ? 0 : 1);
