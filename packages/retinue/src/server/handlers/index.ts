/** The table of handlers: every method that this runtime serves beyond the handshake. */
import type { Handlers } from "../handler.ts";
import { agentHandlers } from "./agents.ts";
import { askHandlers } from "./asks.ts";
import { sessionHandlers } from "./sessions.ts";

export const handlers: Handlers = {
  ...sessionHandlers,
  ...askHandlers,
  ...agentHandlers,
};
