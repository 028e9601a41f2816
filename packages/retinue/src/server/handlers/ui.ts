/** A question of a person to the model, beside the conversation. */
import { type Handlers, hosted } from "../handler.ts";
import { askBeside } from "../side-question.ts";

export const uiHandlers: Handlers = {
  "session.ui.ephemeralQuery": async (params, scope) => {
    const { tree, session } = hosted(params, scope);
    const answer = await askBeside(tree.main, params.question, scope);
    session.log.flush();
    return { answer };
  },
};
