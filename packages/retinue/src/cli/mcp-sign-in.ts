/** `retinue mcp login|logout`. */
import { messageOf, visible } from "@retinue/protocol";
import { type ClientSecret, secretInHome } from "../mcp/oauth/client-secret.ts";
import { placeInHome } from "../mcp/oauth/kept-sign-in.ts";
import { ServerSignIn, wantsSignIn } from "../mcp/oauth/server-sign-in.ts";
import { isLocal, type RemoteServer } from "../mcp/server-config.ts";
import { withVariables } from "../mcp/variables.ts";
import { openInBrowser } from "./browser.ts";
import type { CliContext } from "./cli-context.ts";
import { Interrupts } from "./interrupts.ts";
import { findServer, knownHere } from "./mcp.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { readInput } from "./piped-data.ts";
import { UsageError } from "./usage-error.ts";

interface LoginFlags {
  home?: string;
  /** False: the address is only printed. */
  browser: boolean;
  /** Even if somebody is signed in, and as a new client. */
  again: boolean;
  /** Standard input has the secret of the configured client, which is kept. */
  clientSecretStdin: boolean;
}

/** Resolves with the exit code. */
export async function login(name: string, flags: LoginFlags, context: CliContext): Promise<number> {
  const { terminal, env } = context;
  const { home, config } = await remoteServer(name, flags.home, context);
  if (!wantsSignIn(config))
    throw new UsageError(`${visible(name)} has its own Authorization header, or auth: false; nobody signs in to it`);
  const server = { name, config };
  const secret = secretInHome(home, server);
  if (flags.clientSecretStdin) await keepSecret(server, secret);
  using interrupts = new Interrupts(() => undefined);
  const signIn = new ServerSignIn({ ...server, secret, place: placeInHome(home, server), now: Date.now });
  interrupts.signal.addEventListener("abort", () => signIn.close(), { once: true });
  try {
    if (!flags.again && (await signIn.isIn())) {
      terminal.out(`${visible(name)} lets you in already. To sign in as somebody else: --again\n`);
      return 0;
    }
    if (config.oauthGrantType === "client_credentials") throw new Error(withoutBrowser(secret));
    const { authorizationUrl, done } = await signIn.login({ isAnew: flags.again });
    // Only somebody at a terminal has asked for a window.
    const isOpened = flags.browser && terminal.canAsk && (await openInBrowser(authorizationUrl, env));
    terminal.note(isOpened ? "Go on in your browser. If no window opens, open this:" : "Open this in your browser:");
    terminal.out(`${authorizationUrl}\n`);
    await done;
    terminal.note(`Signed in to ${visible(name)}.`);
    return 0;
  } catch (error) {
    if (interrupts.signal.aborted) return interrupts.exitCode;
    terminal.note(`retinue: ${visible(name)}: ${messageOf(error)}`);
    return 1;
  } finally {
    signIn.close();
  }
}

async function keepSecret(
  { name, config }: { name: string; config: RemoteServer },
  secret: ClientSecret,
): Promise<void> {
  if (config.oauthClientId === undefined)
    throw new UsageError(`${visible(name)} has no oauthClientId, so there is no client that a secret could be of`);
  const text = (await readInput(process.stdin)).toString("utf8").trim();
  if (!/^[\x20-\x7e]+$/.test(text)) throw new UsageError("standard input has no client secret: one line is wanted");
  secret.keep(text);
}

/** Why a client that acts for itself did not get in. */
const withoutBrowser = ({ isKept }: ClientSecret): string =>
  isKept ? "the server does not accept the client or its secret" : "its client needs a secret: --client-secret-stdin";

export async function logout(name: string, flags: { home?: string }, context: CliContext): Promise<void> {
  const { home, config } = await remoteServer(name, flags.home, context);
  const place = placeInHome(home, { name, config });
  const wasIn = await place.locked(async () => {
    const kept = place.read()?.tokens !== undefined;
    place.write(undefined);
    secretInHome(home, { name, config }).forget();
    return kept;
  });
  context.terminal.out(wasIn ? `Signed out of ${visible(name)}.\n` : `Nobody was signed in to ${visible(name)}.\n`);
}

async function remoteServer(
  name: string,
  givenHome: string | undefined,
  context: CliContext,
): Promise<{ home: string; config: RemoteServer }> {
  const { env, cwd } = context;
  await using own = openOwnRuntime({ env, home: givenHome });
  const { servers } = await knownHere(own, context);
  const config = withVariables(findServer(name, servers, context).config, { env, workspaceFolder: cwd });
  if (isLocal(config)) throw new UsageError(`${visible(name)} is a program on this machine; nobody signs in to it`);
  return { home: own.runtime.config.home, config };
}
