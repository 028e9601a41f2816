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
    "On standard input and output, or on a TCP port that it prints when it listens. Clients of a TCP server must show a token:\n" +
    "the one in --token-file or in COPILOT_CONNECTION_TOKEN, else one that is made and printed. Beyond loopback it must be one of\n" +
    "your own. SDK clients start it as retinue --headless; with that spelling no token is made, so that an absent or empty\n" +
    "COPILOT_CONNECTION_TOKEN means that none is needed, and options that this version does not know are ignored.",
  fields: {
    stdio: { term: "--stdio", about: "serve one client on standard input and output", is: flag },
    port: { term: "--port <n>", about: "the TCP port (default: any free one)", is: optional(port) },
    host: { term: "--host <address>", about: "the address to listen on (default: 127.0.0.1)", is: optional(text) },
    tokenFile: {
      term: "--token-file <file>",
      about: "a file with the token that TCP clients must show, on one line",
      is: optional(text),
    },
    token: { term: "--no-token", about: "let every program of this machine connect to the port", is: unlessTurnedOff },
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
  examples: [
    "retinue serve --stdio",
    "retinue serve --port 4321",
    "retinue serve --host 0.0.0.0 --token-file token.txt",
  ],
  async run(input, context: ProcessContext) {
    const { runServer } = await import("../server.ts");
    return runServer(input, context);
  },
});
