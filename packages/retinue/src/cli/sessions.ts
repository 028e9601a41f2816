/** `retinue sessions`: what is stored, shown and deleted. */
import { homedir } from "node:os";
import { visible } from "@retinue/protocol";
import type { SessionMetadata } from "@retinue/sdk";
import { interruptedTreeOf, renderTree, treeOf, walk } from "@retinue/sdk";
import { oneLine } from "./call-words.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { conversationWords } from "./conversation-words.ts";
import { type OwnRuntime, openOwnRuntime, readLog } from "./own-runtime.ts";
import { sessionByPrefix } from "./session-id.ts";
import { totalsWords } from "./totals-words.ts";
import { UsageError } from "./usage-error.ts";

export async function listSessions(
  flags: CommonFlags & { all: boolean; limit: number },
  context: CliContext,
): Promise<void> {
  const { terminal } = context;
  await using own = open(flags, context);
  const sessions = await own.client.listSessions();
  const shown = flags.all ? sessions : sessions.slice(0, flags.limit);
  if (flags.json) return terminal.out(`${JSON.stringify(shown, null, 2)}\n`);
  if (shown.length === 0) return terminal.out('There are no sessions yet. Start one: retinue -p "What is here?"\n');
  terminal.out(`${table(shown, Date.now()).join("\n")}\n`);
  if (shown.length < sessions.length) terminal.note(`${sessions.length - shown.length} more: --all`);
}

export async function showSession(id: string, flags: CommonFlags, context: CliContext): Promise<void> {
  const { terminal } = context;
  await using own = open(flags, context);
  const session = await find(own, id);
  const log = await own.log(session.sessionId);
  if (flags.json) return terminal.out(log.map((json) => `${json}\n`).join(""));
  const { sessionId, startTime, summary = "untitled" } = session;
  const head = `${oneLine(summary, 200)}\n${sessionId} · ${startTime.toLocaleString()} · ${folderOf(session)}`;
  terminal.out(`${[head, ...conversationWords(readLog(log))].join("\n\n")}\n`);
}

export async function drawTree(id: string, flags: CommonFlags, context: CliContext): Promise<void> {
  const { terminal } = context;
  await using own = open(flags, context);
  const { sessionId } = await find(own, id);
  const { inUse } = await own.client.rpc.sessions.checkInUse({ sessionIds: [sessionId] });
  const events = readLog(await own.log(sessionId));
  const tree = inUse.length > 0 ? treeOf(events) : interruptedTreeOf(events);
  if (flags.json) return terminal.out(`${JSON.stringify(walk(tree), null, 2)}\n`);
  const color = terminal.color && terminal.isOutScreen;
  const drawn = renderTree(tree, { color, ...(terminal.isOutScreen ? { width: terminal.columns - 1 } : {}) });
  const totals = walk(tree).length > 1 ? `· ${totalsWords(tree)}\n` : "";
  terminal.out(`${drawn}\n${totals}`, { isDrawn: true });
}

export async function deleteSessions(
  ids: readonly string[],
  flags: CommonFlags & { yes: boolean },
  context: CliContext,
): Promise<void> {
  const { terminal } = context;
  await using own = open(flags, context);
  const all = await own.client.listSessions();
  const chosen = [...new Set(ids.map((id) => sessionByPrefix(all, id)))];
  if (!flags.yes && !(await isSure(chosen, context))) return terminal.note("Nothing was deleted.");
  for (const { sessionId } of chosen) await own.client.deleteSession(sessionId);
  const deleted = chosen.map(({ sessionId }) => sessionId);
  terminal.out(
    flags.json ? `${JSON.stringify({ deleted })}\n` : deleted.map((sessionId) => `deleted ${sessionId}\n`).join(""),
  );
}

async function isSure(chosen: readonly SessionMetadata[], { terminal }: CliContext): Promise<boolean> {
  if (!terminal.canAsk) throw new UsageError("there is no terminal to ask at: add --yes to delete without asking");
  for (const line of table(chosen, Date.now())) terminal.note(line);
  const answer = await terminal.ask(
    `Delete ${chosen.length === 1 ? "this session" : `these ${chosen.length} sessions`} for good? [y/N] `,
  );
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

function open({ home }: CommonFlags, { env }: CliContext): OwnRuntime {
  return openOwnRuntime({ env, home });
}

async function find({ client }: OwnRuntime, id: string): Promise<SessionMetadata> {
  return sessionByPrefix(await client.listSessions(), id);
}

function table(sessions: readonly SessionMetadata[], now: number): string[] {
  const length = idLength(sessions.map(({ sessionId }) => sessionId));
  const rows = sessions.map((session) => [
    session.sessionId.slice(0, length),
    age(now - session.modifiedTime.getTime()),
    folderOf(session),
    oneLine(session.summary ?? "", 60),
  ]);
  const all = [["ID", "AGE", "FOLDER", "TITLE"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Long enough to distinguish these ids, so that what is shown can be typed. */
function idLength(ids: readonly string[]): number {
  const most = Math.max(8, ...ids.map((id) => id.length));
  for (let length = 8; length < most; length++) {
    if (new Set(ids.map((id) => id.slice(0, length))).size === ids.length) return length;
  }
  return most;
}

function age(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes}m`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 1440)}d`;
}

function folderOf({ context }: SessionMetadata): string {
  const folder = context?.workingDirectory ?? "";
  const home = homedir();
  return visible(folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder);
}
