/**
 * Claude Code: hooks in settings.json, session_search as an MCP server in .claude.json.
 *
 * A sub-agent has no session of its own: SubagentStart is its beginning, and the parent's session id with the agent's id is its name.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { fields, text } from "../ingest/readers/fields.ts";
import {
  asJson,
  type Check,
  type Connector,
  type ConnectorContext,
  type FileChange,
  readSettings,
} from "./connector.ts";
import type { HarnessHook, HookCall } from "./harness-hook.ts";
import { type HookEvent, hookCommand, installedEvents, withHooks, withoutHooks } from "./hook-settings.ts";

const NAME = "claude-code";
const SPAWN = "Agent|Task";
const EVENTS: readonly HookEvent[] = [
  { event: "SessionStart" },
  { event: "UserPromptSubmit" },
  { event: "Stop" },
  { event: "SessionEnd" },
  { event: "SubagentStart" },
  { event: "SubagentStop" },
  { event: "PreToolUse", matcher: `${SPAWN}|mcp__retinue__.*` },
  { event: "PostToolUse", matcher: SPAWN },
];
const TOOLS = ["mcp__retinue__session_search", "mcp__retinue__session_transcript"];

const homeOf = ({ env }: ConnectorContext) => env.HOME ?? homedir();
const folder = (context: ConnectorContext) => context.env.CLAUDE_CONFIG_DIR ?? join(homeOf(context), ".claude");
const settingsFile = (context: ConnectorContext) => join(folder(context), "settings.json");
const serversFile = (context: ConnectorContext) =>
  join(context.env.CLAUDE_CONFIG_DIR ?? homeOf(context), ".claude.json");

export const claudeCode: Connector = {
  name: NAME,
  folder,
  transcripts: (context) => [join(folder(context), "projects")],
  connect: (context) => [settings(context, true), servers(context, true)],
  disconnect: (context) => [settings(context, false), servers(context, false)],
  async check(context) {
    const installed = installedEvents(readSettings(settingsFile(context)).value.hooks, NAME);
    const missing = EVENTS.filter(({ event }) => !installed.includes(event)).map(({ event }) => event);
    const server = fields(fields(readSettings(serversFile(context)).value.mcpServers).retinue);
    const isOff = readSettings(settingsFile(context)).value.disableAllHooks === true;
    return [
      hooksCheck(installed, missing, isOff),
      {
        what: "search",
        ok: server.command !== undefined,
        detail: server.command === undefined ? "no MCP server retinue" : "MCP tool mcp__retinue__session_search",
      },
      { what: "trust", ok: true, detail: "user settings need none" },
    ];
  },
};

function hooksCheck(installed: readonly string[], missing: readonly string[], isOff: boolean): Check {
  if (isOff) return { what: "hooks", ok: false, detail: "disableAllHooks is set: none of them runs" };
  if (installed.length === 0) return { what: "hooks", ok: false, detail: "not installed" };
  return {
    what: "hooks",
    ok: missing.length === 0,
    detail: missing.length === 0 ? `${installed.length} events` : `missing: ${missing.join(", ")}`,
  };
}

function settings(context: ConnectorContext, isOn: boolean): FileChange {
  const path = settingsFile(context);
  const { text: before, value } = readSettings(path);
  if (!isOn && before === undefined) return { path, before, after: before };
  const hooks = isOn
    ? withHooks(value.hooks, { events: EVENTS, harness: NAME, command: hookCommand(context, NAME) })
    : withoutHooks(value.hooks, NAME);
  const { hooks: _, permissions: __, ...rest } = value;
  const permissions = allowing(fields(value.permissions), isOn);
  const after = { ...rest, ...(permissions && { permissions }), ...(hooks && { hooks }) };
  return { path, before, after: Object.keys(after).length === 0 && !isOn ? undefined : asJson(after) };
}

/** Allows reading our store, so that the user is not asked each time. */
function allowing(permissions: Readonly<Record<string, unknown>>, isOn: boolean): object | undefined {
  const others = Array.isArray(permissions.allow)
    ? permissions.allow.filter((rule) => !TOOLS.includes(String(rule)))
    : [];
  const { allow: _, ...rest } = permissions;
  const allow = isOn ? [...others, ...TOOLS] : others;
  const after = { ...rest, ...(allow.length > 0 && { allow }) };
  return Object.keys(after).length > 0 ? after : undefined;
}

