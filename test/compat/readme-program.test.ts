/** A program written for the official runtime runs on this one when one environment variable is set. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { call, chunks, say } from "../support/model-answers.ts";
import { startModelServer } from "../support/model-server.ts";
import { cleanEnv, freshFolders, runtimePath } from "../support/runtime.ts";

const program = fileURLToPath(new URL("./programs/readme.ts", import.meta.url));
const tsx = import.meta.resolve("tsx");

test("the program of the README runs unchanged with COPILOT_CLI_PATH set", async () => {
  await using folders = await freshFolders();
  await using model = await startModelServer();
  const endpoint = model
    .endpoint()
    .script(
      call("lookup_issue", { id: "7" }),
      call("ask_user", { question: "When?", choices: ["today", "tomorrow"] }),
      call("bash", { command: "rm -rf /tmp/none", description: "Clean up" }),
      chunks(6),
      say("To make it faster."),
    );
  const env = { COPILOT_CLI_PATH: runtimePath, COPILOT_HOME: folders.home, MODEL_URL: endpoint.url };
  const child = spawn(process.execPath, ["--import", tsx, program], {
    cwd: folders.folder,
    env: cleanEnv(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  expect(child.exitCode, errors).toBe(0);
  const seen = JSON.parse(output);
  expect(seen).toMatchObject({
    looked: ["7"],
    asked: "When? today/tomorrow",
    refused: "rm -rf /tmp/none",
    before: 1,
    answer: "To make it faster.",
    listed: true,
    errors: 0,
  });
  expect(seen.final).toBe("word0 word1 word2 word3 word4 word5 ");
  expect(seen.deltas).toBe(seen.final);
  expect(seen.hooks).toEqual([
    "prompt:Plan the fix of issue 7",
    "start:new",
    "pre:lookup_issue",
    "post:lookup_issue",
    "pre:ask_user",
    "post:ask_user",
    "pre:bash",
    "end:complete",
  ]);
  const fourth = endpoint.requests[3];
  expect(fourth?.texts("tool").join("\n")).toMatch(/It is too slow[\s\S]*User selected: tomorrow[\s\S]*not allowed/);
  expect(fourth?.texts("user").join("\n")).toContain("Our tracker is called Beetle.");
  expect(endpoint.lastRequest.lastText).toContain("What did we plan?");
});
