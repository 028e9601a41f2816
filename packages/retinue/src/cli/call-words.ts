/** A call in a few words: the name of the tool and its most telling argument. */

const TELLING = [
  "command",
  "path",
  "pattern",
  "url",
  "query",
  "skill",
  "name",
  "agent_id",
  "shellId",
  "question",
  "summary",
  "description",
];
const MAX_CHARS = 100;

export function callWords(
  name: string,
  args: unknown,
  agentName: (id: string) => string | undefined = () => undefined,
): string {
  const given: Record<string, unknown> = typeof args === "object" && args !== null ? { ...args } : {};
  const telling = TELLING.map((key) => given[key]).find((value) => typeof value === "string" && value !== "");
  if (telling === undefined) return name;
  const text = String(telling);
  return `${name} ${oneLine(agentName(text) ?? text, MAX_CHARS)}`;
}

export function oneLine(text: string, maxChars: number): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
}
