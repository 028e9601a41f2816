import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Approval } from "@retinue/protocol";
import { call, say } from "@retinue/sdk/testing";
import { expect, test } from "vitest";
import { ALLOWED_DOMAIN, FOLDER_APPROVAL, folderKey } from "../permissions/kept-rules.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { type CliWorld, modelWorld } from "./test-world.ts";

/** As the answer "in this folder" keeps it. */
async function keep({ home }: CliWorld, folder: string, approval: Approval): Promise<void> {
  await using own = openOwnRuntime({ env: {}, home });
  await own.runtime.sessions.store.documents.write([
    FOLDER_APPROVAL.put(folderKey(folder, approval), approval),
    ALLOWED_DOMAIN.put("example.com", { domain: "example.com" }),
  ]);
}

const toTouch = () =>
  modelWorld(({ results }) =>
    results.length === 0 ? call("bash", { command: "touch made", description: "Make it" }) : say("done"),
  );

test("an answer that is kept for a folder is listed, counts, and counts no more when it is forgotten", async () => {
  await using world = await toTouch();
  const made = join(world.folder, "made");
  await keep(world, world.folder, { kind: "commands", commandIdentifiers: ["touch"] });
  const listed = await world.run(["permissions", "list"]);
  expect(listed.stdout).toBe(`${world.folder}\n  shell(touch)\neverywhere\n  url(example.com)\n`);
  await world.run(["-p", "make it"]);
  expect(existsSync(made)).toBe(true);

  const forgotten = await world.run(["permissions", "forget"]);
  expect(forgotten).toMatchObject({ code: 0, stdout: `Forgot shell(touch) (${world.folder}).\n` });
  expect((await world.run(["permissions", "list"])).stdout).toBe("everywhere\n  url(example.com)\n");
  const { stderr } = await world.run(["-p", "make it again"]);
  expect(stderr).toContain("--allow-tool 'shell(touch");

  expect(await world.run(["permissions", "forget"])).toMatchObject({ code: 1, stdout: "" });
  expect((await world.run(["permissions", "forget", "--addresses"])).code).toBe(0);
  expect((await world.run(["permissions", "list", "--json"])).stdout.trim()).toBe("[]");
});

test("in a repository the answers belong to all of it, wherever they are forgotten", async () => {
  await using world = await toTouch();
  const inner = join(world.folder, "src");
  for (const folder of [join(world.folder, ".git"), inner]) mkdirSync(folder, { recursive: true });
  await keep(world, world.folder, { kind: "write" });
  const { code, stdout } = await world.run(["permissions", "forget", inner, "--json"]);
  expect({ code, stdout: JSON.parse(stdout) }).toEqual({ code: 0, stdout: { folder: world.folder, forgotten: 1 } });
});
