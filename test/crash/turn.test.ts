/** One session: kill -9 at each event boundary of a turn with a shell and a host tool. What was acknowledged is there, nothing runs twice. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { brokenLaws } from "../laws/checker.ts";
import type { LawClient } from "../laws/law-client.ts";
import type { LawEvent } from "../laws/law-event.ts";
import { promptOf } from "../laws/plan.ts";
import { Crashable } from "./crashable.ts";

const PROMPT = promptOf({
  turns: [
    {
      moves: [
        { call: "bash", args: { command: "echo once >> shell.txt" } },
        { call: "probe", args: { what: "host" } },
      ],
    },
    { moves: [{ call: "create", args: { path: "made.txt", file_text: "made" } }] },
  ],
  says: "the turn is done",
});
const SECOND = promptOf({ says: "the second prompt was heard" });

async function events(client: LawClient, sessionId: string): Promise<LawEvent[]> {
  return (await client.call<{ events: LawEvent[] }>("session.getMessages", { sessionId })).events;
}

async function killedAt(point: number): Promise<{ problems: string[]; boundaries: number }> {
  await using crashable = await Crashable.start();
  const sessionId = "one-turn";
  const workedOn = new Set<string>();
  const acknowledged: string[] = [];
  let seen = 0;
  let isKilled = false;
  let killed = Promise.resolve();
  const onEvent = ({ ephemeral }: LawEvent) => {
    if (ephemeral || ++seen !== point) return;
    isKilled = true;
    killed = crashable.kill();
  };
  const first = await crashable.connect({ attached: "sdk", workedOn, onEvent });
  // Hooks double the number of events, so they are on only in the full run.
  const config = { ...crashable.session, ...first.abilities, ...(process.env.LAWS_FULL ? {} : { hooks: false }) };
  const send = async (prompt: string) => {
    const { messageId } = await first.call<{ messageId: string }>("session.send", { sessionId, prompt });
    acknowledged.push(messageId);
  };
  try {
    await first.call("session.create", { ...config, sessionId });
    await Promise.all([send(PROMPT), send(SECOND)]);
    await first.until("session.idle");
  } catch (error) {
    if (!isKilled) throw error;
  }
  await killed;
  if (!isKilled)
    return { problems: await problemsOf(crashable, { clients: [first], sessionId, acknowledged }), boundaries: seen };
  await crashable.launch();
  const second = await crashable.connect({ attached: "sdk", workedOn });
  await second.call("session.resume", { ...config, sessionId, continuePendingWork: true });
  await second.answerOpen(sessionId);
  await second.atRest(sessionId);
  return {
    problems: await problemsOf(crashable, { clients: [first, second], sessionId, acknowledged }),
    boundaries: seen,
  };
}

async function problemsOf(
  crashable: Crashable,
  { clients, sessionId, acknowledged }: { clients: LawClient[]; sessionId: string; acknowledged: string[] },
): Promise<string[]> {
  const log = await events(clients.at(-1) as LawClient, sessionId);
  const prompts = log
    .filter(({ type }) => type === "user.message")
    .map(({ data }) => (data as { messageId?: string }).messageId);
  const file = (name: string) => path.join(crashable.folders.folder, name);
  const lines = existsSync(file("shell.txt")) ? readFileSync(file("shell.txt"), "utf8").trim().split("\n").length : 0;
  const said = log.filter(({ type }) => type === "assistant.message").map(({ data }) => data.content);
  return [
    ...brokenLaws(log, { clients, maxDepth: 6 }),
    ...acknowledged
      .filter((id) => prompts.filter((each) => each === id).length !== 1)
      .map((id) => `the prompt ${id} was acknowledged and is ${prompts.includes(id) ? "twice" : "not"} in the log`),
    ...(lines > 1 ? [`the shell command ran ${lines} times`] : []),
    ...(acknowledged.length === 2 && !said.includes("the turn is done") ? ["the first prompt got no answer"] : []),
    ...(acknowledged.length === 2 && !said.includes("the second prompt was heard")
      ? ["the second prompt got no answer"]
      : []),
  ];
}

test("a tool turn that is killed at any event boundary goes on after a restart", async () => {
  const { problems: undisturbed, boundaries } = await killedAt(Number.POSITIVE_INFINITY);
  expect(undisturbed).toEqual([]);
  const found: Record<number, string[]> = {};
  const next = Array.from({ length: boundaries }, (_, at) => at + 1).values();
  const worker = async () => {
    for (const point of next) {
      const { problems } = await killedAt(point).catch((error: unknown) => ({ problems: [String(error)] }));
      if (problems.length > 0) found[point] = problems;
    }
  };
  await Promise.all([worker(), worker()]);
  console.log(`killed at all ${boundaries} event boundaries`);
  expect(found).toEqual({});
});
