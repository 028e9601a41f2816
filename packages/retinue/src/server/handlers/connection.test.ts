import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runtimeConfig } from "../../host/config.ts";
import { Runtime } from "../runtime.ts";
import { inSmallWorld, TestClient } from "./small-world.ts";

/** A client of a runtime with the real model catalog and the given environment. */
async function inEnvironment(env: Record<string, string>, test: (client: TestClient) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "retinue-connection-"));
  const runtime = new Runtime({ config: runtimeConfig({ ...env, RETINUE_HOME: home }), storePath: ":memory:" });
  const client = new TestClient(runtime);
  try {
    await test(client);
  } finally {
    client.close();
    await client.ended;
    await runtime.close();
    rmSync(home, { recursive: true, force: true });
  }
}

test("without a provider no user is signed in, and models cannot be listed", async () => {
  await inEnvironment({}, async (client) => {
    expect(await client.call("auth.getStatus", {})).toEqual({
      isAuthenticated: false,
      statusMessage: "Not authenticated",
    });
    const refusal = "Not authenticated. Please authenticate first.";
    await expect(client.call("models.list", {})).rejects.toThrow(refusal);
    await expect(client.call("account.getQuota", {})).rejects.toThrow(refusal);
    expect(await client.call("models.getBuiltInCatalog", {})).toEqual({ models: [{ id: "offline" }] });
  });
});

test("a provider from the environment counts as signed in", async () => {
  const env = { RETINUE_PROVIDER_URL: "http://127.0.0.1:9/v1", RETINUE_MODEL: "small" };
  await inEnvironment(env, async (client) => {
    expect(await client.call("auth.getStatus", {})).toMatchObject({
      isAuthenticated: true,
      statusMessage: expect.stringContaining("retinue"),
    });
    expect((await client.call("models.list", {})).models).toMatchObject([{ id: "small" }]);
    expect(await client.call("account.getQuota", {})).toEqual({ quotaSnapshots: {} });
  });
});

test("built-in tools are listed without a session", async () => {
  await inSmallWorld([], async ({ client }) => {
    const { tools } = await client.call("tools.list", {});
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["bash", "view", "edit", "read_agent"]));
    expect(await client.call("status.get", {})).toMatchObject({ protocolVersion: 3 });
  });
});
