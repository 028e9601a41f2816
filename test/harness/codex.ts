/** Codex: hooks and MCP server as `retinue connect` writes them. Trust is given by the flag for vetted automation. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHILD_TASK, type ModelServer, PARENT_WORDS, startModelServer } from "./model-server.ts";
import { install, type Ran, type Sandbox } from "./sandbox.ts";

export const VERSION = "0.166.0";

export async function run(sandbox: Sandbox, packages: string): Promise<{ model: ModelServer; ran: Ran }> {
  const place = await install(packages, "codex", [`@openai/codex@${VERSION}`], "@openai/codex");
  const model = await startModelServer({
    parent: [
      { tool: /spawn_agent$/, args: { message: CHILD_TASK, task_name: "look", agent_type: "default" } },
      {
        tool: /wait_agent$/,
        args: (text) => ({ targets: [/"agent_id":"([^"]+)"/.exec(text)?.[1]], timeout_ms: 60_000 }),
      },
    ],
    child: [{ tool: /retinue__session_search$/, args: { query: "secret plan pelican" } }],
  });
  const folder = join(sandbox.user, ".codex");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.toml"), settings(model.url));
  await sandbox.retinue("connect", "codex", "--yes");
  sandbox.env.PATH = `${join(place, "node_modules/.bin")}:${sandbox.env.PATH}`;
  const args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", PARENT_WORDS];
  const ran = await sandbox.run(join(place, "node_modules/.bin/codex"), args, { env: { FAKE_KEY: "unused" } });
  return { model, ran };
}

const settings = (url: string) => `model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.fake]
name = "Fake"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
requires_openai_auth = false
supports_websockets = false
`;
