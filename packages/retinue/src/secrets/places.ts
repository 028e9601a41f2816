/**
 * Secrets that are known by where they stand: in an address, in a PEM block, after `Bearer`, after `-u` of a command, after "the
 * password is".
 *
 * Each is tried where its first characters stand, with a pattern that reads a bounded number of characters.
 */
import { ALNUM, BASE64, classAt, codeAt, JOINT, LETTER, runWithin, SPACE, type Span } from "./characters.ts";
import { claimOf } from "./names.ts";
import { hasDigit, isCamelCase, isMadeOfWords, isMixed } from "./randomness.ts";
import { isRedacted, isSecretValue } from "./values.ts";

/** Finds a secret whose sign begins at `at`. */
export type Finder = (text: string, at: number) => Span | undefined;

/** The last group of a pattern is what is hidden. */
function after(pattern: RegExp, kind: string, isFine: (value: string) => boolean = () => true): Finder {
  const sticky = new RegExp(pattern.source, `${pattern.flags.replace("y", "")}y`);
  return (text, at) => {
    sticky.lastIndex = at;
    const found = sticky.exec(text);
    const value = found?.at(-1);
    if (!found || value === undefined || isRedacted(value) || !isFine(value)) return undefined;
    const to = at + found[0].length;
    return { from: to - value.length, to, kind };
  };
}

