/** `retinue serve`, and the flags with which SDK clients start a runtime. */
import { serve } from "../server/serve.ts";

export async function runServer(args: readonly string[]): Promise<void> {
  const value = (name: string) => {
    const at = args.indexOf(name);
    return at < 0 ? undefined : args[at + 1];
  };
  const isStdio = args.includes("--stdio");
  const port = Number(value("--port") ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    process.stderr.write(`retinue: --port must be a number from 0 to 65535, not ${value("--port")}\n`);
    process.exit(2);
  }
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(HELP);
    return;
  }
  // Standard output carries frames, and libraries like to log there.
  for (const method of ["log", "info", "debug"] as const) console[method] = console.error;
  try {
    const serving = await serve({
      transport: isStdio ? "stdio" : { port, host: value("--host") },
      env: process.env,
      provider: value("--provider"),
      authTokenEnv: value("--auth-token-env"),
      logLevel: value("--log-level"),
      sessionIdleTimeout: Number(value("--session-idle-timeout") ?? 0) || undefined,
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

const HELP = `Usage: retinue serve [--stdio | --port <n>] [--host <address>] [--provider <name or URL>]

Serves sessions over JSON-RPC: on standard input and output, or on a TCP port (any free one when no port is given;
it is printed as "listening on port <n>"). COPILOT_CONNECTION_TOKEN sets the token that TCP clients must show.
`;
