/** What a sub-agent said, out of the text that `read_agent` and `task` give. */

/** Without the header, and without the notice that the answer ends with anyway. */
export function turnsOf(text: string, notice: string): string {
  // Line breaks before a heading are trimmed off: in the pattern they would be read anew from each of them.
  const [header = "", ...turns] = text.split(/\[Turn \d+\]\n/).map((part) => part.trimEnd());
  const said = turns.length > 0 ? turns.join("\n\n") : header;
  return said
    .replaceAll(notice, "")
    .replace(/\[(Message|Response)\]\n/g, "")
    .trim();
}
