/**
 * Everything that reads text of foreign length on the event loop, as a table, and texts that are made to keep it busy.
 *
 * A reader takes one text as it would come from a model, a file, a page, a server or a person. Whoever adds code that looks at such text
 * adds a line here: test/long-text.test.ts then checks that its time grows with the length and not faster, and
 * `npm run bench:long-text` prints for how long it keeps the loop.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { FrameDecoder, type SessionEvent, visible, visibleText } from "@retinue/protocol";
import * as z from "zod";
import { parseFrontMatter } from "../../packages/retinue/src/agents/front-matter.ts";
import { mentionedIn } from "../../packages/retinue/src/cli/attached-files.ts";
import { callWords, oneLine } from "../../packages/retinue/src/cli/call-words.ts";
import { conversationWords } from "../../packages/retinue/src/cli/conversation-words.ts";
import { diffLines } from "../../packages/retinue/src/cli/diff-lines.ts";
import { lastLines } from "../../packages/retinue/src/cli/last-lines.ts";
import { fitted, rowsOf } from "../../packages/retinue/src/cli/line-width.ts";
import { permissionWords } from "../../packages/retinue/src/cli/permission-words.ts";
import { allowRule, denyRule } from "../../packages/retinue/src/cli/usable-rule.ts";
import { inOneLine } from "../../packages/retinue/src/cli/usage-error.ts";
import { markOf } from "../../packages/retinue/src/continuity/ingest/reading-state.ts";
import { parseQuery } from "../../packages/retinue/src/continuity/recall/query.ts";
import { snippet } from "../../packages/retinue/src/continuity/recall/snippet.ts";
import { isReallyWithin, tidyPath } from "../../packages/retinue/src/continuity/records/paths.ts";
import { toolName } from "../../packages/retinue/src/mcp/tools.ts";
import { readConversation } from "../../packages/retinue/src/models/offline/conversation.ts";
import { intentOf } from "../../packages/retinue/src/models/offline/intent.ts";
import { turnsOf } from "../../packages/retinue/src/models/offline/report.ts";
import { outlineOf } from "../../packages/retinue/src/models/offline/simple-moves.ts";
import { apiError } from "../../packages/retinue/src/models/wire/api-error.ts";
import { EventDecoder } from "../../packages/retinue/src/models/wire/sse.ts";
import { nearest } from "../../packages/retinue/src/nearest.ts";
import { askForAll, decide, parseRule } from "../../packages/retinue/src/permissions/policy.ts";
import { coversUrl } from "../../packages/retinue/src/permissions/url-rules.ts";
import { brief, shellWord } from "../../packages/retinue/src/project/shown.ts";
import { realPath } from "../../packages/retinue/src/real-path.ts";
import { addKnownValue, hideKnownValues } from "../../packages/retinue/src/secrets/known-values.ts";
import { redact, redactInTurns } from "../../packages/retinue/src/secrets/redact.ts";
import { loadGrammar } from "../../packages/retinue/src/shell-language/grammar.ts";
import { readLine } from "../../packages/retinue/src/shell-language/line.ts";
import { countChanges, unifiedDiff } from "../../packages/retinue/src/tools/files/diff.ts";
import { resolvePath } from "../../packages/retinue/src/tools/files/file-path.ts";
import { occurrences } from "../../packages/retinue/src/tools/files/occurrences.ts";
import { matchesEntry } from "../../packages/retinue/src/tools/filters.ts";
import { boundOutput } from "../../packages/retinue/src/tools/output.ts";
import { shellPermission } from "../../packages/retinue/src/tools/shell/shell-command.ts";
import { ShellOutput } from "../../packages/retinue/src/tools/shell/shell-output.ts";
import { outputOf } from "../../packages/retinue/src/tools/shell/shell-report.ts";
import { splitStatements } from "../../packages/retinue/src/tools/sql/sql-statements.ts";
import { pageText } from "../../packages/retinue/src/tools/web/html-text.ts";
import { gitContext } from "../../packages/retinue/src/workspace/git-context.ts";
import { parseDiff } from "../../packages/retinue/src/workspace/git-diff.ts";

import { transcriptReaders } from "./long-transcripts.ts";

/** One long word, one long line, and beginnings of something whose end never comes. */
export const UNITS: readonly string[] = [
  "a",
  "a b",
  " ",
  "\t ",
  "\n",
  "\n\n x",
  " \n",
  "=",
  ".",
  "/",
  "../",
  "\\",
  "%25",
  "%2e",
  "'",
  '"',
  "`",
  "$(",
  "((",
  "{",
  "[",
  "<",
  "<style>",
  "<a_b>",
  "<div>",
  "- ",
  ": ",
  "a: ",
  "*",
  "**/",
  "{a,",
  "a.",
  "a/",
  "a:",
  "http://a",
  "\u0000",
  "\u200b",
  "\u001b[31m",
  "é",
  "\ud83d\ude00",
  "token=",
  "/*",
  "--",
  "a;",
  "in a ",
  "find ",
  "run x",
  "a|",
  "<shellId: ",
];

