/**
 * A transcript that a hook brings whole each time: as a list of messages, as JSON lines, or as plain text with speakers.
 *
 * Only what is new becomes turns, even when the last turn has grown or the beginning was cut off.
 */
import { type NewTurn, ROLES } from "../../store/transcript-records.ts";
import type { Draft } from "./draft.ts";
import { contentText, type Fields, fields, parseLine, text, time } from "./readers/fields.ts";
import { LINE_READERS } from "./readers/line-reader.ts";
import { markOf, type Reading } from "./reading-state.ts";

export type InlineTranscript = string | readonly unknown[];

/** Drafts what is new in a transcript that came whole. */
export async function takeWhole(draft: Draft, transcript: InlineTranscript): Promise<void> {
  const { reading } = draft;
  const turns = parseInline(transcript, draft.name.harness);
  const last = turns.at(-1);
  if (!last) return;
  const expected = new Set(reading.awaited);
  const fresh = (await unseen(draft, { turns, seen: reading.inline })).filter((turn) => !expected.has(markOf(turn)));
  const marks = new Set(reading.awaited.length === 0 ? [] : turns.map(markOf));
  const awaited = reading.awaited.filter((mark) => !marks.has(mark));
  const inline = { count: turns.length, last: markOf(last) };
  draft.append(fresh, { reading: { ...reading, awaited, inline } });
}

/** How many of the last turns are searched for one that is sent again. */
const RECENT = 512;

/** Drafts turns that have ids; one that is stored already is not stored again. */
export async function takeNew(draft: Draft, turns: readonly unknown[]): Promise<void> {
  const parsed = withoutRepeated(turns.flatMap((turn) => messageTurn(fields(turn)) ?? []));
  const recent = await draft.newest(RECENT);
  const newestAt = recent[0]?.at ?? 0;
  const without = (known: ReadonlySet<string | undefined>) =>
    parsed.filter(({ sourceId }) => sourceId === undefined || !known.has(sourceId));
  const fresh = without(new Set(recent.map(({ sourceId }) => sourceId)));
  // Older turns come from a harness that catches up after a restart.
  const isCatchingUp = recent.length === RECENT && fresh.some(({ at }) => at !== undefined && at < newestAt);
  draft.append(isCatchingUp ? without(await draft.sources()) : fresh);
}

/** The first of those that have the same id. */
function withoutRepeated(turns: readonly NewTurn[]): NewTurn[] {
  const ids = new Set<string>();
  return turns.filter(({ sourceId }) => {
    if (sourceId === undefined) return true;
    const isFirst = !ids.has(sourceId);
    ids.add(sourceId);
    return isFirst;
  });
}

export function parseInline(transcript: InlineTranscript, harness: string): NewTurn[] {
  if (typeof transcript !== "string") return transcript.flatMap((each) => messageTurn(fields(each)) ?? []);
  if (!transcript.includes("{")) return spokenTurns(transcript); // No line of it is JSON.
  const lines = transcript.split("\n");
  const parsed = lines.map(parseLine);
  if (!parsed.some((line) => line !== undefined)) return spokenTurns(transcript);
  const readLine = LINE_READERS[harness];
  return parsed.flatMap((line) => {
    if (!line) return [];
    const reads = readLine?.(line) ?? [];
    if (reads.length > 0) return reads.flatMap((read) => (read.type === "turn" ? [read.turn] : []));
    return messageTurn(line) ?? [];
  });
}

/** One message as most programs write it. */
export function messageTurn(message: Fields): NewTurn | undefined {
  const role = roleOf(message.role);
  const words = contentText(message.content ?? message.text).trim();
  if (!role || words === "") return undefined;
  return {
    role,
    text: words,
    tool: text(message.tool) ?? text(message.toolName),
    callId: text(message.callId),
    sourceId: text(message.id),
    at: time(message.at ?? message.timestamp),
  };
}

function roleOf(value: unknown) {
  const word = typeof value === "string" ? value.toLowerCase() : "";
  if (word === "human") return "user";
  if (word === "toolresult" || word === "function") return "tool";
  return ROLES.find((role) => role === word);
}

function spokenTurns(transcript: string): NewTurn[] {
  // Blanks before a speaker are trimmed off below. In the pattern they would be read anew from every empty line.
  const parts = transcript.split(/^[^\S\n\r\u2028\u2029]*(user|human|assistant|system|tool)\s*:/im);
  const opening = parts[0]?.trim() ?? "";
  const turns: NewTurn[] = opening === "" ? [] : [{ role: "user", text: opening }];
  for (let n = 1; n < parts.length; n += 2) {
    const words = parts[n + 1]?.trim() ?? "";
    if (words !== "") turns.push({ role: roleOf(parts[n]) ?? "user", text: words });
  }
  return turns;
}

async function unseen(
  draft: Draft,
  { turns, seen }: { turns: readonly NewTurn[]; seen: Reading["inline"] },
): Promise<readonly NewTurn[]> {
  if (!seen) return turns;
  const at = turns[seen.count - 1];
  if (at && markOf(at) === seen.last) return turns.slice(seen.count);
  const [newest] = await draft.newest(1);
  if (at && newest?.role === at.role && at.text.startsWith(newest.text)) {
    return [{ ...at, text: at.text.slice(newest.text.length).trim() }, ...turns.slice(seen.count)];
  }
  const known = new Set((await draft.everything()).map(markOf));
  return turns.filter((turn) => !known.has(markOf(turn)));
}
