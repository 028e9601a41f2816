/**
 * Removes secrets from text before anybody reads it: search results, transcripts, inherit blocks, and the words of the index.
 *
 * The stored turn stays verbatim. A rule rather hides too much; what it hides is named by kind, so that a reader knows what was there.
 */

const RULES: readonly { kind: string; pattern: RegExp; keep?: number }[] = [
  { kind: "private key", pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g },
  { kind: "token", pattern: /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g },
  { kind: "key", pattern: /\b(?:sk|rk|pk)[-_](?:ant-|proj-|live_|test_|svcacct-|or-)?[\w-]{16,}/g },
  {
    kind: "key",
    pattern:
      /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,})/g,
  },
  {
    kind: "key",
    pattern:
      /\b(?:xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}|SG\.[\w-]{16,}\.[\w-]{16,}|pypi-[\w-]{16,}|whsec_[\w+/=]{16,}|dop_v1_[a-f0-9]{32,})/g,
  },
  {
    kind: "key",
    pattern: /\b(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\brtn_[\w-]{20,}/g,
  },
  { kind: "password", pattern: /([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s@/]{1,200}(?=@)/gi, keep: 1 },
  { kind: "token", pattern: /(\b(?:bearer|basic)\s+)[\w.~+/=-]{12,}/gi, keep: 1 },
  {
    kind: "secret",
    // NAME=value, name: value, "name": "value", --name value, where the name says that it is a secret.
    pattern:
      /((?:["']?[\w.-]{0,40}(?:secret|token|passwd|password|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|credential|auth[_-]?key)[\w.-]{0,20}["']?)\s{0,3}(?:=|:|=>)\s{0,3}["'`]?)(?!\[redacted)[^\s"'`,;)}\]]{6,}/gi,
    keep: 1,
  },
];

/** A cheap test: most turns match none of this, and skip the rules. */
const SUSPECT =
  /PRIVATE KEY|eyJ|[srp]k[-_]|gh[pousr]_|github_pat|glpat|npm_|hf_|xox|xapp|SG\.|pypi-|whsec|dop_v1|A[KSGR][IPO]A|AIza|ya29|rtn_|:\/\/|bearer|basic|secret|token|passw|passphrase|key|credential/i;

export function redact(text: string): string {
  if (!SUSPECT.test(text)) return text;
  let clean = text;
  for (const { kind, pattern, keep } of RULES) {
    clean = clean.replace(
      pattern,
      (_whole, first) => `${keep && typeof first === "string" ? first : ""}[redacted ${kind}]`,
    );
  }
  return clean;
}
