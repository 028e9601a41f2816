/**
 * Whether a path matches a glob of an `applyTo`: `**` for folders, `*` and `?` inside a name, `{a,b}` for one of several.
 *
 * The patterns are somebody else's, so the time is bounded whatever they are: no regular expression is made of them.
 */

const MAX_PATTERN = 500;
const MAX_ALTERNATIVES = 100;

/** `path` is relative, with slashes. A pattern without a slash is about a name in any folder. */
export function matchesGlob(pattern: string, path: string): boolean {
  if (pattern.length > MAX_PATTERN) return false;
  const names = path.split("/");
  return alternatives(pattern.replace(/^\.?\//, "")).some((each) => {
    const parts = (each.includes("/") ? each : `**/${each}`).split("/");
    return matchesNames(each.endsWith("/") ? [...parts.slice(0, -1), "**"] : parts, names);
  });
}

function alternatives(pattern: string): string[] {
  let open = [pattern];
  for (;;) {
    const next = open.flatMap((each) => {
      const found = /\{([^{}]*)\}/.exec(each);
      if (!found) return [each];
      const [whole, inside = ""] = found;
      return inside.split(",").map((one) => each.replace(whole, () => one));
    });
    if (next.length > MAX_ALTERNATIVES) return [];
    if (next.length === open.length && next.every((each, at) => each === open[at])) return next;
    open = next;
  }
}

/** Row by row: which beginnings of the path the parts so far match. */
function matchesNames(parts: readonly string[], names: readonly string[]): boolean {
  let reached = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of reached) {
      const name = names[at];
      if (part === "**") for (let to = at; to <= names.length; to++) next.add(to);
      else if (name !== undefined && matchesName(part, name)) next.add(at + 1);
    }
    reached = next;
  }
  return reached.has(names.length);
}

function matchesName(pattern: string, name: string): boolean {
  let at = 0;
  let in_ = 0;
  let star = -1;
  let from = 0;
  while (at < name.length) {
    if (in_ < pattern.length && (pattern[in_] === "?" || (pattern[in_] === name[at] && pattern[in_] !== "*"))) {
      at++;
      in_++;
    } else if (pattern[in_] === "*") {
      star = in_++;
      from = at;
    } else if (star >= 0) {
      in_ = star + 1;
      at = ++from;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(in_));
}
