/** `retinue --resume` and `--continue` after the process of a session was killed, and when nothing was left open. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { call, type ModelRequest, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { type CliWorld, modelWorld } from "./test-world.ts";

const bash = (command: string) => call("bash", { command, description: "try it" });

/** Starts a prompt and kills the process without warning once the model has been asked for the last time. */
async function killWhen(world: CliWorld, args: readonly string[], reached: Promise<unknown>): Promise<void> {
  const { process: child, ended } = world.start(args);
  await Promise.race([reached, ended.then(({ stderr }) => Promise.reject(new Error(`it ended: ${stderr}`)))]);
  child.kill("SIGKILL");
  await ended;
}

function signal(): { reached: Promise<void>; reach(): void } {
  let reach = () => undefined as undefined;
  const reached = new Promise<void>((resolve) => {
    reach = () => void resolve();
  });
  return { reached, reach: () => reach() };
}

/** A main agent whose helper is killed before its model answers; in the next process it gets an answer. */
function withHelper({ reach }: { reach(): void }) {
  let isKilled = false;
  return (request: ModelRequest) => {
    if (request.prompt.includes("find it")) {
      if (isKilled) return say("it is under the stone");
      isKilled = true;
      reach();
      return new Promise<never>(() => undefined);
    }
    const [found] = request.results;
    if (found !== undefined) return say(`The helper says: ${found.includes("under the stone") ? "stone" : found}`);
    return call("task", { agent_type: "explore", name: "helper", description: "finds it", prompt: "find it" });
  };
}

test("--resume without a prompt finishes what a killed process had begun, sub-agents included", async () => {
  const asked = signal();
  await using world = await modelWorld(withHelper(asked));
  await killWhen(world, ["-p", "ask the helper"], asked.reached);

  const [{ sessionId }] = JSON.parse((await world.run(["sessions", "list", "--json"])).stdout);
  const tree = (await world.run(["sessions", "tree", sessionId.slice(0, 8)])).stdout;
  expect(tree).toMatch(/⊘ main {2}interrupted/);
  expect(tree).toMatch(/⊘ helper \(explore\) {2}interrupted/);

  const { code, stdout } = await world.run(["--resume", sessionId.slice(0, 8)]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "The helper says: stone\n" });
  const after = (await world.run(["sessions", "tree", sessionId])).stdout;
  expect(after).toMatch(/○ main {2}idle/);
  expect(after).toMatch(/✓ helper \(explore\) {2}completed/);
});

test("--continue with a prompt finishes what was open first, and then answers the prompt", async () => {
  const asked = signal();
  const helped = withHelper(asked);
  await using world = await modelWorld((request) =>
    request.prompt.includes("and now") ? say("Now this.") : helped(request),
  );
  await killWhen(world, ["-p", "ask the helper"], asked.reached);
  const { code, stdout } = await world.run(["--continue", "-p", "and now?"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "The helper says: stone\n\nNow this.\n" });
});

test("a session with nothing left to do asks for a prompt, with exit code 2", async () => {
  await using world = await modelWorld([say("done")]);
  const [, id = ""] = /session ([0-9a-f]{8})/.exec((await world.run(["-p", "do it"])).stderr) ?? [];
  for (const args of [["--resume", id], ["--continue"]]) {
    const { code, stdout, stderr } = await world.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`session ${id} has nothing left to do. Give it a prompt: retinue --resume ${id} -p "…"`);
  }
});

/** A model that answers only in the second process, and then makes a file. */
function makingAfterKill({ reach }: { reach(): void }) {
  let isKilled = false;
  return ({ results }: ModelRequest) => {
    if (results.length > 0) return say(results.join());
    if (isKilled) return bash("touch made");
    isKilled = true;
    reach();
    return new Promise<never>(() => undefined);
  };
}

test("rules of the resuming command hold for the calls that were open", async () => {
  const asked = signal();
  await using world = await modelWorld(makingAfterKill(asked));
  await killWhen(world, ["-p", "make it"], asked.reached);
  const { code } = await world.run(["--continue", "--allow-tool", "shell(touch)"]);
  expect(code).toBe(0);
  expect(existsSync(join(world.folder, "made"))).toBe(true);
});

test("a deny rule stays with its session after a kill, whatever the next command allows", async () => {
  const asked = signal();
  await using world = await modelWorld(makingAfterKill(asked));
  await killWhen(world, ["-p", "make it", "--deny-tool", "shell(touch)"], asked.reached);
  const { code, stdout } = await world.run(["--continue", "--allow-all-tools"]);
  expect(code).toBe(0);
  expect(stdout).toContain("denied by the deny rule shell(touch)");
  expect(existsSync(join(world.folder, "made"))).toBe(false);
});