export interface Reader {
  name: string;
  read(text: string): unknown;
  prepare?(): Promise<void> | void;
  /** How many characters get this far: longer texts are refused before (tools/longest.ts), or are bounded where they come in. */
  most?: number;
}

const folder = mkdtempSync(path.join(tmpdir(), "long-texts-"));
export const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
const here = { cwd: folder, folders: [folder] };
const about = { intention: "", toolCallId: "call" };
const policy = {
  ...askForAll,
  directories: ["/work"],
  denied: [parseRule("shell(rm:*)"), parseRule("url(evil.example)"), parseRule("write(/etc)")],
  approved: [parseRule("shell(git:*)"), parseRule("url(good.example/docs)")],
};

async function readEvents(text: string): Promise<void> {
  const decoder = new EventDecoder(() => undefined);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += PIECE) {
    await nextTurn(); // A socket gives one piece at a time.
    decoder.push(bytes.subarray(at, at + PIECE));
  }
  decoder.end();
}

const PIECE = 16 * 1024;

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error; // A refusal is an answer; only its time counts here.
  }
}

let logs = 0;

export const READERS: readonly Reader[] = [
  { name: "redaction", read: redact },
  { name: "redaction in turns", read: (text) => redactInTurns([text, text]) },
  { name: "known values", prepare: () => addKnownValue("not-a-real-value"), read: hideKnownValues },
  { name: "one visible line", most: 131_000, read: visible },
  { name: "visible text", read: visibleText },
  { name: "words of a call", read: (text) => callWords("bash", { command: text }) },
  { name: "one line of a message", read: (text) => oneLine(text, 300) },
  { name: "the last lines of an output", read: (text) => lastLines(outputOf(text), 80) },
  { name: "a change as a few lines", read: (text) => diffLines(text, 80) },
  { name: "the rows of a question", read: (text) => [rowsOf(text.split("\n"), 80), fitted(text, 80)] },
  { name: "a kept conversation", read: (text) => conversationWords([said("user", text)]) },
  {
    name: "paths in a prompt",
    read: (text) => [`@${text}`, text.replaceAll("a", " @a")].map((words) => mentionedIn(words, here)),
  },
  { name: "brief words", read: (text) => brief(text) },
  { name: "a word for a shell", most: 32_768, read: shellWord },
  { name: "diff of one long line", read: (text) => unifiedDiff({ path: "a", before: text, after: `${text}x` }) },
  { name: "counting changes", read: (text) => countChanges(text, `x${text}\ny`) },
  { name: "a command line", prepare: loadGrammar, read: (text) => readLine(text) },
  { name: "a permission for a command", most: 131_000, read: (text) => shellPermission(text, about) },
  {
    name: "a long argument of a command",
    most: 131_000,
    read: (text) => shellPermission(`grep '${text}' file`, about),
  },
  {
    name: "a script in a command",
    most: 131_000,
    read: (text) => shellPermission(`sed -n '${text}' file; find . -name '${text}'; X='${text}' awk '${text}'`, about),
  },
  {
    name: "rules for a command",
    most: 131_000,
    read: async (text) => decide(await shellPermission(text, about), policy),
  },
  {
    name: "words for a command",
    most: 131_000,
    read: async (text) => permissionWords(await shellPermission(text, about), "/work"),
  },
  {
    name: "rules for an address",
    most: 8_192,
    read: (text) => decide({ kind: "url", url: `http://good.example/${text}`, intention: "" }, policy),
  },
  {
    name: "an address of a long name",
    most: 8_192,
    read: (text) => coversUrl("evil.example", `http://a${text}b`, { hasSubdomains: true, isDenial: true }),
  },
  {
    name: "an address of a long path",
    most: 8_192,
    read: (text) => coversUrl("a.example/x", `http://a.example/${text}b`, { hasSubdomains: true, isDenial: true }),
  },
  {
    name: "words for an address",
    most: 8_192,
    read: (text) => permissionWords({ kind: "url", url: `http://a${text}b`, intention: "" }, "/work"),
  },
  {
    name: "rules for a path",
    most: 32_768,
    read: (text) =>
      decide(
        { kind: "write", fileName: `/work/${text}`, intention: "", diff: "", canOfferSessionApproval: false },
        policy,
      ),
  },
  {
    name: "words for a change",
    read: (text) =>
      permissionWords(
        { kind: "write", fileName: "/work/a", intention: "", diff: text, canOfferSessionApproval: false },
        "/work",
      ),
  },
  {
    name: "words for a call of a server",
    read: (text) =>
      permissionWords(
        { kind: "mcp", serverName: "s", toolName: "t", toolTitle: "t", args: { text, list: [text] }, readOnly: false },
        "/work",
      ),
  },
  {
    name: "text to replace in a file",
    read: (text) => {
      const half = text.slice(0, text.length >> 2);
      return [half, `${half}X${half}`].map((wanted) => occurrences(text, wanted).next());
    },
  },
  {
    name: "a filter of tools",
    read: (text) => matchesEntry({ name: `${text.slice(0, 128)}x`, source: "builtin" }, `*${text}*y`),
  },
  {
    name: "a command line that is wrong",
    most: 131_000,
    read: (text) => [
      inOneLine(`error: unknown option '--${text}'\n(Did you mean --no-color?)`),
      nearest(text, ["sessions", "search", "connect"]),
    ],
  },
  { name: "a path", most: 32_768, read: (text) => attempt(() => resolvePath(text, "/work")) },
  { name: "where a path leads", most: 32_768, read: (text) => realPath(`${folder}/${text}`) },
  {
    name: "a path of a transcript",
    most: 4_096,
    read: (text) => [tidyPath(`/${text}x`), attempt(() => isReallyWithin(`/work/${text}`, "/work"))],
  },
  { name: "text of a rule", read: (text) => attempt(() => parseRule(`shell(${text})`)) },
  { name: "allow rule that is checked", read: (text) => attempt(() => allowRule(`shell(${text})`)) },
  { name: "deny rule that is checked", read: (text) => attempt(() => denyRule(`Bash(${text})`)) },
  { name: "name in a rule", read: (text) => attempt(() => denyRule(text)) },
  { name: "SQL", most: 262_144, read: splitStatements },
  { name: "a query", read: parseQuery },
  {
    name: "a snippet",
    read: (text) => snippet({ ...TURN, text }, parseQuery("needle in a haystack")),
  },
  { name: "the mark of a message", read: (text) => markOf({ role: "user", text }) },
  {
    name: "front matter",
    read: (text) => attempt(() => parseFrontMatter(`---\n${text}\n---\n`, z.looseObject({}), { file: "a.md" })),
  },
  {
    name: "a file without front matter",
    read: (text) => attempt(() => parseFrontMatter(text, z.looseObject({}), { file: "a.md" })),
  },
  { name: "a stream of events", read: (text) => readEvents(`data: ${text}\n\n`) },
  { name: "frames", read: (text) => readFrames(text) },
  { name: "an error page", most: 65_536, read: (text) => apiError({ status: 500, headers: {}, body: text }) },
  { name: "bounded output", read: (text) => boundOutput(text, { tempFolder: folder, name: "x" }) },
  { name: "output of a shell", read: (text) => readOutput(text) },
  { name: "what a prompt asks for", read: intentOf },
  {
    name: "a prompt with additions",
    read: (text) => readConversation({ ...REQUEST, messages: [{ role: "user", content: text }] }),
  },
  { name: "an outline", read: (text) => outlineOf(["x", `export function ${text}x`, `${text}x`]) },
  { name: "a page", read: (text) => pageText(`<html><body><p>${text}</p></body></html>`, "http://a.example/") },
  {
    name: "a git diff",
    read: (text) => parseDiff(`diff --git a/${text} b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-${text}\n+x\n`),
  },
  { name: "the config of a repository", read: (text) => readRepository(`[remote "origin"]\n${text}\nurl = ${text}x`) },
  { name: "what sub-agents report", read: (text) => turnsOf(`${text}[Turn 1]\n${text}`, "a notice") },
  { name: "the name of a tool", read: (text) => toolName("server", text) },
  ...transcriptReaders(folder),
];

