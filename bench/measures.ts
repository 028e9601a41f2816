/** What is measured: each function drives one runtime through one workload and returns named numbers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { CopilotSession } from "@github/copilot-sdk";
import { type Contender, freshHome, start } from "./contender.ts";
import { median, timed, times } from "./timing.ts";

export interface Setting {
  port: number;
  quick: boolean;
}

export type Numbers = Record<string, number>;
export type Measure = (contender: Contender, setting: Setting) => Promise<Numbers>;

const PROMPT = "What is the answer?";
const LONG_PROMPT = "Consider the following words with care and say what you think of them. ".repeat(8).slice(0, 500);

const turn = (session: CopilotSession, prompt = PROMPT) => session.sendAndWait({ prompt }, 300_000);

async function bareNode(): Promise<void> {
  const child = spawn(process.execPath, ["-e", "0"], { stdio: "ignore" });
  await once(child, "exit");
}

const startToPing: Measure = async (contender, { port, quick }) => {
  const [samples, bare]: [number[], number[]] = [[], []];
  for (let run = 0; run < (quick ? 5 : 15); run++) {
    bare.push(await timed(bareNode));
    await using home = await freshHome();
    const begun = performance.now();
    await using running = await start(contender, { home, port });
    await running.client.ping();
    samples.push(performance.now() - begun);
  }
  return { "start.ping": median(samples), "start.node": median(bare) };
};

const startToAnswer: Measure = async (contender, { port, quick }) => {
  const samples: number[] = [];
  for (let run = 0; run < (quick ? 2 : 7); run++) {
    await using home = await freshHome();
    const begun = performance.now();
    await using running = await start(contender, { home, port });
    await turn(await running.open("plain"));
    samples.push(performance.now() - begun);
  }
  return { "start.answer": median(samples) };
};

/** Turns in many short sessions, so that a growing history is not part of this number. */
function turns(workload: string, metric: string): Measure {
  return async (contender, { port, quick }) => {
    await using home = await freshHome();
    await using running = await start(contender, { home, port });
    const samples: number[] = [];
    const perSession = 20;
    for (let run = 0; run < (quick ? 2 : 200 / perSession) + 1; run++) {
      await using session = await running.open(workload);
      await turn(session);
      const taken = [];
      for (let at = 0; at < perSession; at++) taken.push(await timed(() => turn(session)));
      if (run > 0) samples.push(...taken); // The first session is the warm-up.
    }
    return { [metric]: median(samples) };
  };
}

const streamedChunks: Measure = async (contender, { port, quick }) => {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const samples: number[] = [];
  for (let run = 0; run < (quick ? 2 : 6); run++) {
    await using session = await running.open("chunks", { streaming: true });
    let deltas = 0;
    session.on("assistant.message_delta", () => deltas++);
    const taken = await timed(() => turn(session));
    if (deltas < 1_000) throw new Error(`only ${deltas} deltas of 5,000 chunks`);
    if (run > 0) samples.push(taken);
  }
  return { chunks: median(samples) };
};

const manySessions: Measure = async (contender, { port, quick }) => {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const [sessions, rounds] = [20, quick ? 3 : 10];
  const open = await Promise.all(Array.from({ length: sessions }, () => running.open("tool")));
  await Promise.all(open.map((session) => turn(session)));
  const elapsed = await timed(() =>
    Promise.all(
      open.map(async (session) => {
        for (let round = 0; round < rounds; round++) await turn(session);
      }),
    ),
  );
  return { "sessions.rate": (sessions * rounds * 1000) / elapsed, "memory.end": running.rssMb() };
};

const longHistory: Measure = async (contender, { port, quick }) => {
  await using home = await freshHome();
  const [length, samples] = [quick ? 100 : 370, quick ? 10 : 30];
  let sessionId = "";
  const numbers: Numbers = {};
  {
    await using running = await start(contender, { home, port });
    await turn(await running.open("plain"));
    const session = await running.open("long");
    sessionId = session.sessionId;
    const taken: number[] = [];
    for (let at = 0; at < length + samples; at++) taken.push(await timed(() => turn(session, LONG_PROMPT)));
    numbers["history.first"] = median(taken.slice(5, 5 + samples));
    numbers["history.late"] = median(taken.slice(length));
  }
  const [resumes, answers]: [number[], number[]] = [[], []];
  for (let at = 0; at < (quick ? 1 : 5); at++) {
    await using again = await start(contender, { home, port });
    const begun = performance.now();
    const resumed = await again.resume("long", sessionId);
    resumes.push(performance.now() - begun);
    await turn(resumed, LONG_PROMPT);
    answers.push(performance.now() - begun);
  }
  numbers["history.resume"] = median(resumes);
  numbers["history.resumed"] = median(answers);
  return numbers;
};

const memory: Measure = async (contender, { port, quick }) => {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  await running.client.ping();
  const idle = running.rssMb();
  const count = quick ? 20 : 100;
  for (let warm = 0; warm < 10; warm++) await turn(await running.open("plain"));
  const before = running.rssMb();
  for (let at = 0; at < count; at++) await turn(await running.open("plain"));
  return { "memory.idle": idle, "memory.session": (running.rssMb() - before) / count };
};

const subAgent: Measure = async (contender, { port, quick }) => {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const session = await running.open("delegate");
  await turn(session, "@one");
  const one = await times(quick ? 5 : 20, () => turn(session, "@one"));
  const wide = await running.open("delegate");
  await turn(wide, "@sixteen");
  const [rounds, before] = [quick ? 3 : 8, running.toolRuns()];
  const sixteen = await times(rounds, () => turn(wide, "@sixteen"));
  const runs = (running.toolRuns() - before) / (16 * rounds);
  return { "agent.sync": one, "agent.sixteen": sixteen, "agent.runs": runs };
};

/** 200 background agents in one session: is each result delivered once, how much memory do they take, and is a spawn still quick? */
const backgroundAgents: Measure = async (contender, { port, quick }) => {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const session = await running.open("delegate");
  const [wave, waves] = [20, quick ? 2 : 10];
  const delivered = new Map<string, number>();
  session.on("system.notification", ({ data: { kind } }) => {
    if ("agentId" in kind) delivered.set(kind.agentId, (delivered.get(kind.agentId) ?? 0) + 1);
  });
  const early = await times(5, () => turn(session, "@one"));
  const before = running.rssMb();
  const elapsed = await timed(async () => {
    for (let at = 0; at < waves; at++) await turn(session, `@storm-${wave}`);
  });
  const after = running.rssMb();
  const late = await times(5, () => turn(session, "@one"));
  const once = [...delivered.values()].filter((count) => count === 1).length;
  return {
    "background.total": elapsed,
    "background.lost": wave * waves - once,
    "background.memory": (after - before) / (wave * waves),
    "background.early": early,
    "background.late": late,
  };
};

export const MEASURES: Record<string, Measure> = {
  ping: startToPing,
  answer: startToAnswer,
  turn: turns("plain", "turn"),
  tool: turns("tool", "tool"),
  chunks: streamedChunks,
  sessions: manySessions,
  history: longHistory,
  memory,
  agents: subAgent,
  background: backgroundAgents,
};
