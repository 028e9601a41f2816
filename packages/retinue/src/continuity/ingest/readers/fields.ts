/** Reads what other programs write, field by field: any field may be missing or have another type. */

export type Fields = Readonly<Record<string, unknown>>;

/** A line that is not a JSON object is damaged, and skipped. */
export function parseLine(line: string): Fields | undefined {
  // Anything else is not an object, and a file may have a million such lines: an error for each would take seconds.
  if (!line.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export const fields = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
export const text = (value: unknown) => (typeof value === "string" ? value : undefined);
export const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields) : []);

export function time(value: unknown): number | undefined {
  const at = typeof value === "number" ? value : Date.parse(text(value) ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** The text of a content field: a string, or blocks of which the text ones count. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map((block) => text(block.text) ?? text(block.content) ?? "")
    .filter((part) => part !== "")
    .join("\n");
}
