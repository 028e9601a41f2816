/** OpenCode: the plugin that `retinue connect` writes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHILD_TASK, type ModelServer, PARENT_WORDS, startModelServer } from "./model-server.ts";
import { install, type Ran, type Sandbox } from "./sandbox.ts";

export const VERSION = "1.18.33";

export async function run(sandbox: Sandbox, packages: string): Promise<{ model: ModelServer; ran: Ran }> {
  const place = await install(packages, "opencode", [`opencode-ai@${VERSION}`], "opencode-ai");
  const model = await startModelServer({
    parent: [{ tool: /^task$/, args: { description: "look", prompt: CHILD_TASK, subagent_type: "general" } }],
    child: [{ tool: /^retinue_session_search$/, args: { query: "secret plan pelican" } }],
  });
  const folder = join(sandbox.user, ".config/opencode");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "opencode.json"), JSON.stringify(settings(model.url)));
  await sandbox.retinue("connect", "opencode", "--yes");
  await sandbox.retinue("daemon", "start");
  const ran = await sandbox.run(join(place, "node_modules/.bin/opencode"), ["run", PARENT_WORDS]);
  return { model, ran };
}

const settings = (url: string) => ({
  model: "fake/fake-model",
  small_model: "fake/fake-model",
  autoupdate: false,
  share: "disabled",
  permission: { "*": "allow" },
  provider: {
    fake: {
      npm: "@ai-sdk/openai-compatible",
      name: "Fake",
      options: { baseURL: `${url}/v1`, apiKey: "unused" },
      models: { "fake-model": { name: "Fake", limit: { context: 128_000, output: 4_096 }, tool_call: true } },
    },
  },
});
