/** `retinue serve`. SDK clients spell it `retinue --headless`, with flags of their own. */
import type { ProcessContext } from "../cli-context.ts";
import { port, seconds } from "./checked-values.ts";
import { command } from "./command.ts";
import { home, provider } from "./shared-fields.ts";
import { flag, optional, text, unlessTurnedOff } from "./values.ts";

const forOthers = "accepted from clients that also start other runtimes; has no effect";

export const serve = command({
  name: "serve",
  summary: "serve sessions over JSON-RPC to other programs",
  more:
    "On standard input and output, or on a TCP port that it prints when it listens. COPILOT_CONNECTION_TOKEN sets the token\n" +
    "that TCP clients must show. SDK clients start it as retinue --headless; with that spelling, options that this version\n" +
    "does not know are ignored.",
  fields: {
    stdio: { term: "--stdio", about: "serve one client on standard input and output", is: flag },
    port: { term: "--port <n>", about: "the TCP port (default: any free one)", is: optional(port) },
    host: { term: "--host <address>", about: "the address to listen on (default: 127.0.0.1)", is: optional(text) },
    provider,
    home,
    logLevel: {
      term: "--log-level <level>",
      about: "how much goes to the log in the home folder: debug, info, warn, error, silent",
      is: optional(text),
    },
    authTokenEnv: {
      term: "--auth-token-env <variable>",
      about: "the variable that holds the token of the client",
      is: optional(text),
    },
    sessionIdleTimeout: {
      term: "--session-idle-timeout <seconds>",
      about: "close sessions that have been idle for this long",
      is: optional(seconds),
    },
    headless: { term: "--headless", about: "the same as serve, for SDK clients", is: flag },
    autoUpdate: { term: "--no-auto-update", about: forOthers, is: unlessTurnedOff },
    autoLogin: { term: "--no-auto-login", about: forOthers, is: unlessTurnedOff },
    remote: { term: "--remote", about: forOthers, is: flag },
  },
  examples: ["retinue serve --stdio", "retinue serve --port 4321"],
  async run(input, { env }: ProcessContext) {
    const { runServer } = await import("../server.ts");
    return runServer(input, env);
  },
});
