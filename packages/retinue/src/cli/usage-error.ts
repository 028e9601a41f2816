/** A command line that is wrong: the process prints one line and ends with code 2, unless the command has another code for that. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode: number;

  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The name that was probably meant. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const near = (name: string) => Math.max(1, Math.floor(name.length / 3));
  const [best] = names
    // What is much longer than a name is not meant to be that name, and comparing it would take its time.
    .filter((name) => word.length - name.length <= near(name))
    .map((name) => ({ name, distance: distance(word, name) }))
    .filter(({ name, distance: steps }) => steps <= near(name) || name.startsWith(word))
    .sort((a, b) => a.distance - b.distance);
  return best?.name;
}

/** How many letters have to be added, dropped, changed or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(change, swap, at(row, j) + 1, at(next, j - 1) + 1));
    }
    before = row;
    row = next;
  }
  return at(row, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;

/** What the parser of the command line says is wrong, which may quote an argument of any length. */
export function inOneLine(text: string): string {
  const line = text.replace(/^error: /, "").replaceAll(/\s+/g, (blanks) => (blanks.includes("\n") ? " " : blanks));
  return withoutOpposite(line);
}

/** Nobody means the opposite of what they typed. */
function withoutOpposite(line: string): string {
  const hint = line.lastIndexOf(" (Did you mean --no-");
  const typed = line.slice(line.lastIndexOf("'--", hint), hint);
  const isOption = hint >= 0 && typed.startsWith("'--") && !typed.startsWith("'--no-") && !/\s/.test(typed);
  return isOption ? `${line.slice(0, hint)}${line.slice(line.indexOf("?)", hint) + 2)}` : line;
}
