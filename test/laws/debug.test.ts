import { test } from "vitest";
import { runCell } from "./run-cell.ts";
test("debug", async () => {
  const [path, depth, attached, fault] = (process.env.CELL ?? "").split(",");
  console.log(await runCell({ path, depth: Number(depth), attached, fault, debug: true } as never));
});
