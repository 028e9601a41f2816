/** Runs `retinue serve` until its client has gone or a signal comes. */
import { isLogLevel, LOG_LEVELS } from "../host/diagnostics.ts";
import { serve } from "../server/serve.ts";
import type { ProcessContext } from "./cli-context.ts";
import type { ServerToken, TokenOptions } from "./server-token.ts";
import { UsageError } from "./usage-error.ts";

export interface ServerOptions extends TokenOptions {
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

export async function runServer(
  options: ServerOptions,
  { env, program }: Pick<ProcessContext, "env" | "program">,
): Promise<never> {
  const { stdio: isStdio, port = 0, host, home, provider, authTokenEnv, logLevel, sessionIdleTimeout } = options;
  // Standard output carries frames, so what libraries log there goes elsewhere.
  for (const method of ["log", "info", "debug"] as const) console[method] = console.error;
  if (!options.headless && logLevel !== undefined && !isLogLevel(logLevel))
    throw new UsageError(`--log-level must be one of ${LOG_LEVELS.join(", ")}, not "${logLevel}"`);
  if (isStdio && options.tokenFile !== undefined)
    throw new UsageError("--token-file is for TCP servers, not for --stdio");
  const tcp = isStdio ? undefined : await tcpTransport(options, { env, host });
  delete process.env.COPILOT_CONNECTION_TOKEN; // The shells of agents must not have it: with it they could answer for their user.
  try {
    const serving = await serve({
      transport: tcp ? { at: tcp.at, port, token: tcp.token.value } : "stdio",
      env,
      home,
      provider,
      authTokenEnv,
      logLevel,
      program,
      sessionIdleTimeout: sessionIdleTimeout || undefined,
      onListening: (at) => process.stdout.write(`CLI server listening on port ${at}\n${tcp ? words(tcp.token) : ""}`),
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

async function tcpTransport(options: TokenOptions, { env, host }: { env: ProcessContext["env"]; host?: string }) {
  const [{ serverToken }, { listenAddress }] = await Promise.all([
    import("./server-token.ts"),
    import("../server/listen-address.ts"),
  ]);
  const at = await listenAddress(host ?? "127.0.0.1");
  const token = serverToken(options, { env, at });
  return { at, token };
}

/** Behind the line that clients wait for. Only a token that nobody has yet is printed. */
function words({ value, origin }: ServerToken): string {
  return origin === "made" ? `Connection token: ${value}\n` : "";
}
