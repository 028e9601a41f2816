/** Claude Code: hooks and MCP server as `retinue connect` writes them. */
import { join } from "node:path";
import { CHILD_TASK, type ModelServer, PARENT_WORDS, startModelServer } from "./model-server.ts";
import { install, type Ran, type Sandbox } from "./sandbox.ts";

export const VERSION = "2.1.325";

export async function run(sandbox: Sandbox, packages: string): Promise<{ model: ModelServer; ran: Ran }> {
  const place = await install(
    packages,
    "claude-code",
    [`@anthropic-ai/claude-code@${VERSION}`],
    "@anthropic-ai/claude-code",
  );
  const spawnArgs = {
    description: "look",
    prompt: CHILD_TASK,
    subagent_type: "general-purpose",
    run_in_background: false,
  };
  const model = await startModelServer({
    parent: [{ tool: /^(?:Agent|Task)$/, args: spawnArgs }],
    child: [{ tool: /^mcp__retinue__session_search$/, args: { query: "secret plan pelican" } }],
  });
  await sandbox.retinue("connect", "claude-code", "--yes");
  const env = {
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: "unused",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    ENABLE_TOOL_SEARCH: "false",
  };
  const args = ["-p", PARENT_WORDS, "--allowedTools", "Agent,Task,mcp__retinue__session_search"];
  const ran = await sandbox.run(join(place, "node_modules/.bin/claude"), args, { env });
  return { model, ran };
}
