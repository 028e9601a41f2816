/**
 * Codex: hooks in hooks.json, session_search as an MCP server in config.toml.
 *
 * Codex silently skips hooks that the user has not trusted; codex-trust.ts asks it.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { AppError } from "@retinue/protocol/errors";
import { fields, parseLine, text } from "../ingest/readers/fields.ts";
import { askCodexAboutHooks } from "./codex-trust.ts";
import {
  asJson,
  type Connector,
  type ConnectorContext,
  type FileChange,
  readIfThere,
  readSettings,
} from "./connector.ts";
import type { HarnessHook, HookCall } from "./harness-hook.ts";
import { type HookEvent, hookCommand, installedEvents, withHooks, withoutHooks } from "./hook-settings.ts";

const NAME = "codex";
const EVENTS: readonly HookEvent[] = [
  "SessionStart",
  "UserPromptSubmit",
  "Stop",
  "SessionEnd",
  "SubagentStart",
  "SubagentStop",
].map((event) => ({ event }));

const folder = ({ env }: ConnectorContext) => env.CODEX_HOME ?? join(env.HOME ?? homedir(), ".codex");
const hooksFile = (context: ConnectorContext) => join(folder(context), "hooks.json");
const configFile = (context: ConnectorContext) => join(folder(context), "config.toml");

export const codex: Connector = {
  name: NAME,
  folder,
  transcripts: (context) => [join(folder(context), "sessions")],
  connect: (context) => [hooks(context, true), config(context, true)],
  disconnect: (context) => [hooks(context, false), config(context, false)],
  async check(context) {
    const installed = installedEvents(readSettings(hooksFile(context)).value.hooks, NAME);
    const missing = EVENTS.filter(({ event }) => !installed.includes(event)).map(({ event }) => event);
    const hasServer = (readIfThere(configFile(context)) ?? "").includes(OPENING);
    return [
      {
        what: "hooks",
        ok: missing.length === 0,
        detail:
          missing.length === 0
            ? `${installed.length} events`
            : installed.length === 0
              ? "not installed"
              : `missing: ${missing.join(", ")}`,
      },
      { what: "search", ok: hasServer, detail: hasServer ? "MCP server retinue" : "no MCP server retinue" },
      installed.length === 0
        ? { what: "trust", ok: false, detail: "no hooks to trust" }
        : await askCodexAboutHooks(context),
    ];
  },
};

function hooks(context: ConnectorContext, isOn: boolean): FileChange {
  const path = hooksFile(context);
  const { text: before, value } = readSettings(path);
  if (!isOn && before === undefined) return { path, before, after: before };
  const after = isOn
    ? withHooks(value.hooks, { events: EVENTS, harness: NAME, command: hookCommand(context, NAME) })
    : withoutHooks(value.hooks, NAME);
  const { hooks: _, ...rest } = value;
  return {
    path,
    before,
    after: after || Object.keys(rest).length > 0 ? asJson({ ...rest, ...(after && { hooks: after }) }) : undefined,
  };
}

const OPENING = "# >>> retinue";
const CLOSING = "# <<< retinue";

/** config.toml is the user's own text: our lines go between two marks, the rest is not touched. */
function config(context: ConnectorContext, isOn: boolean): FileChange {
  const path = configFile(context);
  const before = readIfThere(path);
  const without = (before ?? "").replace(new RegExp(`\\n*${OPENING}[\\s\\S]*?${CLOSING}\\n?`), (_, at: number) =>
    at === 0 ? "" : "\n",
  );
  if (isOn && /^\s*\[mcp_servers\.retinue\]/m.test(without)) {
    throw new AppError("invalid_params", `${path} has an MCP server retinue of its own; remove it first`);
  }
  if (!isOn)
    return {
      path,
      before,
      after: before === undefined || without.trim() === "" ? (before?.includes(OPENING) ? undefined : before) : without,
    };
  const [command = "", ...args] = [...context.program, "mcp", "--home", context.home];
  const block = [
    OPENING,
    "[mcp_servers.retinue]",
    `command = ${JSON.stringify(command)}`,
    `args = ${JSON.stringify(args)}`,
    "# Its tools only read.",
    'default_tools_approval_mode = "approve"',
    CLOSING,
    "",
  ].join("\n");
  return { path, before, after: without.trim() === "" ? block : `${without.trimEnd()}\n\n${block}` };
}

/** What a hook's payload means for us. `session_id` is always the root; a child's thread has its own id. */
export const codexHook: HarnessHook = {
  read(payload) {
    const [root, agent] = [text(payload.session_id), text(payload.agent_id)];
    if (!root) return undefined;
    const body = {
      harness: NAME,
      sessionKey: keyOf(root, agent),
      project: text(payload.cwd),
      transcriptPath: text(payload.transcript_path),
    };
    return calls[text(payload.hook_event_name) ?? ""]?.(payload, { root, body });
  },
  answer: ({ inject }, payload) =>
    inject === undefined
      ? undefined
      : { hookSpecificOutput: { hookEventName: payload.hook_event_name, additionalContext: inject } },
};

type Payload = Readonly<Record<string, unknown>>;
interface Context {
  root: string;
  body: Record<string, unknown>;
}

const keyOf = (root: string, thread: string | undefined) =>
  thread === undefined || thread === root ? root : `${root}:${thread}`;

const calls: Readonly<Record<string, (payload: Payload, context: Context) => HookCall>> = {
  SessionStart: (_payload, { body }) => ({ route: "session-start", body }),
  UserPromptSubmit: (payload, { body }) => ({
    route: "user-prompt-submit",
    body: { ...body, userMessage: text(payload.prompt) },
  }),
  Stop: (payload, { body }) => ({
    route: "turn-end",
    body: { ...body, lastAssistantMessage: text(payload.last_assistant_message) },
  }),
  SessionEnd: (payload, { body }) => ({ route: "session-end", body: { ...body, reason: text(payload.reason) } }),
  SubagentStart: (payload, { root, body }) => ({
    route: "subagent-start",
    body: {
      ...body,
      parentSessionKey: keyOf(root, parentThread(text(payload.transcript_path))),
      title: text(payload.agent_type),
    },
  }),
  // Here `transcript_path` is the parent's; the child's has another name.
  SubagentStop: (payload, { body }) => ({
    route: "subagent-stop",
    body: {
      ...body,
      transcriptPath: text(payload.agent_transcript_path),
      lastAssistantMessage: text(payload.last_assistant_message),
      reason: "completed",
    },
  }),
};

const FIRST_LINE = 1024 * 1024;

/** Empty for anything but a file: opening a pipe must not wait for somebody who writes to it. */
function firstLine(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return "";
    const buffer = Buffer.alloc(FIRST_LINE);
    return buffer.toString("utf8", 0, readSync(file, buffer, 0, FIRST_LINE, 0)).split("\n", 1)[0] ?? "";
  } finally {
    closeSync(file);
  }
}

/** The first line of a child's rollout names the thread that started it. Without it, the root did. */
function parentThread(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return text(fields(parseLine(firstLine(path))?.payload).parent_thread_id);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
