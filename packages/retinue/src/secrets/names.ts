/**
 * What a name says about the value beside it: `DB_PASS`, `clientSecret`, `X-Api-Key`.
 *
 * A name is read word by word, so `tokenizer` and `monkey` say nothing, and its last word may take back what the others say:
 * `token_limit` is a number.
 */

/** `password`: nearly any value is one. `token`: a value that is not a word. `weak`: a value that looks random. */
export type Claim = "password" | "token" | "weak" | "authorization" | "cookie";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const PASSWORD = words(
  "password passwd passphrase pwd passcode pw passwort kennwort contrasena pgpassword mysqlpwd userpass dbpass rootpass adminpass ftppass smtppass keypass storepass userpassword dbpassword rediscliauth wachtwoord senha motdepasse psk mnemonic",
);
const TOKEN = words(
  "secret token apikey apitoken apisecret accesstoken authtoken refreshtoken idtoken sessiontoken clientsecret secretkey privatekey accesskey accountkey authkey credential credentials jwt bearer phpsessid jsessionid sid sessid csrftoken xsrftoken csrf xsrf signingkey encryptionkey masterkey sharedaccesskey sharedaccesssignature appsecret consumersecret webhooksecret otp totp pat accesskeysecret secretaccesskey sig sas dsn webhook",
);
/** With `key` after it. */
const KEYS = words(
  "api access private account auth secret encryption encrypt signing sign master shared subscription license licence service storage functions function app application client server admin root deploy ssh jwt hmac aes rsa write read project project integration routing ingestion instrumentation cookie publishable anon role dd datadog honeycomb sendgrid mailgun stripe openai anthropic azure google gcp aws groq xai gemini mistral cohere algolia amplitude segment tenant host function-host primary secondary consumer live test data user pub sub wandb hf bugsnag rollbar",
);
const WEAK = words(
  "key auth pass passkey pin salt code cookie nonce seed credentials value license signature webhookurl",
);
/** A last word that says what the value is instead. */
const OTHER = words(
  "count counts limit limits max min length len size type types name names file files path paths url uri env field fields policy expires expiry expiration ttl prefix suffix provider endpoint header headers budget usage used index kind required enabled disabled schema validator rotation version regex pattern placeholder label hint error errors message status at on in age days hours minutes seconds ms reset strength store manager helper service module class table column input output form page list map set array format algorithm alg mode color id ids arn ref reference source src issuer audience scope scopes expired valid invalid missing present exists check rate cost price total per position pos line start end begin offset text description title comment example docs doc help info level host hostname port user username email dir folder location vault selector parser stream bucket price remaining left budget window estimate estimator counter",
);

/** A text repeats its names. */
const known = new Map<string, Claim | "none">();
const MOST_KNOWN = 4_000;

export function claimOf(name: string): Claim | undefined {
  const found = known.get(name);
  if (found !== undefined) return found === "none" ? undefined : found;
  if (known.size >= MOST_KNOWN) known.clear();
  const claim = read(name);
  known.set(name, claim ?? "none");
  return claim;
}

function read(name: string): Claim | undefined {
  const parts = partsOf(name.slice(name.lastIndexOf(".", name.length - 2) + 1));
  const last = parts.at(-1) ?? "";
  const whole = parts.join("");
  if (last === "authorization") return "authorization";
  if (last === "cookie" && parts.length <= 2) return "cookie";
  if (parts.length > 1 && OTHER.has(last) && !TOKEN.has(whole)) return undefined;
  if (parts.some((part) => PASSWORD.has(part)) || PASSWORD.has(whole) || /pass(?:word|wd|phrase|code)$/.test(whole))
    return "password";
  if (parts.length > 1 && (last === "pass" || last === "pin")) return "password";
  if (parts.some((part) => TOKEN.has(part)) || TOKEN.has(whole)) return "token";
  if (parts.some((part, at) => (part === "key" || part === "keys") && KEYS.has(parts[at - 1] ?? ""))) return "token";
  if (/(?:token|secret|apikey|accesskey|secretkey|privatekey|authkey)$/.test(whole)) return "token";
  if (last === "signature" && parts.length > 1) return "token";
  if (name.startsWith("_") && last === "auth") return "token";
  return WEAK.has(last) ? "weak" : undefined;
}

/** `dbPassword`, `DB_PASSWORD` and `db-password` are the same words. */
function partsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((part) => part.replace(/\d+$/, ""))
    .filter(Boolean);
}
