/** A command line that is wrong: the process prints one line and ends with code 2, unless the command has another code for that. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode: number;

  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** What the parser of the command line says is wrong, which may quote an argument of any length. */
export function inOneLine(text: string): string {
  const line = text.replace(/^error: /, "").replaceAll(/\s+/g, (blanks) => (blanks.includes("\n") ? " " : blanks));
  return withoutOpposite(line);
}

/** Nobody means the opposite of what they typed. */
function withoutOpposite(line: string): string {
  const hint = line.lastIndexOf(" (Did you mean --no-");
  const typed = line.slice(line.lastIndexOf("'--", hint), hint);
  const isOption = hint >= 0 && typed.startsWith("'--") && !typed.startsWith("'--no") && !/\s/.test(typed);
  return isOption ? `${line.slice(0, hint)}${line.slice(line.indexOf("?)", hint) + 2)}` : line;
}
