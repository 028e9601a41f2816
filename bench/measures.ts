/**
 * What is measured: each generator drives one runtime through one workload and gives named numbers at each step.
 *
 * Between two steps another contender may run. A number that comes at several steps counts with its median.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { CopilotSession } from "@github/copilot-sdk";
import { type Contender, freshHome, type Running, start } from "./contender.ts";
import { median, timed } from "./timing.ts";

export interface Setting {
  port: number;
  quick: boolean;
}

export type Numbers = Record<string, number>;
export type Steps = AsyncGenerator<Numbers, void, void>;
export type Measure = (contender: Contender, setting: Setting) => Steps;

const PROMPT = "What is the answer?";
const LONG_PROMPT = "Consider the following words with care and say what you think of them. ".repeat(8).slice(0, 500);

const turn = (session: CopilotSession, prompt = PROMPT) => session.sendAndWait({ prompt }, 300_000);

// Two processes of one build differ by up to a tenth, so a measure is short and is taken in many rounds.

/** Adds up the CPU time of a runtime over many operations: one by one they are shorter than a tick of its clock. */
class Cpu {
  #ms = 0;
  #operations = 0;
  readonly #running: Running;
  constructor(running: Running) {
    this.#running = running;
  }
  async of<T>(operations: number, work: () => Promise<T>): Promise<T> {
    const before = this.#running.cpuMs();
    const result = await work();
    this.#ms += this.#running.cpuMs() - before;
    this.#operations += operations;
    return result;
  }
  get each(): number {
    return this.#ms / this.#operations;
  }
}

async function each(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let at = 0; at < count; at++) taken.push(await timed(work));
  return taken;
}

async function bareNode(): Promise<void> {
  const child = spawn(process.execPath, ["-e", "0"], { stdio: "ignore" });
  await once(child, "exit");
}

async function* startToPing(contender: Contender, { port, quick }: Setting): Steps {
  for (let run = 0; run < (quick ? 5 : 8); run++) {
    const bare = await timed(bareNode);
    await using home = await freshHome();
    const begun = performance.now();
    await using running = await start(contender, { home, port });
    await running.client.ping();
    yield { "start.ping": performance.now() - begun, "start.ping.cpu": running.cpuMs(), "start.node": bare };
  }
}

async function* startToAnswer(contender: Contender, { port, quick }: Setting): Steps {
  for (let run = 0; run < (quick ? 2 : 8); run++) {
    await using home = await freshHome();
    const begun = performance.now();
    await using running = await start(contender, { home, port });
    await turn(await running.open("plain"));
    yield { "start.answer": performance.now() - begun, "start.answer.cpu": running.cpuMs() };
  }
}

/** Turns in many short sessions, so that a growing history is not part of this number. */
function turns(workload: string, metric: string): Measure {
  return async function* (contender, { port, quick }) {
    await using home = await freshHome();
    await using running = await start(contender, { home, port });
    const cpu = new Cpu(running);
    const perSession = 20;
    for (let run = 0; run < (quick ? 2 : 5) + 1; run++) {
      await using session = await running.open(workload);
      await turn(session);
      const taken = await (run === 0
        ? each(perSession, () => turn(session)) // The first session is the warm-up.
        : cpu.of(perSession, () => each(perSession, () => turn(session))));
      yield run === 0 ? {} : { [metric]: median(taken) };
    }
    yield { [`${metric}.cpu`]: cpu.each };
  };
}

async function* streamedChunks(contender: Contender, { port, quick }: Setting): Steps {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const cpu = new Cpu(running);
  for (let run = 0; run < (quick ? 2 : 5); run++) {
    await using session = await running.open("chunks", { streaming: true });
    let deltas = 0;
    session.on("assistant.message_delta", () => deltas++);
    const taken = await (run === 0 ? timed(() => turn(session)) : cpu.of(1, () => timed(() => turn(session))));
    if (deltas < 1_000) throw new Error(`only ${deltas} deltas of 5,000 chunks`);
    yield run === 0 ? {} : { chunks: taken };
  }
  yield { "chunks.cpu": cpu.each };
}

