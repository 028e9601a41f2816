/** One runtime in the benchmark: how it is started, driven and measured. Everything here goes through the official SDK. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { approveAll, CopilotClient, type CopilotSession, defineTool, RuntimeConnection } from "@github/copilot-sdk";
import { cleanEnv } from "../test/support/runtime.ts";
import { childrenOf, cpuMs, residentBytes } from "./processes.ts";

export interface Contender {
  name: string;
  path: string;
}

export interface Running extends AsyncDisposable {
  readonly client: CopilotClient;
  open(workload: string, options?: OpenOptions): Promise<CopilotSession>;
  resume(workload: string, sessionId: string): Promise<CopilotSession>;
  /** How often the host tool has run. */
  toolRuns(): number;
  /** Resident memory of the runtime and everything it started. */
  rssMb(): number;
  /** CPU time of the same since they were started. */
  cpuMs(): number;
}

interface OpenOptions {
  streaming?: boolean;
}

export interface Home extends AsyncDisposable {
  readonly path: string;
}

export async function freshHome(): Promise<Home> {
  const home = await mkdtemp(path.join(tmpdir(), "retinue-bench-"));
  return { path: home, [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 10 }) };
}

const benchTool = (handler: () => string) =>
  defineTool("bench_tool", {
    description: "Returns a number.",
    parameters: { type: "object", properties: { n: { type: "number" } } },
    handler,
  });

/** Starts the runtime on this home. The caller measures how long that takes. */
export async function start(contender: Contender, { home, port }: { home: Home; port: number }): Promise<Running> {
  const before = new Set(childrenOf(process.pid));
  const client = new CopilotClient({
    connection: RuntimeConnection.forStdio({ path: contender.path }),
    env: cleanEnv({ TMPDIR: home.path }),
    baseDirectory: home.path,
    workingDirectory: home.path,
    useLoggedInUser: false,
    logLevel: "error",
  });
  await client.start();
  const roots = childrenOf(process.pid).filter((pid) => !before.has(pid));
  let runs = 0;
  const tool = benchTool(() => String(++runs));
  const config = (workload: string) => ({
    model: "scripted",
    provider: {
      type: "openai" as const,
      baseUrl: `http://127.0.0.1:${port}/${workload}/v1`,
      apiKey: "bench",
      maxPromptTokens: 1_000_000,
    },
    tools: [tool],
    onPermissionRequest: approveAll,
  });
  return {
    client,
    open: (workload, options = {}) => client.createSession({ ...config(workload), ...options }),
    resume: (workload, sessionId) => client.resumeSession(sessionId, config(workload)),
    toolRuns: () => runs,
    rssMb: () => roots.reduce((sum, pid) => sum + residentBytes(pid), 0) / 1024 / 1024,
    cpuMs: () => roots.reduce((sum, pid) => sum + cpuMs(pid), 0),
    async [Symbol.asyncDispose]() {
      const errors = await client.stop();
      if (errors.length > 0) await client.forceStop();
    },
  };
}
