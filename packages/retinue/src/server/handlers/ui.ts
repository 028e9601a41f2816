/** A person's side question to the model. */

import { askBeside } from "../../modes/side-question.ts";
import { type Handlers, hosted } from "../handler.ts";

export const uiHandlers: Handlers = {
  "session.ui.ephemeralQuery": async (params, scope) => {
    const { main } = hosted(params, scope);
    return { answer: await askBeside(main, params.question, scope) };
  },
};