async function* manySessions(contender: Contender, { port, quick }: Setting): Steps {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const cpu = new Cpu(running);
  const [sessions, rounds] = [20, quick ? 3 : 10];
  const open = await Promise.all(Array.from({ length: sessions }, () => running.open("tool")));
  await Promise.all(open.map((session) => turn(session)));
  for (let burst = 0; burst < (quick ? 1 : 2); burst++) {
    yield {};
    const elapsed = await cpu.of(sessions * rounds, () =>
      timed(() => Promise.all(open.map((session) => each(rounds, () => turn(session))))),
    );
    yield { "sessions.rate": (sessions * rounds * 1000) / elapsed };
  }
  yield { "sessions.cpu": cpu.each, "memory.end": running.rssMb() };
}

async function* longHistory(contender: Contender, { port, quick }: Setting): Steps {
  await using home = await freshHome();
  const [length, perStep] = [quick ? 100 : 370, 10];
  let sessionId = "";
  {
    await using running = await start(contender, { home, port });
    await turn(await running.open("plain"));
    const session = await running.open("long");
    sessionId = session.sessionId;
    const some = async (count: number) => median(await each(count, () => turn(session, LONG_PROMPT)));
    await some(5);
    for (let at = 0; at < 3; at++) yield { "history.first": await some(perStep) };
    for (let at = 35; at < length; at += perStep) {
      await some(Math.min(perStep, length - at));
      yield {};
    }
    for (let at = 0; at < (quick ? 1 : 4); at++) yield { "history.late": await some(perStep) };
  }
  for (let at = 0; at < (quick ? 1 : 4); at++) {
    await using again = await start(contender, { home, port });
    const begun = performance.now();
    const resumed = await again.resume("long", sessionId);
    const resume = performance.now() - begun;
    await turn(resumed, LONG_PROMPT);
    yield {
      "history.resume": resume,
      "history.resumed": performance.now() - begun,
      "history.resumed.cpu": again.cpuMs(),
    };
  }
}

async function* memory(contender: Contender, { port, quick }: Setting): Steps {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  await running.client.ping();
  const idle = running.rssMb();
  const [count, perStep] = [quick ? 20 : 200, 20];
  for (let warm = 0; warm < 10; warm++) await turn(await running.open("plain"));
  const before = running.rssMb();
  for (let at = 0; at < count; at += perStep) {
    yield {};
    for (let one = 0; one < perStep; one++) await turn(await running.open("plain"));
  }
  yield { "memory.idle": idle, "memory.session": (running.rssMb() - before) / count };
}

async function* subAgent(contender: Contender, { port, quick }: Setting): Steps {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const [one, sixteen] = [new Cpu(running), new Cpu(running)];
  const session = await running.open("delegate");
  const some = (count: number) => one.of(count, () => each(count, () => turn(session, "@one")));
  await turn(session, "@one");
  for (let at = 0; at < (quick ? 1 : 6); at++) yield { "agent.sync": median(await some(5)) };
  yield { "agent.sync.cpu": one.each };
  const wide = await running.open("delegate");
  await turn(wide, "@sixteen");
  const [rounds, before] = [quick ? 3 : 8, running.toolRuns()];
  for (let at = 0; at < rounds; at++)
    yield { "agent.sixteen": await sixteen.of(1, () => timed(() => turn(wide, "@sixteen"))) };
  yield { "agent.sixteen.cpu": sixteen.each, "agent.runs": (running.toolRuns() - before) / (16 * rounds) };
}

/** 200 background agents in one session: is each result delivered once, how much memory do they take, and is a spawn still quick? */
async function* backgroundAgents(contender: Contender, { port, quick }: Setting): Steps {
  await using home = await freshHome();
  await using running = await start(contender, { home, port });
  const session = await running.open("delegate");
  const [wave, waves] = [20, quick ? 2 : 10];
  const delivered = new Map<string, number>();
  session.on("system.notification", ({ data: { kind } }) => {
    if ("agentId" in kind) delivered.set(kind.agentId, (delivered.get(kind.agentId) ?? 0) + 1);
  });
  const some = async () => median(await each(5, () => turn(session, "@one")));
  await some();
  for (let at = 0; at < 4; at++) yield { "background.early": await some() };
  const before = running.rssMb();
  let elapsed = 0;
  for (let at = 0; at < waves; at++) {
    elapsed += await timed(() => turn(session, `@storm-${wave}`));
    yield {};
  }
  const after = running.rssMb();
  for (let at = 0; at < 4; at++) yield { "background.late": await some() };
  const exactly = [...delivered.values()].filter((count) => count === 1).length;
  yield {
    "background.total": elapsed,
    "background.lost": wave * waves - exactly,
    "background.memory": (after - before) / (wave * waves),
  };
}

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
