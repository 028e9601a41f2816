/** `--agent` with a built-in agent, `--yolo` and `--silent`. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { call, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { modelWorld } from "./test-world.ts";

const bash = (command: string) => call("bash", { command, description: "try it" });

test("--agent takes a built-in agent, with its prompt and its tools and no others", async () => {
  await using world = await modelWorld(({ results: [result] }) =>
    result === undefined ? bash("echo hi") : say(result),
  );
  const { code, stdout } = await world.run(["-p", "look", "--agent", "explore", "--quiet", "--yolo"]);
  expect(code).toBe(0);
  const [first] = world.model.requests;
  expect(JSON.stringify(first?.body)).toContain("Your role: ");
  const offered = JSON.stringify(first?.body.tools);
  expect(offered).toContain('"grep"');
  expect(offered).not.toContain('"edit"');
  expect(stdout).not.toBe("");
});

test("--yolo allows commands, and files outside the folder; a deny rule still holds", async () => {
  let step = 0;
  await using world = await modelWorld(() => {
    step++;
    if (step === 1) return [bash("mkdir made"), call("create", { path: outside, file_text: "two" })];
    if (step === 2) return bash("rm -r made");
    return say("done");
  });
  const outside = join(world.root, "outside.txt");
  const { code, stdout } = await world.run(["-p", "go", "--yolo", "--quiet", "--deny-tool", "shell(rm)"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "done\n" });
  expect(existsSync(join(world.folder, "made"))).toBe(true);
  expect(existsSync(outside)).toBe(true);
});

test("--silent prints the last message and nothing else, and errors all the same", async () => {
  let step = 0;
  await using world = await modelWorld(() =>
    ++step === 1 ? [say("First I look."), bash("echo hi")] : say("It is so."),
  );
  expect(await world.run(["-p", "go", "--yolo", "--silent"])).toEqual({ code: 0, stdout: "It is so.\n", stderr: "" });
  const { code, stderr } = await world.run(["-p", "go", "--silent", "--agent", "nobody"]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^retinue: Custom agent 'nobody' not found/),
  });
});
