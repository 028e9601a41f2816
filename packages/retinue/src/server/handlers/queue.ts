/** Waiting prompts and commands. */
import { AppError, type QueueItem } from "@retinue/protocol";
import type { HostedSession } from "../../host/hosted-session.ts";
import { commandQueue } from "../../modes/command-queue.ts";
import type { Prompt } from "../../session/inbox.ts";
import { type Handlers, hosted } from "../handler.ts";

export const queueHandlers: Handlers = {
  "session.queue.pendingItems": (params, scope) => {
    const target = hosted(params, scope);
    const { queue, steering } = target.session.inbox;
    return {
      items: [...queue.map((prompt) => itemOf(target, prompt)), ...commandQueue(target).items],
      steeringMessages: steering.map(({ displayPrompt, prompt }) => displayPrompt ?? prompt),
      inFlightSteeringCount: 0,
    };
  },
  "session.queue.removeMostRecent": (params, scope) => {
    const target = hosted(params, scope);
    const { inbox } = target.session;
    const last = inbox.steering.at(-1) ?? inbox.queue.at(-1);
    const removed = commandQueue(target).removeLast() || (last !== undefined && inbox.edits.remove(last.id));
    return { removed: changed(target, removed) };
  },
  "session.queue.clear": (params, scope) => {
    const target = hosted(params, scope);
    target.session.inbox.clear();
    commandQueue(target).clear();
    changed(target, true);
  },
  "session.queue.removeAt": (params, scope) => {
    const target = hosted(params, scope);
    const removed = target.session.inbox.edits.remove(params.id) || commandQueue(target).remove(params.id);
    return { removed: changed(target, removed) };
  },
  "session.queue.moveItem": (params, scope) => {
    const target = hosted(params, scope);
    return { changed: changed(target, target.session.inbox.edits.move(params.id, params.toPosition)) };
  },
  "session.queue.insertAt": async (params, scope) => ({
    id: await insert(hosted(params, scope), params.message, Math.max(0, params.position)),
  }),
  "session.queue.duplicateAt": async (params, scope) => {
    const target = hosted(params, scope);
    const { queue } = target.session.inbox;
    const at = queue.findIndex(({ id }) => id === params.id);
    const original = queue[at];
    if (!original) throw new AppError("invalid_params", `Queue item not found: ${params.id}`);
    const { kind: _, id: _id, messageId: _message, ...message } = original;
    return { id: await insert(target, message, at + 1) };
  },
  "session.queue.updateText": (params, scope) => {
    const target = hosted(params, scope);
    const { id, prompt, displayPrompt } = params;
    return { updated: changed(target, target.session.inbox.edits.update(id, { prompt, displayPrompt })) };
  },
  "session.queue.sendNow": (params, scope) => {
    const target = hosted(params, scope);
    const steered = changed(target, target.session.inbox.edits.update(params.id, { isSteering: true }));
    target.runner.wake();
    return { steered };
  },
  "session.queue.setDrainPaused": (params, scope) => {
    const { session, runner } = hosted(params, scope);
    session.inbox.edits.setPaused(params.paused);
    runner.wake();
  },
};

type NewPrompt = Omit<Prompt, "kind" | "id" | "messageId">;

async function insert(target: HostedSession, message: NewPrompt, at: number): Promise<string> {
  const { inbox, world } = target.session;
  const prompt: Prompt = { kind: "prompt", id: world.newId(), messageId: world.newId(), ...message };
  await inbox.receive([prompt], { at });
  changed(target, true);
  target.runner.wake();
  return prompt.id;
}

function itemOf({ session }: HostedSession, { id, messageId, displayPrompt, prompt, agentMode }: Prompt): QueueItem {
  return {
    id,
    messageId,
    kind: "message",
    displayText: displayPrompt ?? prompt,
    agentMode: agentMode ?? session.state.mode,
  };
}

function changed({ session }: HostedSession, isChanged: boolean): boolean {
  if (isChanged) session.announce("pending_messages.modified", {});
  return isChanged;
}
