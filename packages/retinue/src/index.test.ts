/** The runtime inside another program: real runtime, real client, linked in memory; only the model is written down. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkedTransports } from "@retinue/protocol";
import { approveAll, RetinueClient, RuntimeConnection } from "@retinue/sdk";
import { expect, test } from "vitest";
import { call, oneProvider, Runtime, runtimeConfig, say, scripted, serveConnection, when } from "./index.ts";

test("a program runs the runtime in its own process, on a model that it wrote down", async () => {
  const home = mkdtempSync(join(tmpdir(), "retinue-embed-"));
  const provider = scripted([
    when("Ask somebody", [
      call("task", { name: "look", agent_type: "explore", description: "look around", prompt: "What is here?" }),
    ]),
    when("What is here?", [say("A lock file.")]),
    [say("There is a lock file.")],
  ]);
  const config = runtimeConfig({ RETINUE_HOME: home });
  const runtime = new Runtime({ config, catalog: oneProvider(provider), storePath: ":memory:" });
  const [near, far] = linkedTransports();
  const served = serveConnection(far, { version: config.version, load: async () => runtime });
  const client = new RetinueClient({ connection: RuntimeConnection.forTransport(() => near), reconnect: false });
  try {
    const session = await client.createSession({ workingDirectory: home, onPermissionRequest: approveAll });
    const answer = await session.sendAndWait("Ask somebody what is here.");
    expect(answer?.data.content).toBe("There is a lock file.");
    provider.assertSpent();
  } finally {
    await client.stop();
    near.close();
    await served;
    await runtime.close();
    rmSync(home, { recursive: true, force: true });
  }
});
