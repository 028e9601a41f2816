/** A context board as lines that a person edits: `note-3: its text`, one for each entry. */

export interface BoardLines {
  /** Texts of new entries. */
  add: readonly string[];
  /** Ids of entries that are gone, or that another text replaces. */
  remove: readonly string[];
}

interface Entry {
  id: string;
  text: string;
}

export function linesOf(entries: readonly Entry[], name: string): string {
  const head = [
    `# ${name} has one line for each note: its id, a colon, and the text.`,
    "# A line without an id is a new note, a line that you remove is a note that goes. Lines with # are left out.",
  ];
  return [...head, ...entries.map(({ id, text }) => `${id}: ${text}`), ""].join("\n");
}

/** What the edited lines change about these entries. An id that is none of them is part of a new note's text. */
export function changeOf(text: string, shown: readonly Entry[]): BoardLines {
  const byId = new Map(shown.map((entry) => [entry.id, entry]));
  const kept = new Set<string>();
  const add: string[] = [];
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const [, id = "", rest = ""] = /^(note-\d+):\s*(.*)$/.exec(line) ?? [];
    const known = byId.get(id);
    if (known?.text === rest) kept.add(id);
    else if (!known) add.push(line);
    else if (rest !== "") add.push(rest); // Another text: the old note goes, and this one comes.
  }
  return { add, remove: shown.flatMap(({ id }) => (kept.has(id) ? [] : [id])) };
}
