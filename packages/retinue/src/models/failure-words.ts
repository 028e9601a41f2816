/** What a failed model call is called in words for people: one attempt of it, and its end. Without JSON, and with what to look at. */
import type { ModelError, Origin, Provider } from "./provider.ts";

/** "the model endpoint answered 503 (busy)" */
export function attemptWords(error: ModelError, { baseUrl }: Pick<Provider, "baseUrl">): string {
  const { kind, status, providerCode, said } = error;
  const because = (words: string | undefined) => (words ? ` (${short(words)})` : "");
  if (kind === "protocol") return "the model endpoint sent something that cannot be read";
  if (kind === "transport")
    return isUnreachable(error)
      ? `${baseUrl ?? "the model endpoint"} cannot be reached${because(providerCode)}`
      : `the connection to the model endpoint broke${because(providerCode)}`;
  if (status === undefined) return `the model endpoint reported an error${because(said)}`;
  return `the model endpoint answered ${status}${because(said)}`;
}

/** "trying again in 2 s (2 of 6)" */
export function retryWords({ delayMs, attempt, attempts }: Record<"delayMs" | "attempt" | "attempts", number>): string {
  return `trying again in ${seconds(delayMs)} s (${attempt + 1} of ${attempts})`;
}

function seconds(ms: number): string {
  return ms < 10_000 ? (ms / 1000).toFixed(1).replace(/\.0$/, "") : String(Math.round(ms / 1000));
}

const MAX_SAID = 160;
const short = (text: string) => (text.length > MAX_SAID ? `${text.slice(0, MAX_SAID - 1)}…` : text);

export interface Failed {
  /** How often it was tried again, and how long that was waited for in all. */
  retries: number;
  waitedMs: number;
  provider: Pick<Provider, "baseUrl" | "origin">;
  /** As the endpoint names it. */
  model: string;
  /** Those that the endpoint has, where it was asked. */
  models?: readonly string[];
}

export function finalWords(error: ModelError, failed: Failed): string {
  const { provider, retries, waitedMs } = failed;
  const { origin = {} } = provider;
  if (error.isElsewhere) return `${where(failed)} ${error.said ?? "is no model endpoint"}; ${rightUrl(origin)}`;
  if (error.status === 401 || error.status === 403) return refusedKey(error, failed);
  if (isUnknownModel(error)) return unknownModel(error, failed);
  if (error.status === 404)
    return lines(notFound(failed), `${saidBy(error)}Is it the right URL?${from("It", origin.address)}`);
  if (error.kind === "transport" && isUnreachable(error)) return unreachable(error, failed);
  if (retries === 0) return error.message;
  const waited = `total retry wait time: ${(waitedMs / 1000).toFixed(2)} seconds`;
  return `Failed to get response from the AI model; retried ${retries} times (${waited}) Last error: ${error.message}`;
}

const where = ({ provider: { baseUrl } }: Failed) =>
  baseUrl === undefined ? "The model endpoint" : `The model endpoint at ${baseUrl}`;

const rightUrl = ({ address }: Origin) =>
  `is it the right URL?${address === undefined ? "" : ` It comes from ${address}.`}`;

/** ": Wrong key", without the end of a sentence. */
const quoted = ({ said }: ModelError) => (said ? `: ${said.replace(/[.\s]+$/, "")}` : "");

// The first lines of the next four are those of other runtimes of this protocol: programs look for them.
const provider = ({ provider: { baseUrl } }: Failed) => `provider${baseUrl === undefined ? "" : ` at ${baseUrl}`}`;
const notFound = (failed: Failed) => `Resource not found on ${provider(failed)} (HTTP 404).`;
const lines = (first: string, hint: string) => (hint === "" ? first : `${first}\n  ${hint}`);
const saidBy = (error: ModelError) => (error.said ? `It said${quoted(error)}. ` : "");
const from = (what: string, origin: string | undefined) =>
  origin === undefined ? "" : ` ${what} comes from ${origin}.`;

function refusedKey(error: ModelError, failed: Failed): string {
  const { key, hasKey } = failed.provider.origin ?? {};
  const first =
    error.status === 401
      ? `Authentication failed with ${provider(failed)} (HTTP 401).`
      : `${where(failed)} refused the request (HTTP ${error.status}).`;
  const source = hasKey ? from("The key", key).trim() : key === undefined ? "" : `No key was sent: set ${key}.`;
  return lines(first, `${saidBy(error)}${source}`.trim());
}

const UNKNOWN_MODEL =
  /\bmodel\b.*\b(not found|does not exist|doesn't exist|is not (a )?(valid|supported|available)|not available|unknown)|\b(unknown|invalid|no such|unsupported) model\b|is not a valid model|^model: /i;
const UNKNOWN_CODES: ReadonlySet<string | undefined> = new Set([
  "model_not_found",
  "DeploymentNotFound",
  "model_not_supported",
]);

export function isUnknownModel({ kind, status, providerCode, said = "" }: ModelError): boolean {
  if (kind !== "api" || (status !== 400 && status !== 404 && status !== 422)) return false;
  return UNKNOWN_CODES.has(providerCode) || UNKNOWN_MODEL.test(said.slice(0, 500));
}

const MAX_MODELS = 30;

function unknownModel(error: ModelError, failed: Failed): string {
  const { models = [], model, provider } = failed;
  const { models: named = [] } = provider.origin ?? {};
  const first =
    error.status === 404 ? notFound(failed) : `${where(failed)} refused the request (HTTP ${error.status}).`;
  const words = `It has no model ${model}${quoted(error)}.`;
  if (models.length > 0) return lines(first, `${words} It has: ${list(models)}.`);
  return lines(
    first,
    `${words} ${named.length > 0 ? `config.json names: ${list(named)}.` : "Check the name of the model."}`,
  );
}

function list(names: readonly string[]): string {
  const more = names.length - MAX_MODELS;
  return names.slice(0, MAX_MODELS).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

const UNREACHABLE = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_INVALID_PROTOCOL)$/;
const UNTRUSTED = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$)/;

/** There is nobody to talk to, or nobody to be trusted; that rarely changes within seconds. */
export function isUnreachable({ kind, providerCode = "" }: ModelError): boolean {
  return kind === "transport" && (UNREACHABLE.test(providerCode) || UNTRUSTED.test(providerCode));
}

function unreachable({ providerCode = "" }: ModelError, failed: Failed): string {
  const { origin = {}, baseUrl = "" } = failed.provider;
  const kind = LOCAL.test(baseUrl) ? "local model" : "model";
  const words = `${hint(providerCode)} (${providerCode})${from("The address", origin.address)}`;
  return lines(`Could not connect to ${kind} ${provider(failed)}.`, words);
}

const LOCAL = /^https?:\/\/(localhost|127\.[0-9.]+|\[::1\])([:/]|$)/i;

function hint(code: string): string {
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "Its host was not found.";
  if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return "It does not speak TLS; is it http:// and not https://?";
  if (UNTRUSTED.test(code))
    return "Its certificate is not trusted. NODE_EXTRA_CA_CERTS can name a file with the right one.";
  return "Is it running?";
}
