/** The word that was probably meant by one that nobody knows. */

/** The name that was probably meant: the nearest one, or one that begins with the word. */
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

/** A name that differs in at most one letter, apart from capital letters: a slip of the hand, and hardly another name. */
export function slipOf(word: string, names: readonly string[]): string | undefined {
  return names.find(
    (name) => Math.abs(word.length - name.length) <= 1 && distance(word.toLowerCase(), name.toLowerCase()) <= 1,
  );
}

/** Words to follow a complaint; empty when nothing is near. */
export function didYouMean(word: string, names: readonly string[]): string {
  const meant = nearest(word, names);
  return meant === undefined ? "" : `. Did you mean ${meant}?`;
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