function servers(context: ConnectorContext, isOn: boolean): FileChange {
  const path = serversFile(context);
  const { text: before, value } = readSettings(path);
  if (!isOn && before === undefined) return { path, before, after: before };
  const { retinue: _, ...others } = fields(value.mcpServers);
  const [command, ...args] = [...context.program, "mcp", "--home", context.home];
  const mcpServers = isOn ? { ...others, retinue: { type: "stdio", command, args } } : others;
  const { mcpServers: __, ...rest } = value;
  const after = { ...rest, ...(Object.keys(mcpServers).length > 0 && { mcpServers }) };
  return { path, before, after: Object.keys(after).length === 0 && !isOn ? undefined : asJson(after) };
}

/** What a hook's payload means for us. */
export const claudeHook: HarnessHook = {
  read(payload) {
    const agent = text(payload.agent_id);
    const body = {
      harness: NAME,
      sessionKey: text(payload.session_id),
      project: text(payload.cwd),
      ...(agent && { harnessAgentId: agent }),
    };
    // In a child the path is still the parent's.
    const main = { ...body, ...(!agent && { transcriptPath: text(payload.transcript_path) }) };
    return calls[text(payload.hook_event_name) ?? ""]?.(payload, main);
  },
  answer: ({ inject }, payload) =>
    inject === undefined
      ? undefined
      : { hookSpecificOutput: { hookEventName: payload.hook_event_name, additionalContext: inject } },
};

type Payload = Readonly<Record<string, unknown>>;

const calls: Readonly<Record<string, (payload: Payload, body: object) => HookCall | undefined>> = {
  SessionStart: (_payload, body) => ({ route: "session-start", body }),
  UserPromptSubmit: (payload, body) => ({
    route: "user-prompt-submit",
    body: { ...body, userMessage: text(payload.prompt) },
  }),
  Stop: (payload, body) => ({
    route: "turn-end",
    body: { ...body, lastAssistantMessage: text(payload.last_assistant_message) },
  }),
  SessionEnd: (payload, body) => ({ route: "session-end", body: { ...body, reason: text(payload.reason) } }),
  SubagentStart: (payload, body) => ({
    route: "subagent-start",
    body: { ...body, title: text(payload.agent_type), transcriptPath: childTranscript(payload) },
  }),
  SubagentStop: (payload, body) => ({
    route: "subagent-stop",
    body: {
      ...body,
      transcriptPath: text(payload.agent_transcript_path),
      lastAssistantMessage: text(payload.last_assistant_message),
      reason: "completed",
    },
  }),
  PreToolUse: (payload, body) => toolCall(payload, body, "before"),
  PostToolUse: (payload, body) => toolCall(payload, body, "after"),
};

function toolCall(payload: Payload, body: object, phase: "before" | "after"): HookCall | undefined {
  const [callId, tool] = [text(payload.tool_use_id), text(payload.tool_name)];
  return callId && tool ? { route: "tool-call", body: { ...body, callId, tool, phase } } : undefined;
}

/** The child's file does not exist yet when the child starts, but its path is known. */
function childTranscript(payload: Payload): string | undefined {
  const parent = text(payload.transcript_path);
  const agent = text(payload.agent_id);
  return parent?.endsWith(".jsonl") && agent
    ? join(parent.slice(0, -".jsonl".length), "subagents", `agent-${agent}.jsonl`)
    : undefined;
}
