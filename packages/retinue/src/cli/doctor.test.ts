import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { json, loopback } from "../models/wire/loopback.ts";
import type { Check } from "./doctor-checks.ts";
import { checkNode } from "./doctor-checks.ts";
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
      "→ Set OPENAI_API_KEY",
    ])
      expect(stdout).toContain(words);
    expect(stdout).toContain("RETINUE_SUBAGENT_MAX_DEPTH is not set: 4");
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

  test("a limit that is no number is a warning", async () => {
    await using world = cliWorld();
    const { by } = await examine(world, { RETINUE_SUBAGENT_MAX_DEPTH: "deep" });
    expect(by("limit")).toMatchObject({ status: "warning", text: 'RETINUE_SUBAGENT_MAX_DEPTH is "deep"' });
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
