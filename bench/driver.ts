/**
 * The client process of one contender. It takes one step of a measure whenever the benchmark says so, which lets the
 * contenders alternate step by step: a slow second of the machine then affects them all.
 */
import type { Contender } from "./contender.ts";
import { MEASURES, type Numbers, type Setting, type Steps } from "./measures.ts";

export type Order = { type: "begin"; measure: string; contender: Contender; setting: Setting } | { type: "step" };

/** What a step gave; without numbers the measure is over. */
export type Report = { numbers?: Numbers } | { failure: string };

let steps: Steps | undefined;

async function obey(order: Order): Promise<Report> {
  if (order.type === "begin") {
    await steps?.return();
    steps = MEASURES[order.measure]?.(order.contender, order.setting);
    return { numbers: {} };
  }
  const { value, done } = (await steps?.next()) ?? { done: true };
  return done ? {} : { numbers: value };
}

process.on("message", async (order: Order) => {
  const report = await obey(order).catch((error: unknown) => ({
    failure: error instanceof Error ? error.message : String(error),
  }));
  process.send?.(report);
});
process.on("disconnect", async () => {
  await steps?.return();
  process.exit(0);
});
