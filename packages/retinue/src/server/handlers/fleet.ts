/** The call that sets a fleet of sub-agents to work: one prepared prompt, and the model does the rest with the task tool. */
import { type Handlers, hosted } from "../handler.ts";
import { fleetPrompt, fleetTitle } from "../slash-commands.ts";
import { enqueue } from "./sessions.ts";

export const fleetHandlers: Handlers = {
  "session.fleet.start": async (params, scope) => {
    const target = hosted(params, scope);
    const { prompt = "", attachments, wait = false } = params;
    enqueue(target, [{ prompt: fleetPrompt(prompt), displayPrompt: fleetTitle(prompt), attachments }], {});
    if (wait) {
      await target.runner.ended();
      target.session.log.flush();
    }
    return { started: true };
  },
};
