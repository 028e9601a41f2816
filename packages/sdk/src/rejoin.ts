/** After a lost connection: opens it again, joins every session again, and delivers what was missed. */
import { AppError, type EventOf, type SessionEvent } from "@retinue/protocol";
import type { Attached } from "./attached.ts";
import { hasActiveWork } from "./history.ts";
import { registerForTokens } from "./mcp-auth.ts";
import { missedEvents, type ReconnectOptions, retrying, settledRequests } from "./reconnect.ts";
import { type Call, typedCall } from "./rpc.ts";
import type { Runtime } from "./runtime.ts";
import { configForWire } from "./session-config.ts";

export interface Rejoining {
  options: ReconnectOptions;
  signal: AbortSignal;
  lost: AppError;
  deliver(session: Attached, event: SessionEvent): void;
}

/** Rejects with the first loss when the runtime does not come back. */
export async function rejoin(runtime: Runtime, sessions: Attached[], { options, signal, lost, deliver }: Rejoining) {
  const call = typedCall((method, params, given) => runtime.call(method, params, given));
  const isBack = await retrying(
    async () => {
      for (const { received } of sessions) received.hold();
      await runtime.reopen();
      for (const session of sessions) await joinAgain(call, session);
      for (const session of sessions) await catchUp(call, session, deliver);
    },
    options,
    { signal, mayGoOn: () => runtime.canReopen },
  ).catch((cause: unknown) => {
    throw new AppError("connection_closed", lost.message, { cause });
  });
  if (!isBack) throw lost;
}

async function joinAgain(call: Call, attached: Attached): Promise<void> {
  const { sessionId, config, outage } = attached;
  const again = { ...config, suppressResumeEvent: true, continuePendingWork: true };
  await call("session.resume", { ...configForWire(again), sessionId });
  await registerForTokens(call, attached);
  outage.over(); // The runtime has recorded that we are back.
}

async function catchUp(call: Call, session: Attached, deliver: Rejoining["deliver"]): Promise<void> {
  const { sessionId, received } = session;
  const wasBusy = session.activity.isBusy;
  const missed = await missedEvents(call, sessionId, received);
  for (const requestId of settledRequests(missed)) session.taken.add(requestId);
  for (const event of received.release(missed)) deliver(session, event);
  // Where the runtime cannot say, `session.idle` will come by itself.
  if (wasBusy && session.activity.isBusy && (await hasActiveWork(call, sessionId)) === false) deliver(session, idle());
}

/** `session.idle` is not stored, so one that was missed is delivered again. */
function idle(): EventOf<"session.idle"> {
  const timestamp = new Date().toISOString();
  return { type: "session.idle", data: {}, id: crypto.randomUUID(), timestamp, parentId: null, ephemeral: true };
}
