/** Opening, driving and closing sessions. */
import { AppError, type OpenedSession } from "@retinue/protocol";
import { enqueue } from "../../host/enqueue.ts";
import type { HostedSession } from "../../host/hosted-session.ts";
import { type AbortReason, abort, interrupt, suspend } from "../../host/stopping.ts";
import { listedSessions } from "../../host/subconscious.ts";
import { sendTyped } from "../../modes/typed-line.ts";
import { notification } from "../../session/wording.ts";
import type { SessionRecord } from "../../store/store.ts";
import { wireEvents } from "../../store/stored-event.ts";
import { type Handlers, hosted } from "../handler.ts";

export const sessionHandlers: Handlers = {
  "session.create": async (params, { client, sessions }) => opened(await sessions.create(client, params)),
  "session.resume": async (params, { client, sessions }) => opened(await sessions.resume(client, params)),

  "session.detach": async ({ sessionId }, { client, sessions }) => {
    await sessions.leave(client, { id: sessionId });
    return { success: true };
  },
  "session.destroy": async ({ sessionId }, { client, sessions }) => ({
    success: await sessions.leave(client, { id: sessionId }),
  }),
  "session.delete": async ({ sessionId }, { sessions }) =>
    (await sessions.delete(sessionId))
      ? { success: true }
      : { success: false, error: `Session file not found for ${sessionId}` },
  "session.shutdown": async ({ sessionId, type }, { sessions }) => {
    await sessions.get(sessionId).close({ type });
  },
  "session.suspend": async (params, scope) => await suspend(hosted(params, scope)),

  "session.send": async (params, scope) => {
    const target = hosted(params, scope);
    const { sessionId: _, mode, prepend, commands, traceparent: _t, tracestate: _s, wait: _w, ...message } = params;
    const order = { isImmediate: mode === "immediate", prepend };
    if (commands) return await sendTyped(target, message, { ...order, signal: scope.signal });
    const [messageId = ""] = await enqueue(target, [message], order);
    return { messageId };
  },
  "session.sendMessages": async (params, scope) => {
    const { messages, mode, prepend, agentMode, requestHeaders, responseFormat } = params;
    const all = messages.map((message) => ({ ...message, agentMode, requestHeaders, responseFormat }));
    return { messageIds: await enqueue(hosted(params, scope), all, { isImmediate: mode === "immediate", prepend }) };
  },
  "session.abort": async (params, scope) => {
    await abort(hosted(params, scope), abortReason(params.reason));
    return { success: true };
  },
  "session.interruptMainTurn": async (params, scope) => ({
    interrupted: await interrupt(hosted(params, scope), params),
  }),
  "session.cancelAllBackgroundAgents": async (params, scope) => {
    const { registry } = hosted(params, scope).tasks;
    const running = registry.records
      .list()
      .filter((record) => record.mode === "background" && registry.executorOf(record).traits.isAddressable);
    const ended = await Promise.all(running.map(({ id }) => registry.cancel(id)));
    return ended.filter(Boolean).length;
  },
  "session.sendSystemNotification": async (params, scope) => {
    const { session, runner } = hosted(params, scope);
    const cause = params.kind ?? { type: "unclassified" };
    const content = notification(params.message);
    await session.inbox.receive([{ kind: "notice", id: session.world.newId(), content, cause }]);
    runner.wake();
    return null;
  },
  "session.log": (params, scope) => {
    const { session } = hosted(params, scope);
    const { message, level = "info", type = "notification", ephemeral = false, url, tip } = params;
    const more = { message, ...(url ? { url } : {}) };
    const event =
      level === "error"
        ? session.append("session.error", { errorType: type, ...more }, { ephemeral })
        : level === "warning"
          ? session.append("session.warning", { warningType: type, ...more }, { ephemeral })
          : session.append("session.info", { infoType: type, ...more, ...(tip ? { tip } : {}) }, { ephemeral });
    return { eventId: event.id };
  },

  "session.getMessages": async ({ sessionId }, { sessions }) => {
    await sessions.find(sessionId)?.session.log.committed();
    const record = await sessions.store.sessions.get(sessionId);
    if (!record || record.parentId) throw new AppError("session_not_found", `Session not found: ${sessionId}`);
    const events = await sessions.store.events.read(sessionId);
    return { events: wireEvents(events) };
  },
  "session.list": async ({ filter }, { sessions }) => ({
    sessions: (await listedSessions(sessions.store, filter)).map(listing),
  }),
  "session.getMetadata": async ({ sessionId }, { sessions }) => {
    const record = await sessions.store.sessions.get(sessionId);
    return record && !record.parentId ? { session: listing(record) } : {};
  },
  "session.getLastId": async (_, { sessions }) => {
    const [last] = await listedSessions(sessions.store);
    return last ? { sessionId: last.id } : {};
  },
  "session.getForeground": () => ({}),
  "session.setForeground": () => ({
    success: false,
    error: "Not running in TUI+server mode - no foreground session change handler registered",
  }),
};

export function listing(record: SessionRecord) {
  const { id, cwd, gitRoot, repository, branch, name, summary, clientName, createdAt, updatedAt } = record;
  return {
    sessionId: id,
    startTime: new Date(createdAt).toISOString(),
    modifiedTime: new Date(updatedAt).toISOString(),
    ...(summary ? { summary } : {}),
    ...(name ? { name } : {}),
    ...(clientName ? { clientName } : {}),
    isRemote: false,
    isDetached: false,
    context: {
      cwd,
      ...(gitRoot ? { gitRoot } : {}),
      ...(repository ? { repository } : {}),
      ...(branch ? { branch } : {}),
    },
  };
}

function opened({ session, tree }: HostedSession): OpenedSession {
  return {
    sessionId: session.id,
    nativeSessionId: session.id,
    startTime: session.state.startTime,
    isRemote: false,
    mode: session.state.mode,
    workspacePath: session.place.folder,
    capabilities: {
      ui: { elicitation: tree.participants.can("requestElicitation"), mcpApps: false, canvases: false },
      extensions: false,
    },
    modelState: { modelId: session.state.model },
  };
}

const ABORT_REASONS: readonly AbortReason[] = [
  "user_initiated",
  "remote_command",
  "user_abort",
  "autopilot_credit_limit",
];

function abortReason(reason: string | undefined): AbortReason {
  return ABORT_REASONS.find((each) => each === reason) ?? "user_initiated";
}
