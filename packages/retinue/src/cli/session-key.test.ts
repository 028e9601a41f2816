import { say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { modelWorld } from "./test-world.ts";

test("transcript, checkpoint and search take the beginning of a session's id, and say when there is none or more than one", async () => {
  await using world = await modelWorld([say("the zebra is striped")]);
  await world.run(["-p", "what about the zebra?", "--quiet"]);
  const [{ sessionId }] = JSON.parse((await world.run(["sessions", "list", "--json"])).stdout);
  const short = sessionId.slice(0, 6);
  expect((await world.run(["transcript", short])).stdout).toContain("the zebra is striped");
  expect(await world.run(["checkpoint", short, "zebras", "have", "stripes"])).toMatchObject({
    code: 0,
    stdout: `Kept a checkpoint of ${sessionId}.\n`,
  });
  expect((await world.run(["search", "zebra", "--session", short])).stdout).toContain("striped");
  for (const args of [
    ["transcript", "nope"],
    ["search", "zebra", "--session", "nope"],
  ]) {
    const { code, stdout, stderr } = await world.run(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("There is no session nope.");
  }
});
