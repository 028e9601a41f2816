/**
 * The environment of the processes that this one starts: its own, without what the configuration uses as a credential.
 *
 * A variable is withheld by name: the ones that are always read as a credential, the ones that a command line or `config.json` names, and
 * addresses with a password in them. `GITHUB_TOKEN` and `GH_TOKEN` are passed on, because the configuration does not read them and
 * programs in a shell do. What a caller names for a process is always passed on.
 */
import { claimOf } from "./names.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Read as credentials by models/sources.ts, server/serve.ts and cli/own-runtime.ts. */
export const CREDENTIAL_VARIABLES: readonly string[] = [
  "OPENAI_API_KEY",
  "ANTHROPIC_API_KEY",
  "RETINUE_API_KEY",
  "COPILOT_CONNECTION_TOKEN",
  "COPILOT_SDK_AUTH_TOKEN",
  "COPILOT_GITHUB_TOKEN",
];
const ADDRESSES: ReadonlySet<string> = new Set([
  "RETINUE_PROVIDER_URL",
  "COPILOT_API_URL",
  "OPENAI_BASE_URL",
  "ANTHROPIC_BASE_URL",
]);
const OWN = /^RETINUE_(?:\w*_)?(?:TOKEN|SECRET|PASSWORD|API_KEY)$/;

export interface Withheld {
  /** Variables that hold a credential. */
  names: readonly string[];
  /** Variables that are passed on all the same: `shellEnv` of the configuration. */
  allowed: readonly string[];
}

const readers = new Set<() => Withheld>();

/** Withholds what the reader names, from now until the returned function is called. It is asked when a process is started. */
export function withhold(read: () => Withheld): () => void {
  readers.add(read);
  return () => readers.delete(read);
}

/** For a process that is started now. `more` is what the caller names for it. */
export function childEnvironment(more: Environment = {}, env: Environment = process.env): NodeJS.ProcessEnv {
  const { names, allowed, isUnknown } = configured();
  const isWithheld = (name: string, value: string | undefined) => {
    if (allowed.has(name)) return false;
    if (names.has(name) || OWN.test(name)) return true;
    if (ADDRESSES.has(name)) return hasPassword(value);
    return isUnknown && isCredentialName(name);
  };
  const passed = Object.entries(env).filter(([name, value]) => !isWithheld(name, value));
  return { ...Object.fromEntries(passed), ...more };
}

function configured(): { names: ReadonlySet<string>; allowed: ReadonlySet<string>; isUnknown: boolean } {
  const names = new Set(CREDENTIAL_VARIABLES);
  const allowed = new Set<string>();
  let isUnknown = false;
  for (const read of readers) {
    try {
      const withheld = read();
      for (const name of withheld.names) names.add(name);
      for (const name of withheld.allowed) allowed.add(name);
    } catch {
      isUnknown = true; // The configuration cannot be read, so any variable with a telling name may be the one that it names.
    }
  }
  return { names, allowed, isUnknown };
}

function isCredentialName(name: string): boolean {
  const claim = claimOf(name);
  return claim === "token" || claim === "password";
}

function hasPassword(address: string | undefined): boolean {
  if (address === undefined || !URL.canParse(address)) return false;
  const { username, password, search } = new URL(address);
  return username !== "" || password !== "" || search !== "";
}
