/**
 * What the SDK costs: resolving and dispatching a child session's request with few and many live children, and loading it.
 *
 * Prints microseconds and ratios. `tsx bench/sdk-dispatch.ts`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { type Attached, attach } from "../packages/sdk/src/attached.ts";
import { Children } from "../packages/sdk/src/children.ts";
import { EventHub } from "../packages/sdk/src/event-hub.ts";
import { answerRequest } from "../packages/sdk/src/requests.ts";
import { defineTool } from "../packages/sdk/src/tools.ts";

const ROUNDS = 20_000;
const root = fileURLToPath(new URL("..", import.meta.url));

export interface DispatchCost {
  children: number;
  resolveMicros: number;
  dispatchMicros: number;
}

/** The median of five runs, after one to warm up. */
async function micros(work: (round: number) => unknown): Promise<number> {
  const runs: number[] = [];
  for (let run = 0; run < 6; run += 1) {
    const before = performance.now();
    for (let round = 0; round < ROUNDS; round += 1) await work(round);
    if (run > 0) runs.push(((performance.now() - before) * 1000) / ROUNDS);
  }
  return median(runs);
}

export async function dispatchCost(live: number): Promise<DispatchCost> {
  const sessions = new Map<string, Attached>();
  const children = new Children<Attached>(sessions);
  const config = {
    tools: [defineTool("save", { handler: () => "ok" })],
    customAgents: [{ name: "saver", prompt: "", tools: ["save"] }],
  };
  const hub = new EventHub(() => undefined);
  sessions.set("root", attach("root", config, { hub, isResumed: false }));
  for (let index = 0; index < live; index += 1) {
    const instance = {
      agentName: "saver",
      toolCallId: `call-${index}`,
      childSessionId: `child-${index}`,
      startedAt: new Date(),
    };
    children.register("root", instance);
  }
  const host = { children, gitHubTokens: new Map(), onError: () => undefined };
  const { signal } = new AbortController();
  const call = { toolName: "save", toolCallId: "c", arguments: {} };
  return {
    children: live,
    resolveMicros: await micros((round) => children.resolveSession(`child-${round % live}`)),
    dispatchMicros: await micros((round) =>
      answerRequest(host, "tool.call", { ...call, sessionId: `child-${round % live}` }, { signal }),
    ),
  };
}

/** How long a fresh Node takes to load the SDK, against the libraries that such a client is usually made of. */
export function importRatio(): { sdkMs: number; peersMs: number; ratio: number } {
  // Inside the repository, so that the bundle finds zod where a user's program would.
  const folder = mkdtempSync(join(root, "node_modules", ".bench-"));
  try {
    const sdk = join(folder, "sdk.mjs");
    buildSync({
      entryPoints: { sdk: join(root, "packages/sdk/src/index.ts") },
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      external: ["zod"],
    });
    const peers = join(folder, "peers.mjs");
    writeFileSync(peers, 'import "vscode-jsonrpc/node";\nimport "zod";\n');
    const [sdkMs, peersMs] = [loadTime(sdk), loadTime(peers)];
    return { sdkMs, peersMs, ratio: sdkMs / peersMs };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function loadTime(file: string): number {
  const code = `const t = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); console.log(performance.now() - t);`;
  const times = Array.from({ length: 9 }, () => {
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
    if (stdout === "") throw new Error(stderr);
    return Number(stdout);
  });
  return median(times);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function main(): Promise<void> {
  const few = await dispatchCost(10);
  const many = await dispatchCost(10_000);
  for (const { children, resolveMicros, dispatchMicros } of [few, many]) {
    console.log(
      `${children} children: resolve ${resolveMicros.toFixed(2)} µs, dispatch ${dispatchMicros.toFixed(2)} µs`,
    );
  }
  console.log(`dispatch at 10,000 against 10 children: ${(many.dispatchMicros / few.dispatchMicros).toFixed(2)} ×`);
  const { sdkMs, peersMs, ratio } = importRatio();
  console.log(
    `import: SDK ${sdkMs.toFixed(1)} ms, vscode-jsonrpc + zod ${peersMs.toFixed(1)} ms, ratio ${ratio.toFixed(2)}`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
