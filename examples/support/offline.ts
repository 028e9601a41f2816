/**
 * What every example needs to run with no key and no network: a folder of its own, the runtime of this repository, and
 * a model that follows a script. A program of yours has none of this: it names a real `provider`, or none.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RetinueClientOptions, RuntimeConnection, type SessionConfig } from "@retinue/sdk";
import { type ModelScript, startScriptedModel } from "@retinue/sdk/testing";

export async function offline(script: ModelScript) {
  const folder = mkdtempSync(join(tmpdir(), "retinue-example-"));
  const model = await startScriptedModel(script);
  const path = process.env.RETINUE_PATH ?? fileURLToPath(new URL("../../bin/retinue.js", import.meta.url));
  return {
    /** Options of the client. */
    client: {
      connection: RuntimeConnection.forStdio({ path }),
      workingDirectory: folder,
      baseDirectory: join(folder, "home"),
    } satisfies RetinueClientOptions,
    /** Options of a session. */
    session: { model: "scripted", provider: model.provider, workingDirectory: folder } satisfies SessionConfig,
    path,
    folder,
    model,
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
