/**
 * Rules for addresses: what `url(…)` and an allowed domain cover.
 *
 * Owns the comparison. Both sides are parsed as a browser parses them, because text that looks alike is not the same address: user
 * names, backslashes, tabs, capital letters and dots at the end change where a request goes. What cannot be parsed is never allowed,
 * and every deny rule covers it.
 */

/** What a rule says: a host with or without those below it, and what else it names. */
interface Pattern {
  host: string;
  hasSubdomains: boolean;
  /** Absent: every one of them. */
  protocol?: string;
  port?: string;
  path?: string;
}

export interface Coverage {
  /** Denying a host, and allowing a domain, cover the hosts below it; an allow rule covers them when it begins with `*.`. */
  hasSubdomains: boolean;
  /** Denying goes by what a server may make of a path, allowing by what is certain. */
  isDenial: boolean;
}

/** Whether a rule's argument, or an allowed domain, covers an address. */
export function coversUrl(argument: string, url: string, { hasSubdomains, isDenial }: Coverage): boolean {
  const pattern = patternOf(argument);
  const address = addressOf(url);
  if (!pattern || !address) return isDenial;
  const { protocol, port, path } = pattern;
  return (
    isHostCovered(hostOf(address), { ...pattern, hasSubdomains: hasSubdomains || pattern.hasSubdomains }) &&
    (protocol === undefined || address.protocol === protocol) &&
    (port === undefined || portOf(address) === port) &&
    (path === undefined || isPathCovered(address.pathname, path, isDenial))
  );
}

/** Whether the argument of a rule can be read at all. */
export function isUrlRule(argument: string): boolean {
  return patternOf(argument) !== undefined;
}

function isHostCovered(host: string, pattern: Pattern): boolean {
  return host === pattern.host || (pattern.hasSubdomains && host.endsWith(`.${pattern.host}`));
}

/** The host of an address, without the dot that makes a name absolute. */
export function hostOf({ hostname }: URL): string {
  let end = hostname.length;
  while (end > 0 && hostname[end - 1] === ".") end--; // A pattern would look at a long row of dots from each of them.
  return hostname.slice(0, end);
}

/** `web_fetch` takes no longer ones, and no allow rule is about one. */
const MAX_ADDRESS = 8192;

/** Only addresses that `web_fetch` could use; others have no host to compare. */
function addressOf(url: string): URL | undefined {
  if (url.length > MAX_ADDRESS) return undefined;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed && /^https?:$/.test(parsed.protocol) && hostOf(parsed) !== "" ? parsed : undefined;
}

/** `example.com`, `*.example.com`, `example.com:8080`, `example.com/docs` or `https://example.com/docs`. */
function patternOf(argument: string): Pattern | undefined {
  const [, scheme, wild, rest = ""] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?(.*)$/is.exec(argument.trim()) ?? [];
  // The port is looked for in the text as well: one that is usual for the scheme is gone after parsing.
  const hasPort = /^(\[[^\]]*\]|[^/:?#\\]*):\d+/.test(rest);
  const parsed = rest.includes("@") ? undefined : addressOf(`${scheme ?? "http"}://${rest}`);
  if (!parsed) return undefined;
  return {
    host: hostOf(parsed),
    hasSubdomains: wild !== undefined,
    ...(scheme === undefined ? {} : { protocol: parsed.protocol }),
    ...(scheme === undefined && !hasPort ? {} : { port: portOf(parsed) }),
    ...(parsed.pathname === "/" ? {} : { path: parsed.pathname }),
  };
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === "https:" ? "443" : "80");
}

/** A path covers itself and what is below it, by whole names: `/docs` does not cover `/docs-private`. */
function isPathCovered(path: string, covered: string, isDenial: boolean): boolean {
  const names = isDenial ? namesAsServed(path) : namesOf(path);
  const wanted = isDenial ? namesAsServed(covered) : namesOf(covered);
  // A server may decode a name once more and then see another path.
  if (!isDenial && namesOf(path).some((name) => /%2f|%5c|%25|%00/i.test(name) || /^(\.|%2e)*$/i.test(name)))
    return false;
  return wanted.every((name, at) => name === names[at]);
}

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "");

/** As a lenient server reads a path: decoded, with empty names left out and `..` resolved. */
function namesAsServed(path: string): string[] {
  const names: string[] = [];
  for (const name of namesOf(decoded(path).replaceAll("\\", "/"))) {
    if (name === "..") names.pop();
    else if (name !== ".") names.push(name.toLowerCase());
  }
  return names;
}

function decoded(path: string): string {
  let text = path;
  for (let round = 0; round < 3; round++) {
    const next = text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part; // Not UTF-8: compared as it is.
      }
    });
    if (next === text) break;
    text = next;
  }
  return text;
}
