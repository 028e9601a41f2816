/** What a deleted session leaves behind, read as bytes from every file of the home. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, say } from "../../models/scripted.ts";
import { inSmallWorld, type TestClient } from "./small-world.ts";

const WORD = "quokkazyx";
const OTHER = "wombatzyx";

function filesWith(folder: string, word: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .filter((name) => readFileSync(join(folder, name)).includes(word));
}

/** Says the word everywhere: prompts, answers, calls and results, a sub-agent, the session's database, its files, the plan, the index. */
async function sayEverywhere(
  client: TestClient,
  { sessionId, send }: { sessionId: string; send(prompt: string): Promise<void> },
) {
  await client.call("session.permissions.setMode", { sessionId, mode: "allow-all" });
  await client.call("session.name.set", { sessionId, name: `About ${WORD}` });
  await client.call("session.plan.update", { sessionId, content: `# ${WORD}` });
  await client.call("session.workspaces.createFile", { sessionId, path: "a.txt", content: WORD });
  await send(`tell me about ${WORD}`);
  await send(`${WORD} ${"at great length ".repeat(1_000)}`);
}

const busy = [
  [call("task", { name: "look", agent_type: "explore", description: WORD, prompt: `look for ${WORD}` })],
  [say(`the child found ${WORD}`)],
  [
    call("bash", { command: `echo ${WORD}`, description: WORD }),
    call("sql", { query: `INSERT INTO todos (id, title) VALUES ('a', '${WORD}')`, description: WORD }),
    call("session_search", { query: WORD }),
  ],
  [say(`it is ${WORD}`)],
  [say(`still ${WORD}`)],
];

test("nothing that was said in a deleted session is in any file of the home; the others keep their words", async () => {
  await inSmallWorld(
    [[say(OTHER)], ...busy],
    async ({ client, create, send, home }) => {
      const kept = await create();
      await send(kept, `remember the ${OTHER}`);
      const sessionId = await create();
      await sayEverywhere(client, { sessionId, send: (prompt) => send(sessionId, prompt) });
      const before = filesWith(join(home, "home"), WORD);
      expect(before).toEqual(expect.arrayContaining([`session-state/${sessionId}/plan.md`]));
      expect(before.some((name) => name.startsWith("retinue.db"))).toBe(true);
      await client.call("session.delete", { sessionId });
      expect(filesWith(join(home, "home"), WORD)).toEqual([]);
      expect(filesWith(join(home, "home"), OTHER)).not.toEqual([]);
    },
    { isOnDisk: true },
  );
});

test("many sessions that are deleted at once leave nothing either", async () => {
  await inSmallWorld(
    [[say(WORD)], [say(WORD)], [say(WORD)]],
    async ({ client, create, send, home }) => {
      const sessionIds = [await create(), await create(), await create()];
      for (const each of sessionIds) await send(each, `the ${WORD}`);
      const { freedBytes } = await client.call("sessions.bulkDelete", { sessionIds: [...sessionIds, ...sessionIds] });
      expect(Object.keys(freedBytes).sort()).toEqual([...sessionIds].sort());
      expect(filesWith(join(home, "home"), WORD)).toEqual([]);
    },
    { isOnDisk: true },
  );
});
