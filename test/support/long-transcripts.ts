/** The readers of long texts that belong to kept conversations: what hooks bring, what is indexed, found and inherited. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseInline } from "../../packages/retinue/src/continuity/ingest/inline.ts";
import { parseLine } from "../../packages/retinue/src/continuity/ingest/readers/fields.ts";
import { inheritBlock } from "../../packages/retinue/src/continuity/recall/inherit.ts";
import { appendTurns, openSession, testHome } from "../../packages/retinue/src/continuity/test-home.ts";
import { listCheckpoints } from "../../packages/retinue/src/session/folder.ts";

export const transcriptReaders = (folder: string): readonly { name: string; read(text: string): unknown }[] => [
  { name: "a transcript that came whole", read: (text: string) => parseInline(text, "claude-code") },
  { name: "a transcript of many lines", read: (text: string) => parseInline(`user: x\n${text}\n{"a`, "codex") },
  { name: "a line of a transcript", read: (text: string) => [parseLine(text), parseLine(`{"a": "${text}`)] },
  {
    name: "a turn that a child inherits",
    read: (text: string) =>
      inHome(text, ({ transcripts }, parent) =>
        inheritBlock(transcripts, parent, { tailChars: 3_000, maxChars: 9_500 }),
      ),
  },
  {
    name: "a list of checkpoints",
    read: (text: string) => {
      mkdirSync(path.join(folder, "checkpoints"), { recursive: true });
      writeFileSync(path.join(folder, "checkpoints", "index.md"), `| 1 | ${text} | x |\n`);
      return listCheckpoints(folder);
    },
  },
];

/** With a session whose only turn is the text. */
async function inHome<T>(
  text: string,
  work: (home: ReturnType<typeof testHome>, parent: Awaited<ReturnType<typeof openSession>>) => Promise<T>,
): Promise<T> {
  const home = testHome();
  try {
    const parent = await openSession(home, { sessionKey: "p", at: 1 });
    await appendTurns(home, parent, { turns: [{ role: "user", text }], at: 1 });
    return await work(home, parent);
  } finally {
    home.close();
  }
}
