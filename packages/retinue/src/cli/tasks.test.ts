/** `retinue tasks`: background work, compared with who is alive. */
import { call, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { modelWorld } from "./test-world.ts";

const helper = call("task", {
  agent_type: "explore",
  mode: "background",
  name: "helper",
  description: "finds it",
  prompt: "find it",
});

test("a background agent is running while its process lives, and parked when that was killed", async () => {
  let reach = () => undefined as undefined;
  const reached = new Promise<void>((resolve) => {
    reach = () => void resolve();
  });
  await using world = await modelWorld(({ prompt, results: [result] }) => {
    if (prompt.includes("find it")) {
      reach();
      return new Promise<never>(() => undefined);
    }
    return result === undefined ? helper : say("it looks");
  });
  expect((await world.run(["tasks"])).stdout).toBe("There is no background work, and there was none lately.\n");
  const { process: child, ended } = world.start(["-p", "ask the helper"]);
  await reached;
  expect((await world.run(["tasks"])).stdout).toMatch(
    /^running {4}agent helper: finds it \(\d+s, session [0-9a-f]{8}\)\n$/,
  );
  child.kill("SIGKILL");
  await ended;
  const [task, ...others] = JSON.parse((await world.run(["tasks", "--json"])).stdout);
  expect(task).toMatchObject({ kind: "agent", name: "helper", status: "parked" });
  expect(others).toEqual([]);
});
