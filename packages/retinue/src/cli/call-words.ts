/** A call in a few words: the name of the tool and its most telling argument. Both were chosen by a model or a server. */
import { visible } from "@retinue/protocol";

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
  if (telling === undefined) return visible(name);
  const text = String(telling);
  return `${visible(name)} ${oneLine(agentName(text) ?? text, MAX_CHARS)}`;
}

export function oneLine(text: string, maxChars: number): string {
  // What is shown of a character is at least as long as the character, so what is behind that is cut in any case.
  const line = visible(
    text
      .trim()
      .replaceAll(/ {2,}/g, " ")
      .slice(0, maxChars + 1),
  );
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
}
