/**
 * The plugin for OpenClaw: a folder with two manifests and an entry. A sub-agent's parent comes with `subagent_spawned`; the block
 * goes into the system prompt of its turns, which OpenClaw does not store. session_search is a tool of the plugin, which knows the session.
 */
import words from "../recall/session-search.md";
import { pluginClient } from "./plugin-client.ts";

export const OPENCLAW_PLUGIN = "retinue";

export function openclawPlugin({
  home,
  program,
}: {
  home: string;
  program: readonly string[];
}): Record<string, string> {
  const manifest = {
    id: OPENCLAW_PLUGIN,
    name: "Retinue",
    description: "Live transcripts, inherited context and session_search through Retinue",
    contracts: { tools: ["session_search"] },
    activation: { onStartup: true },
    configSchema: { type: "object", additionalProperties: false },
  };
  const pkg = {
    name: "retinue-openclaw",
    version: "1.0.0",
    private: true,
    type: "module",
    openclaw: { extensions: ["./index.js"] },
  };
  return {
    "package.json": `${JSON.stringify(pkg, null, 2)}\n`,
    "openclaw.plugin.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "index.js": entry({ home, program }),
  };
}

function entry(options: { home: string; program: readonly string[] }): string {
  return `${pluginClient({ ...options, harness: "openclaw" })}

const DESCRIPTION = ${JSON.stringify(words.trim())};
${PLUGIN}`;
}

/** Plain JavaScript, which OpenClaw loads as it is. */
const PLUGIN = `const blocks = new Map();
const timers = new Map();
const projects = new Map();
const about = (sessionKey) => ({ sessionKey, project: projects.get(sessionKey) });

function soon(sessionKey) {
  if (timers.has(sessionKey)) return;
  const timer = setTimeout(() => {
    timers.delete(sessionKey);
    void hook("turn-end", about(sessionKey));
  }, 100);
  timer.unref?.();
  timers.set(sessionKey, timer);
}

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((block) => block.text ?? "").filter((text) => text !== "").join("\\n");

function tellMessage(sessionKey, message) {
  const id = createHash("sha1").update(message.role + message.timestamp + JSON.stringify(message.content)).digest("base64url");
  const at = message.timestamp;
  const text = textOf(message.content);
  if (message.role === "toolResult") addTurn(sessionKey, { id, role: "tool", tool: undefined, callId: message.toolCallId, text: text || "(nothing)", at });
  else if (text) addTurn(sessionKey, { id, role: message.role, text, at });
  for (const block of Array.isArray(message.content) ? message.content : []) {
    if (block.type !== "toolCall") continue;
    addTurn(sessionKey, { id: id + block.id, role: "assistant", tool: block.name, callId: block.id, text: JSON.stringify(block.arguments ?? {}), at });
  }
}

export default {
  id: "${OPENCLAW_PLUGIN}",
  name: "Retinue",
  description: "Live transcripts, inherited context and session_search through Retinue",
  register(api) {
    api.on("session_start", (event, ctx) => void hook("session-start", about(event.sessionKey ?? ctx.sessionKey)));
    api.on("session_end", (event, ctx) => void hook("session-end", { ...about(event.sessionKey ?? ctx.sessionKey), reason: event.reason }));
    api.on("before_message_write", (event, ctx) => {
      if (!ctx.sessionKey) return;
      tellMessage(ctx.sessionKey, event.message);
      soon(ctx.sessionKey);
    });
    api.on("subagent_spawned", (event, ctx) => {
      const child = event.childSessionKey ?? ctx.childSessionKey;
      const parent = ctx.requesterSessionKey;
      if (!child || !parent) return;
      projects.set(child, projects.get(parent));
      const sent = hook("turn-end", about(parent));
      const started = sent.then(() => hook("subagent-start", { ...about(child), parentSessionKey: parent, title: event.label }));
      blocks.set(child, started.then((answer) => answer?.inject));
    });
    api.on("subagent_ended", (event, ctx) => {
      // A reset of the main session comes as this event too.
      if (event.targetKind !== "subagent") return;
      blocks.delete(event.targetSessionKey);
      void hook("subagent-stop", { sessionKey: event.targetSessionKey, parentSessionKey: ctx.requesterSessionKey, reason: event.outcome });
    });
    api.on("before_prompt_build", async (event, ctx) => {
      if (ctx.workspaceDir) projects.set(ctx.sessionKey, ctx.workspaceDir);
      const block = await blocks.get(ctx.sessionKey);
      return block ? { appendSystemContext: block } : undefined;
    });
    api.registerTool(
      (context) => ({
        name: "session_search",
        description: DESCRIPTION,
        parameters: {
          type: "object",
          properties: { query: { type: "string" }, sessionKey: { type: "string" } },
          required: ["query"],
        },
        async execute(_id, params) {
          const text = await searchText(params.query, params.sessionKey, context.sessionKey);
          return { content: [{ type: "text", text }], details: { text } };
        },
      }),
      { name: "session_search" },
    );
  },
};
`;
