import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { json, loopback } from "../models/wire/loopback.ts";
import type { Check } from "./doctor-checks.ts";
import { checkNode, checkVariables } from "./doctor-checks.ts";
import { type CliWorld, cliWorld } from "./test-world.ts";

async function examine(
  world: CliWorld,
  env: Record<string, string> = {},
): Promise<{ code: number | null; by: (name: string) => Check | undefined }> {
  const { code, stdout } = await world.run(["doctor", "--json"], { env });
  const checks: Check[] = JSON.parse(stdout);
  return { code, by: (name) => checks.find((check) => check.name === name) };
}

describe("retinue doctor", () => {
  test("finds a fresh place in order, and says how to configure a model", async () => {
    await using world = cliWorld();
    const { code, stdout } = await world.run(["doctor"]);
    for (const words of [
      "ok       home",
      "ok       store",
      "ok       ripgrep   ripgrep ",
      "warning  provider",
      "→ Run retinue init, or set OPENAI_API_KEY",
    ])
      expect(stdout).toContain(words);
    expect(stdout).toContain("RETINUE_SUBAGENT_MAX_DEPTH is not set: 6");
    expect(code).toBe(0);
  });

  test("asks the provider for its models", async () => {
    await using model = await loopback(json({ data: [{ id: "small" }, { id: "large" }] }));
    await using world = cliWorld({ RETINUE_PROVIDER_URL: `${model.url}/v1`, RETINUE_MODEL: "small" });
    const { code, by } = await examine(world);
    expect(by("provider")).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/answers in \d+ ms with 2 models, default model small/),
    });
    expect(code).toBe(0);
  });

  test.each([
    ["cannot be reached", async () => undefined],
    ["is a web page", async () => await loopback(json("<html>", { headers: { "content-type": "text/html" } }))],
    ["refuses the key", async () => await loopback(json({ error: { message: "bad key" } }, { status: 401 }))],
  ])("a provider that %s is a problem", async (_, serve) => {
    await using model = await serve();
    await using world = cliWorld({ RETINUE_PROVIDER_URL: model?.url ?? "http://127.0.0.1:1/v1", RETINUE_MODEL: "x" });
    const { code, by } = await examine(world);
    expect(by("provider")).toMatchObject({ status: "problem", advice: expect.stringContaining("Check the address") });
    expect(code).toBe(1);
  });

  test("shows no key that the provider repeats in its error", async () => {
    const key = ["fake", "5f0e1c7a", "9b2d4e6f"].join("-");
    await using model = await loopback(json({ error: { message: `bad key ${key}` } }, { status: 401 }));
    await using world = cliWorld({ RETINUE_PROVIDER_URL: model.url, RETINUE_API_KEY: key, RETINUE_MODEL: "x" });
    const { by } = await examine(world);
    expect(by("provider")?.text).toContain("bad key [redacted secret]");
  });

  test("a home that is a file, a broken store and a broken config are problems with a way out", async () => {
    await using world = cliWorld();
    const file = join(world.root, "file");
    writeFileSync(file, "");
    expect((await examine(world, { RETINUE_HOME: file })).by("home")).toMatchObject({
      status: "problem",
      advice: expect.stringContaining("RETINUE_HOME"),
    });
    await world.run(["doctor"]);
    writeFileSync(join(world.home, "retinue.db"), "this is no database, whatever its name says");
    writeFileSync(join(world.home, "config.json"), "{ providers: }");
    const { code, by } = await examine(world);
    expect(by("store")).toMatchObject({ status: "problem", text: expect.stringContaining("cannot be opened") });
    expect(by("config")).toMatchObject({ status: "problem", text: expect.stringContaining("is not JSON") });
    expect(code).toBe(1);
  });

  test("names limits that are no numbers, variables and settings that nobody reads, and agents that are left out", async () => {
    await using world = cliWorld();
    mkdirSync(join(world.home, "agents"), { recursive: true });
    writeFileSync(join(world.home, "agents/a.agent.md"), "---\ndescription: d\ntool: [view]\n---\nYou look.\n");
    writeFileSync(join(world.home, "config.json"), JSON.stringify({ banner: "never" }));
    const { by, code } = await examine(world, { RETINUE_SUBAGENT_MAX_DEPTH: "deep", RETINUE_MODLE: "x" });
    expect(by("limit")).toMatchObject({
      status: "problem",
      text: 'RETINUE_SUBAGENT_MAX_DEPTH is "deep", so nothing starts',
    });
    expect(by("variable")).toMatchObject({ status: "warning", advice: "Did you mean RETINUE_MODEL?" });
    expect(by("config")).toMatchObject({ status: "warning", text: expect.stringContaining("no setting 'banner'") });
    expect(by("agents")).toMatchObject({ status: "problem", text: expect.stringContaining("Did you mean tools?") });
    expect(code).toBe(1);
  });

  test.each([
    ["v18.20.0", "problem"],
    ["v20.18.3", "problem"],
    ["v20.20.2", "warning"],
    ["v22.11.0", "problem"],
    ["v22.12.0", "ok"],
    ["v24.1.0", "ok"],
  ])("Node %s: %s", (version, status) => {
    expect(checkNode(version).status).toBe(status);
  });
});

test("every variable that docs/cli.md explains is one that the doctor knows", () => {
  const page = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8");
  const env = Object.fromEntries([...page.matchAll(/RETINUE_[A-Z_]+/g)].map(([name]) => [name, "x"]));
  delete env.RETINUE_; // "Variables that begin with RETINUE_".
  expect(Object.keys(env).length).toBeGreaterThan(10);
  expect(checkVariables(env)).toEqual([]);
});
