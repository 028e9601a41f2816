/** Calls that change a session's options and name. */
import * as z from "zod";
import { byName, justSession, method, nothing, ofSession } from "../method.ts";
import { count, flag } from "../schema.ts";
import { CreateSession } from "../session-config.ts";

export const OPTION_METHODS = byName(
  method("session.options.update", {
    summary: "Changes options of an open session; what is left out stays.",
    params: () =>
      CreateSession().extend({
        sessionId: z.string(),
        coauthorEnabled: flag(),
        manageScheduleEnabled: flag(),
        installedPlugins: z.array(z.unknown()).optional(),
      }),
    result: () => z.object({ success: z.boolean(), pluginHookCount: count() }),
  }),
  method("session.name.get", {
    summary: "The name of the session.",
    params: justSession,
    result: () => z.object({ name: z.string().nullable() }),
  }),
  method("session.name.set", {
    summary: "Names the session.",
    params: () => ofSession({ name: z.string() }),
    result: nothing,
  }),
  method("session.name.setAuto", {
    summary: "Names the session unless a person has.",
    params: () => ofSession({ summary: z.string() }),
    result: () => z.object({ applied: z.boolean() }),
  }),
);