const TURN = { id: 1, seq: 1, role: "user", at: 0 } as const;
const REQUEST = { model: "offline", system: "", tools: [], stream: true } as const;

const said = (who: "user" | "assistant", content: string) =>
  ({ type: `${who}.message`, data: { content } }) as unknown as SessionEvent;

function readFrames(text: string): void {
  const decoder = new FrameDecoder({ text: () => undefined, bad: () => undefined, junk: () => undefined });
  const bytes = Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  for (let at = 0; at < bytes.length; at += 1024) decoder.push(bytes.subarray(at, at + 1024));
  const junk = new FrameDecoder({ text: () => undefined, bad: () => undefined, junk: () => undefined });
  for (let at = 0; at < bytes.length; at += 1024) junk.push(bytes.subarray(at + 40, at + 1064));
}

function readOutput(text: string): void {
  const output = new ShellOutput(path.join(folder, `shell-${logs++}.log`));
  for (let at = 0; at < text.length; at += 1024) output.append(text.slice(at, at + 1024));
  output.all();
  output.close();
}

async function readRepository(config: string): Promise<unknown> {
  const repository = mkdtempSync(path.join(folder, "repository-"));
  try {
    const git = path.join(repository, ".git");
    mkdirSync(git);
    writeFileSync(path.join(git, "config"), config.slice(0, 1024 * 1024));
    writeFileSync(path.join(git, "HEAD"), "ref: refs/heads/main\n");
    return await gitContext(repository);
  } finally {
    rmSync(repository, { recursive: true, force: true });
  }
}

export const textOf = (unit: string, length: number): string =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
