/**
 * The inherit block: what a child session reads about its parent. Made from the store alone, so the same store gives the same block.
 *
 * One budget holds for all of it. When space is short, constraints come first, then the checkpoint, then the tail; the order in the
 * block is fixed.
 */
import { redact, redactInTurns } from "../../secrets/redact.ts";
import type { Checkpoint, TranscriptSession, Turn } from "../../store/transcript-records.ts";
import type { Entity, TranscriptStore } from "../../store/transcripts.ts";
import { isSpawnTool } from "../records/calls.ts";
import { speaker } from "../records/speaker.ts";

export const INHERIT_HEADING = "## Inherited from Parent Session";

export interface InheritOptions {
  tailChars: number;
  /** The most characters that the harness delivers uncut. */
  maxChars: number;
  /** Whether entities and their constraints are told; they belong to the agent in all its projects. */
  hasEntities?: boolean;
}

/** How long one injection may be. Claude Code and Codex cut at 10,000; the difference is for the wrapper around the block. */
export function maxCharsFor(harness: string): number {
  return harness === "claude-code" || harness === "codex" ? 9_500 : 12_000;
}

export async function inheritBlock(
  store: TranscriptStore,
  parent: TranscriptSession,
  { tailChars, maxChars, hasEntities = true }: InheritOptions,
): Promise<string | undefined> {
  const [checkpoint] = await store.checkpoints.list(parent.id, 1);
  const known = hasEntities ? await store.entities.list(parent.agentId) : [];
  const room = Math.min(tailChars, maxChars);
  const turns = await recentTurns(store, parent.id, { checkpoint, room, isSearched: known.length > 0 });
  if (!checkpoint?.summary.trim() && turns.length === 0) return undefined;

  const focal = focalEntities(known, { checkpoint, turns });
  const head = `${INHERIT_HEADING}\n\n[${oneLine(redact(parent.title ?? "active session"), 120)}]`;
  const foot = footer(focal, maxChars / 2);
  const left = maxChars - head.length - foot.length;
  const summary = section("Checkpoint:", cut(indented(redact(checkpoint?.summary.trim() ?? "")), left * 0.6));
  const recent = section("Recent context:", tail(turns, Math.min(tailChars, left - summary.length - 20)));
  return `${head}${summary}${recent}${foot}`;
}

interface RecentTurn {
  turn: Turn;
  /** As the child reads it; absent for turns before those that fill the tail. */
  line?: string;
}

interface Recent {
  checkpoint?: Checkpoint;
  /** How many characters the tail may have. */
  room: number;
  /** Whether entities are looked for in the turns, beyond those that fill the tail. */
  isSearched: boolean;
}

/** Turns of the shortest kind fill the tail with this many characters each. */
const SHORT_TURN = 20;
const PAGE = 32;

/** Turns from the end that fill the tail, in order. The call that starts the child is left out: it is the child's own prompt. */
async function recentTurns(
  store: TranscriptStore,
  sessionId: number,
  { checkpoint, room, isSearched }: Recent,
): Promise<RecentTurn[]> {
  const most = Math.max(8, Math.ceil(room / SHORT_TURN));
  const newest: RecentTurn[] = [];
  let chars = 0;
  let before: number | undefined;
  for (let left = most; left > 0 && (isSearched || chars <= room); left -= PAGE) {
    const limit = Math.min(PAGE, left);
    const page = await store.turns.read(sessionId, { after: checkpoint?.uptoSeq, before, limit, backward: true });
    const lines = chars <= room ? await linesOf(page) : [];
    for (const [at, turn] of page.entries()) {
      if (newest.length === 0 && isSpawnCall(turn)) continue;
      const line = lines[at];
      newest.push({ turn, line });
      chars += line?.length ?? 0;
    }
    before = page.at(-1)?.seq;
    if (page.length < limit) break;
  }
  return newest.reverse();
}

const isSpawnCall = ({ role, tool }: Turn) => role === "assistant" && tool !== undefined && isSpawnTool(tool);

const MAX_TOOL_LINE = 300;

/** Whole turns from the end while they fit. A single one that is too long keeps its end. */
function tail(turns: readonly RecentTurn[], room: number): string {
  const lines: string[] = [];
  let left = room;
  for (const { turn, line: whole } of [...turns].reverse()) {
    if (whole === undefined) break;
    // Indenting only makes it longer, so of one that is too long the end is enough.
    const line = indented(whole.length > left ? whole.slice(whole.length - Math.max(1, left)) : whole);
    if (line.length > left) {
      if (lines.length === 0 && left > 80) lines.push(`  ${speaker(turn)}: … ${line.slice(line.length - left + 40)}`);
      break;
    }
    lines.unshift(line);
    left -= line.length + 1;
  }
  return lines.join("\n");
}

async function linesOf(turns: readonly Turn[]): Promise<string[]> {
  const texts = await redactInTurns(turns.map(({ text }) => text.trim()));
  return turns.map((turn, at) => lineOf(turn, texts[at] ?? ""));
}

function lineOf(turn: Turn, text: string): string {
  const isTool = turn.role === "tool" || turn.tool !== undefined;
  return `${speaker(turn)}: ${isTool && text.length > MAX_TOOL_LINE ? `${text.slice(0, MAX_TOOL_LINE)} …` : text}`;
}

/** Entities that the checkpoint names or the recent turns mention. */
function focalEntities(
  known: readonly Entity[],
  { checkpoint, turns }: { checkpoint?: Checkpoint; turns: readonly RecentTurn[] },
): Pick<Entity, "name" | "attributes">[] {
  const named = checkpoint?.entities ?? [];
  // Most agents have no entities, and then the turns need not be looked through.
  const words = known.length === 0 ? [] : turns.map(({ turn }) => turn.text);
  const said = words.join("\n").toLowerCase();
  const isFocal = ({ name }: Entity) =>
    named.some((each) => each.toLowerCase() === name.toLowerCase()) || said.includes(name.toLowerCase());
  const unknown = named.filter((name) => !known.some((entity) => entity.name.toLowerCase() === name.toLowerCase()));
  return [...known.filter(isFocal), ...unknown.map((name) => ({ name, attributes: [] }))];
}

function footer(focal: readonly Pick<Entity, "name" | "attributes">[], room: number): string {
  if (focal.length === 0) return "";
  const names = `\nFocal entities: ${oneLine(focal.map(({ name }) => redact(name)).join(", "), 600)}`;
  const constraints = focal.flatMap(({ attributes }) => attributes.filter(({ kind }) => kind === "constraint"));
  if (constraints.length === 0) return names;
  const lines: string[] = [];
  let left = room - names.length - 60;
  for (const { content } of constraints) {
    const line = `\n  - ${oneLine(redact(content), 500)}`;
    if (line.length > left) break;
    lines.push(line);
    left -= line.length;
  }
  const missing = constraints.length - lines.length;
  return `${names}\nActive constraints:${lines.join("")}${missing > 0 ? `\n  - (${missing} more)` : ""}`;
}

const section = (heading: string, text: string) => (text === "" ? "" : `\n${heading}\n${text}`);
const indented = (text: string) => (text === "" ? "" : text.replace(/^/gm, "  "));
const cut = (text: string, room: number) =>
  text.length > room ? `${text.slice(0, Math.max(0, Math.floor(room) - 20))} …` : text;

function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
