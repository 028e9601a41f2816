import { expect, test } from "vitest";
import { Stop } from "../session/stop.ts";
import { localEngine, type Worker } from "./engine.ts";

function world(perform: Worker) {
  const runs: string[] = [];
  const engine = localEngine({
    rootId: "root",
    worker: async (id, how, options) => {
      runs.push(`${id} ${how}`);
      await perform(id, how, options);
    },
  });
  return { engine, runs };
}

test("a task that runs is not run twice: both wait for the same run", async () => {
  let end = () => {};
  const { engine, runs } = world(() => new Promise((resolve) => (end = resolve)));
  const both = [engine.run("a", "start"), engine.run("a", "continue")];
  end();
  await Promise.all(both);
  expect(runs).toEqual(["a start"]);
});

test("a task can run again after its run has ended", async () => {
  const { engine, runs } = world(async () => undefined);
  await engine.run("a", "start");
  await engine.run("a", "continue");
  expect(runs).toEqual(["a start", "a continue"]);
  expect(engine.running("a")).toBeUndefined();
});

test("a stop reaches the run as the reason of its signal, and returns when the run has unwound", async () => {
  const seen: unknown[] = [];
  const { engine } = world(
    (_, __, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          seen.push(signal.reason);
          resolve();
        }),
      ),
  );
  const run = engine.run("a", "start");
  const stop = new Stop("cancel", "enough");
  expect(await engine.stop("a", stop)).toBe(true);
  expect(seen).toEqual([stop]);
  await run;
});

test("stopping a task that does not run does nothing", async () => {
  const { engine } = world(async () => undefined);
  expect(await engine.stop("a", new Stop("cancel", "enough"))).toBe(false);
});