const isNoPlaceholder = (value: string) => !/^[<{$*[%.\u2026:]|^x+$/i.test(value);
const isCredential = (value: string) =>
  isNoPlaceholder(value) && (isMixed(value) || /[=+/]/.test(value) || !isMadeOfWords(value));

const SCHEME = after(/(?:bearer|basic)\s{1,4}([\w.~+/=-]{12,})/i, "token", isCredential);
const WEBHOOK = (pattern: RegExp) => after(pattern, "webhook", isNoPlaceholder);
const PATH = "[^\\s\"'`<>)\\]]";
const PREDICATE =
  /^(?:\w+(?:ed|ing|able|ible|ent|ant|al|ive|ful|less|ly|ous|ten|wn)|required|wrong|correct|empty|missing|not|now|new|old|never|always|still|only|also|just|here|there|below|above|this|that|these|what|when|where|good|weak|strong|short|long|plain|visible|secure|unsafe|safe|unique|common|random|public|private|secret|password|token|string|null|undefined|none|true|false|kept|sent|read|hidden|shown|known|unknown|seen|lost|given|gone|made|set|reset|part|sure|clear|simple|complex|enough|already|somewhere|nowhere|nothing|something|anything|everything|different|another|authenticate|become|remain|change|remember|connect|continue|access|login|verify|confirm|unlock|decrypt|encrypt|proceed|protect|prevent|rotate|server|client|minute|minutes|seconds|characters|letters|whatever|yours|theirs|mine|before|after|between|within|without|through|inside|outside)$/i;

/** "the password is hunter2": a word of letters alone counts only at the end of its sentence, and when it is no word of such sentences. */
function isSaid(value: string): boolean {
  if (!isNoPlaceholder(value) || /^[A-Za-z_][\w-]*[=:]/.test(value)) return false; // `NAME=value` is an assignment.
  if (hasDigit(value))
    return (
      !/^\d{1,3}$/.test(value) &&
      !/^\d+(?:st|nd|rd|th|ms|s|px|kb|mb)$/i.test(value) &&
      (isMixed(value) || value.length >= 4)
    );
  if (/[!@#$%^&*]/.test(value.slice(0, -1))) return true;
  return !isMadeOfWords(value) && !isCamelCase(value);
}
const SAID = after(
  /(?:password|passphrase|passcode|passwd|pwd|pin|secret|token|credentials?|key|login)s?\s{1,3}(?:(?:for|of|to|on)\s(?:the\s)?[\w.@-]{1,40}\s)?(?:is|was|are|will\sbe|changed\sto|set\sto)\s{0,3}(?:now\s|still\s)?:?\s{0,3}["'`]?([^\s"'`,;)]{4,200}[^\s"'`,;).!?])/i,
  "password",
  isSaid,
);
const SAID_WORD = after(
  /(?:password|passphrase|passcode)\s{1,3}(?:(?:for|of|to|on)\s(?:the\s)?[\w.@-]{1,40}\s)?(?:is|was)\s{0,3}:?\s{0,3}["'`]?([A-Za-z]{6,40})(?=["'`]?[.!]?\s*(?:$|\n|"))/i,
  "password",
  (value) => !PREDICATE.test(value),
);
/** "password Secret99!": nothing says that it is one but what it is made of. */
const BESIDE = after(
  /(?:password|passphrase|passcode|passwd|pwd)\s{1,3}["'`]?([^\s"'`,;:=)(<>]{6,64})/i,
  "password",
  (value) =>
    isNoPlaceholder(value) &&
    hasDigit(value) &&
    (/[!@#$%^&*]/.test(value) || (isMixed(value) && /[A-Z]/.test(value) && !isMadeOfWords(value))),
);

/** "the password is …", and the rest of what may follow such a word; most of what does follow is none of it, which a few looks show. */
function saidAt(text: string, at: number): Span | undefined {
  const end = runWithin(text, at, { of: LETTER, most: LONGEST_WORD });
  if (!isBlank(codeAt(text, end))) return undefined;
  let next = end + 1;
  while (next - end < 8 && isBlank(codeAt(text, next))) next++;
  const isVerb = VERBS.has(pairOf(codeAt(text, next), codeAt(text, next + 1)));
  const said = isVerb ? (SAID(text, at) ?? SAID_WORD(text, at)) : undefined;
  return said ?? (WITH_PASSWORD.has(codeAt(text, at)) ? (BESIDE(text, at) ?? NETRC(text, at)) : undefined);
}

const LONGEST_WORD = 16;
/** As `\s` has it. */
const isBlank = (code: number) =>
  code <= 32 ? code === 32 || (code >= 9 && code <= 13) : code >= 160 && /\s/.test(String.fromCharCode(code));
const pairOf = (first: number, second: number) => ((first | 32) << 16) | (second | 32);
/** The first two letters of what may stand between such a word and its value. */
const VERBS: ReadonlySet<number> = new Set(
  "for of to on is was are will changed set".split(" ").map((verb) => pairOf(verb.charCodeAt(0), verb.charCodeAt(1))),
);
/** The first letters of `password` and `login`, and of what else stands for them. */
const WITH_PASSWORD: ReadonlySet<number> = new Set([..."pPl"].map((each) => each.charCodeAt(0)));
const PHRASE = after(
  /(?:mnemonic|seed phrase|recovery phrase)["'`]?(?:\sis)?\s{0,3}[:=]?\s{0,3}["'`]?((?:[a-z]{3,8}\s){11,23}[a-z]{3,8})/i,
  "secret",
);
const PIN = after(/(?:pin|passcode)(?:\s(?:is|was))?:?\s{1,3}(\d{4,8})(?!\S)/i, "password");

/** `--token value`; with `=` it is an assignment. */
const FLAG_VALUE = /\s{1,3}(["']?)([^\s"'-][^\s"']{3,512})\1/y;
function flagged(text: string, at: number): Span | undefined {
  const start = text[at + 1] === "-" ? at + 2 : at + 1;
  const end = runWithin(text, start, { of: ALNUM | JOINT, most: 40 });
  const claim = end - start < 3 ? undefined : claimOf(text.slice(start, end));
  if (claim === undefined || claim === "weak") return undefined;
  FLAG_VALUE.lastIndex = end;
  const [whole, quote = "", value = ""] = FLAG_VALUE.exec(text) ?? [];
  if (whole === undefined || /^\w+=/.test(value)) return undefined;
  const isSecret = isSecretValue(claim, {
    text: value,
    isQuoted: quote !== "",
    isPlain: false,
    name: text.slice(start, end),
  });
  const to = end + whole.length - quote.length;
  return isSecret ? { from: to - value.length, to, kind: claim === "password" ? "password" : "secret" } : undefined;
}

const USER = after(
  /(?:-u|--user|--proxy-user|-U)[\s=]{0,3}["']?[^\s:"'/]{0,128}:([^\s"']{3,256})/,
  "password",
  (value) => isNoPlaceholder(value) && !/^(?:\d+|pass|password|passwd|pw|secret|token)$/i.test(value),
);
const LOGIN_PASSWORD = after(
  /(?:-p|--password|-a|--pass|-w|-P)(?:[\s=]{0,2})["']?([^\s"'-][^\s"']{3,256})/,
  "password",
  (value) => isNoPlaceholder(value) && !/^\d{1,5}(?::\d+)*$/.test(value) && !/[/\\]/.test(value),
);

/** Commands whose `-u` or `-p` takes a password. */
export const COMMANDS: Readonly<Record<string, Finder>> = {
  "curl ": USER,
  "http ": USER,
  "wget ": USER,
  "mysql ": LOGIN_PASSWORD,
  "mysqldump ": LOGIN_PASSWORD,
  "mysqladmin ": LOGIN_PASSWORD,
  "mariadb ": LOGIN_PASSWORD,
  "sshpass ": LOGIN_PASSWORD,
  "docker login": LOGIN_PASSWORD,
  "podman login": LOGIN_PASSWORD,
  "helm registry login": LOGIN_PASSWORD,
  "redis-cli ": LOGIN_PASSWORD,
  "mongo ": LOGIN_PASSWORD,
  "mongosh ": LOGIN_PASSWORD,
  "mongodump ": LOGIN_PASSWORD,
  "sqlcmd ": LOGIN_PASSWORD,
  "ldapsearch ": LOGIN_PASSWORD,
  "az login": LOGIN_PASSWORD,
  "oc login": LOGIN_PASSWORD,
  "cf login": LOGIN_PASSWORD,
};

/** `-p` of a command line, or `--token value`. */
export function optionAt(text: string, at: number, command: Finder | undefined): Span | undefined {
  return flagged(text, at) ?? command?.(text, at);
}

/** By the characters that a sign begins with. */
export const SIGNS: readonly (readonly [signs: string, find: Finder])[] = [
  ["Bearer |bearer |BEARER |Basic |basic |BASIC ", SCHEME],
  [
    "password|Password|PASSWORD|passphrase|Passphrase|passcode|Passcode|passwd|pwd|pin |PIN |secret |Secret |token |Token |credential|key |Key |login ",
    saidAt,
  ],
  ["PIN|pin |passcode|Passcode", PIN],
  ["mnemonic|Mnemonic|MNEMONIC|seed phrase|Seed phrase|recovery phrase|Recovery phrase", PHRASE],
  ["hooks.slack.com/", WEBHOOK(new RegExp(`hooks\\.slack\\.com/(?:services|workflows|triggers)/(${PATH}{10,400})`))],
  [
    "discord.com/|discordapp.com/|canary.discord.com/|ptb.discord.com/",
    WEBHOOK(new RegExp(`(?:canary\\.|ptb\\.)?discord(?:app)?\\.com/api/(?:v\\d{1,2}/)?webhooks/(${PATH}{10,400})`)),
  ],
  ["api.telegram.org/", WEBHOOK(/api\.telegram\.org\/(?:file\/)?bot(\d{5,12}:[\w-]{20,80})/)],
  [
    "webhook.office.com/|outlook.office.com/|outlook.office365.com/",
    WEBHOOK(new RegExp(`[a-z.0-9]{3,40}/webhook(?:b2)?/(${PATH}{20,400})`)),
  ],
  [
    "hooks.zapier.com/|hook.eu1.make.com/|hook.eu2.make.com/|hook.us1.make.com/|hook.us2.make.com/|hook.integromat.com/|maker.ifttt.com/|open.feishu.cn/|open.larksuite.com/|events.pagerduty.com/|hooks.airtable.com/|webhook.site/|hooks.chime.aws/|mattermost|qyapi.weixin.qq.com/|prod-|connect.pabbly.com/|webhooks.workato.com/|n8n.",
    WEBHOOK(
      new RegExp(
        `[a-z.0-9-]{3,80}/(?:hooks?/catch/|hooks/|trigger/[\\w-]{1,60}/(?:json/)?with/key/|open-apis/bot/v2/hook/|integration/|incomingwebhooks/|webhook/|webhooks/rest/|)(?=${PATH}{0,80}\\d)([\\w-]{5,80}${PATH}{0,300})`,
      ),
    ),
  ],
  ["access_token$", after(/access_token\$(?:production|sandbox)\$([a-z0-9]{8,40}\$[a-f0-9]{20,64})/, "token")],
  ["passin |passout ", after(/pass(?:in|out)\s{1,3}["']?pass:([^\s"']{3,128})/, "password", isNoPlaceholder)],
];

const NETRC = after(
  /(?:login|password)\s{1,8}(?:\S{1,64}\s{1,8}(?:account\s{1,8}\S{1,64}\s{1,8})?password\s{1,8})(\S{3,128})/,
  "password",
  isNoPlaceholder,
);
const MAX_AUTHORITY = 512;

/** The password of `scheme://user:password@host`; `at` is where `://` stands. */
export function passwordOfAddress(text: string, at: number): Span | undefined {
  const from = at + 3;
  const last = Math.min(text.length, from + MAX_AUTHORITY);
  let [colon, ampersat, slash] = [-1, -1, -1];
  for (let n = from; n < last; n++) {
    const each = text.charCodeAt(n);
    if (each === 58 && codeAt(text, n + 1) === 47 && codeAt(text, n + 2) === 47) break; // Another address begins.
    if (each <= 32 || each === 34 || each === 39 || each === 60 || each === 62 || each === 96 || each === 92) break;
    if (each === 58 && colon < 0 && slash < 0) colon = n;
    if (each === 64 && (slash < 0 || isBehindPort(text, colon, slash))) ampersat = n;
    if ((each === 47 || each === 63 || each === 35) && slash < 0) slash = n;
  }
  if (ampersat < 0) return undefined;
  if (colon < 0 || colon > ampersat) return keyOfAddress(text, from, ampersat);
  const value = text.slice(colon + 1, ampersat);
  if (value === "" || isRedacted(value) || PLACEHOLDERS.test(value)) return undefined;
  return { from: colon + 1, to: ampersat, kind: "password" };
}

const PLACEHOLDERS = /^(?:<[^>]*>?|\$\{?\w*\}?|\{\{?\w*\}?\}?|\*+|x{3,}|\.\.\.|\u2026|%[sd]|\[\w+\])$/i;

/** A slash before the `@` belongs to a password, unless a port number precedes it. */
const isBehindPort = (text: string, colon: number, slash: number) =>
  colon >= 0 && !/^\d{1,5}$/.test(text.slice(colon + 1, slash));

/** `https://key@host`, as error collectors have it. */
function keyOfAddress(text: string, from: number, to: number): Span | undefined {
  const user = text.slice(from, to);
  return user.length >= 16 && isMixed(user) && /^[\w-]+$/.test(user) ? { from, to, kind: "key" } : undefined;
}

const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,40})-----/y;

export interface Block extends Span {
  isPublic: boolean;
}

/** The block that begins at `at`. A private one is hidden to its end, or else to the end of the text; certificates and public keys stay. */
export function blockAt(text: string, at: number): Block | undefined {
  BEGIN.lastIndex = at;
  const label = BEGIN.exec(text)?.[1];
  if (label === undefined) return undefined;
  const closing = `-----END ${label}-----`;
  if (/PRIVATE|MESSAGE|SECRET|ENCRYPTED|OPENVPN/.test(label)) {
    const end = text.indexOf(closing, at);
    return { from: at, to: end < 0 ? text.length : end + closing.length, kind: "private key", isPublic: false };
  }
  const end = encodedEnd(text, at + label.length + 16);
  return text.startsWith(closing, end)
    ? { from: at, to: end + closing.length, kind: label, isPublic: true }
    : undefined;
}

/** Base64 in lines, which may be written as `\\n`. */
function encodedEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && ((classAt(text, at) & (ALNUM | BASE64 | SPACE)) !== 0 || text[at] === "\\")) at++;
  return at;
}
