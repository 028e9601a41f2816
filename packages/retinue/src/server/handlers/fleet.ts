/** Starting a fleet of sub-agents: one prepared prompt, and the model does the rest with the task tool. */

import { enqueue } from "../../host/enqueue.ts";
import { fleetPrompt, fleetTitle } from "../../modes/start-fleet.ts";
import { type Handlers, hosted } from "../handler.ts";

export const fleetHandlers: Handlers = {
  "session.fleet.start": async (params, scope) => {
    const target = hosted(params, scope);
    const { prompt = "", attachments, wait = false } = params;
    await enqueue(target, [{ prompt: fleetPrompt(prompt), displayPrompt: fleetTitle(prompt), attachments }], {});
    if (wait) await target.runner.ended();
    return { started: true };
  },
};
