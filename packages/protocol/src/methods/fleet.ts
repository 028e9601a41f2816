/** The call that sets a whole fleet of sub-agents to work. */
import * as z from "zod";
import { Attachments } from "../attachments.ts";
import { byName, method, ofSession } from "../method.ts";
import { flag, text } from "../schema.ts";

export const FLEET_METHODS = byName(
  method("session.fleet.start", {
    summary: "Asks the model to split the work over sub-agents.",
    params: () =>
      ofSession({
        prompt: text(),
        attachments: Attachments().optional(),
        wait: flag(),
      }),
    result: () => z.object({ started: z.boolean() }),
  }),
);
