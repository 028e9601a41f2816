/** The contenders' side by side run of one measure: each in a client process of its own, one step at a time in turn. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Contender } from "./contender.ts";
import type { Order, Report } from "./driver.ts";
import type { Numbers, Setting } from "./measures.ts";
import { median } from "./timing.ts";

export interface Taken {
  /** The median of each number over the steps of this round. */
  numbers: Numbers;
  failure?: string;
}

interface Player {
  contender: Contender;
  driver: ChildProcess;
  gone: Promise<Report>;
  samples: Map<string, number[]>;
  failure?: string;
  isDone: boolean;
}

/** One round: every contender's steps, alternating. What was taken comes in the order of the contenders. */
export async function playRound(
  contenders: readonly Contender[],
  { measure, setting, round }: { measure: string; setting: Setting; round: number },
): Promise<Taken[]> {
  const players = rotated(contenders, round).map(enter);
  try {
    for (const player of players) await ask(player, { type: "begin", measure, contender: player.contender, setting });
    for (let turn = round; players.some(({ isDone }) => !isDone); turn++)
      for (const player of rotated(players, turn)) if (!player.isDone) await ask(player, { type: "step" });
  } finally {
    await Promise.all(players.map(dismiss));
  }
  return rotated(players, contenders.length - (round % contenders.length)).map(({ samples, failure }) => ({
    numbers: Object.fromEntries([...samples].map(([name, all]) => [name, median(all)])),
    ...(failure !== undefined && { failure }),
  }));
}

function enter(contender: Contender): Player {
  const driver = fork(new URL("./driver.ts", import.meta.url));
  const gone = once(driver, "exit").then(() => ({ failure: "its client process ended" }));
  return { contender, driver, gone, samples: new Map(), isDone: false };
}

async function ask(player: Player, order: Order): Promise<void> {
  const answered = new Promise<Report>((resolve) => player.driver.once("message", (report: Report) => resolve(report)));
  player.driver.send(order);
  const report = await Promise.race([answered, player.gone]);
  if ("failure" in report) Object.assign(player, { failure: report.failure, isDone: true });
  else if (report.numbers === undefined) player.isDone = true;
  else for (const [name, number] of Object.entries(report.numbers)) keep(player.samples, name, number);
}

async function dismiss({ driver, gone }: Player): Promise<void> {
  if (driver.connected) driver.disconnect();
  await gone;
}

/** Whoever comes second may find a warmer machine, so the first one changes from step to step. */
function rotated<T>(all: readonly T[], by: number): T[] {
  const at = by % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
}

function keep(samples: Map<string, number[]>, name: string, number: number): void {
  const all = samples.get(name) ?? [];
  all.push(number);
  samples.set(name, all);
}
