/**
 * The plugin for OpenCode. Turns come from its events as they happen; a child is known by `session.created` with a parent.
 *
 * The block goes into the system prompt, which OpenCode does not store. session_search comes by MCP, which has no
 * caller; the plugin adds the session to the arguments of the call.
 */
import { pluginClient } from "./plugin-client.ts";

export function opencodePlugin({ home, program }: { home: string; program: readonly string[] }): string {
  return `${pluginClient({ home, program, harness: "opencode" })}\n${PLUGIN}`;
}

/** Plain JavaScript, which OpenCode loads as it is. */
const PLUGIN = `const SERVER = "retinue";

export const Retinue = async ({ client, directory }) => {
  const roles = new Map();
  const parents = new Map();
  const blocks = new Map();

  /** Who started a session; OpenCode is asked when the event was missed. */
  async function parentOf(sessionID) {
    if (!parents.has(sessionID)) {
      const found = await client.session.get({ path: { id: sessionID } }).catch(() => undefined);
      await catchUp(sessionID);
      begin(sessionID, found?.data?.parentID, found?.data?.title);
    }
    return parents.get(sessionID);
  }

  function begin(sessionID, parentID, title) {
    if (parents.has(sessionID)) return;
    parents.set(sessionID, parentID);
    if (!parentID) {
      void hook("session-start", { sessionKey: sessionID, project: directory });
      return;
    }
    // First what the parent has said until now, then the child.
    const sent = hook("turn-end", { sessionKey: parentID, project: directory });
    blocks.set(
      sessionID,
      sent.then(() => hook("subagent-start", { sessionKey: sessionID, parentSessionKey: parentID, project: directory, title })).then((answer) => answer?.inject),
    );
  }

  /** A session continued from an earlier run: sends all its turns; those that are known already are not stored again. */
  async function catchUp(sessionID) {
    const found = await client.session.messages?.({ path: { id: sessionID } }).catch(() => undefined);
    for (const { info, parts } of found?.data ?? []) {
      roles.set(info.id, info.role);
      for (const part of parts) onPart(part, info.time?.created);
    }
  }

  const timers = new Map();
  function soon(sessionID) {
    if (timers.has(sessionID)) return;
    timers.set(sessionID, setTimeout(() => {
      timers.delete(sessionID);
      void hook("turn-end", { sessionKey: sessionID, project: directory });
    }, 150));
    timers.get(sessionID).unref?.();
  }

  function onPart(part, at) {
    const role = roles.get(part.messageID) ?? "assistant";
    if (part.type === "text" && !part.synthetic && part.text && (role === "user" || part.time?.end)) {
      addTurn(part.sessionID, { id: part.id, role, text: part.text, at });
      soon(part.sessionID);
    }
    if (part.type !== "tool") return;
    const { status, input, output, error } = part.state;
    if (status !== "pending") addTurn(part.sessionID, { id: part.id + ":call", role: "assistant", tool: part.tool, callId: part.callID, text: JSON.stringify(input ?? {}), at });
    if (status === "completed" || status === "error") {
      addTurn(part.sessionID, { id: part.id + ":result", role: "tool", callId: part.callID, text: output || error || "(nothing)", at });
      soon(part.sessionID);
    }
  }

  return {
    config: async (config) => {
      config.mcp = { ...config.mcp, [SERVER]: { type: "local", command: [...PROGRAM, "mcp", "--home", HOME], enabled: true } };
    },
    event: async ({ event }) => {
      const { properties } = event;
      if (event.type === "session.created") begin(properties.info.id, properties.info.parentID, properties.info.title);
      if (event.type === "message.updated") {
        if (roles.size > 5000) roles.clear();
        roles.set(properties.info.id, properties.info.role);
      }
      if (event.type === "message.part.updated") onPart(properties.part, properties.time);
      if (event.type === "session.idle") {
        const parent = parents.get(properties.sessionID);
        await hook(parent ? "subagent-stop" : "turn-end", { sessionKey: properties.sessionID, parentSessionKey: parent, project: directory });
      }
    },
    "chat.message": async (input, output) => {
      await parentOf(input.sessionID);
      roles.set(output.message.id, "user");
      for (const part of output.parts) {
        if (part.type === "text" && !part.synthetic) addTurn(input.sessionID, { id: part.id, role: "user", text: part.text, at: Date.now() });
      }
      soon(input.sessionID);
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID || !(await parentOf(input.sessionID))) return;
      const block = await blocks.get(input.sessionID);
      if (block) output.system.push(block);
    },
    "tool.execute.before": async (input, output) => {
      if (input.tool === SERVER + "_session_search") output.args.currentSessionKey = input.sessionID;
    },
  };
};
`;
