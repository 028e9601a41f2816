/** How an argument or option is typed, taken apart: `<session>`, `[query...]`, `-y, --yes`, `--limit <n>`, `--no-stream`. */

export function isArgument(term: string): boolean {
  return /^[<[]/.test(term);
}

export function isRequired(term: string): boolean {
  return term.startsWith("<");
}

export function isVariadic(term: string): boolean {
  return /\.\.\.[>\]]$/.test(term);
}

/** A switch takes no value. */
export function takesValue(term: string): boolean {
  return term.endsWith(">");
}

/** `--limit` of `--limit <n>`, `session` of `<session...>`. */
export function nameOf(term: string): string {
  return isArgument(term) ? term.replaceAll(/[<>[\].]/g, "") : (/--[a-z-]+/.exec(term)?.[0] ?? term);
}

/** A switch that turns something off. */
export function isNegated(term: string): boolean {
  return nameOf(term).startsWith("--no-");
}
