/** Runs `retinue serve` until its client has gone or a signal comes. */
import { serve } from "../server/serve.ts";
import type { ProcessContext } from "./cli-context.ts";

export interface ServerOptions {
  stdio: boolean;
  port?: number;
  host?: string;
  home?: string;
  provider?: string;
  /** The variable that holds the client's token. */
  authTokenEnv?: string;
  logLevel?: string;
  sessionIdleTimeout?: number;
}

export async function runServer(options: ServerOptions, env: ProcessContext["env"]): Promise<never> {
  const { stdio: isStdio, port = 0, host, home, provider, authTokenEnv, logLevel, sessionIdleTimeout } = options;
  // Standard output carries frames, so what libraries log there goes elsewhere.
  for (const method of ["log", "info", "debug"] as const) console[method] = console.error;
  try {
    const serving = await serve({
      transport: isStdio ? "stdio" : { port, host },
      env,
      home,
      provider,
      authTokenEnv,
      logLevel,
      sessionIdleTimeout: sessionIdleTimeout || undefined,
      onListening: (at) => process.stdout.write(`CLI server listening on port ${at}\n`),
    });
    let isEnding = false;
    const end = () => {
      if (isEnding) process.exit(1); // A second signal does not wait for anything.
      isEnding = true;
      void serving.close().finally(() => process.exit(0));
    };
    process.on("SIGTERM", end);
    process.on("SIGINT", end);
    process.on("SIGHUP", end);
    await serving.ended;
    await serving.close();
    process.exit(0);
  } catch (error) {
    process.stderr.write(`retinue: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
