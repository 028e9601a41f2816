import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { call, say, type TurnOf } from "../../models/scripted.ts";
import { inSmallWorld } from "./small-world.ts";

const PROBE = fileURLToPath(new URL("../../mcp/fixtures/probe-server.mjs", import.meta.url));
const AGENTS = 50;

const isRunning = (pid: string): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));

/** The main agent starts all helpers at once, and each of them asks the server who it is. */
const answer: TurnOf = ({ system, messages }) => {
  const hasResults = messages.some(({ role }) => role === "tool");
  if (hasResults) return [say("done")];
  if (system.includes("HELPER")) return [call("probe-pid")];
  return Array.from({ length: AGENTS }, (_, at) =>
    call("task", { agent_type: "helper", name: `helper-${at}`, description: "asks", prompt: `ask ${at}` }),
  );
};

test(`${AGENTS} sub-agents that name one server share one process, and it is gone with the session`, async () => {
  const turns = Array<TurnOf>(3 * AGENTS).fill(answer);
  await inSmallWorld(turns, async ({ client, create, send }) => {
    const probe = { command: process.execPath, args: [PROBE] };
    const helper = { name: "helper", prompt: "You are a HELPER.", mcpServers: { probe } };
    const sessionId = await create({ customAgents: [helper] });
    await client.call("session.permissions.setApproveAll", { sessionId, enabled: true });
    await send(sessionId, "go");
    const calls = client.events.filter(({ type, agentId }) => type === "tool.execution_complete" && agentId);
    const pids = new Set(calls.map(({ data }) => JSON.stringify(data.result)));
    expect([calls.length, pids.size]).toEqual([AGENTS, 1]);
    expect(client.of("session.mcp_server_status_changed").map(({ status }) => status)).toEqual([
      "pending",
      "connected",
    ]);
    const [pid = ""] = /\d+/.exec([...pids].join("")) ?? [];
    expect(isRunning(pid)).toBe(true);
    await client.call("session.destroy", { sessionId });
    expect(isRunning(pid)).toBe(false);
  });
});
