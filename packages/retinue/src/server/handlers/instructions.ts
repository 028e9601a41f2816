/** Instructions for agents in files. */
import { discoverInstructions } from "../../workspace/instructions.ts";
import { type Handlers, hosted } from "../handler.ts";

export const instructionHandlers: Handlers = {
  "session.instructions.getSources": (params, scope) => ({
    sources: hosted(params, scope).tree.configuration.instructions.sources(),
  }),
  // There are none of the user's, so nothing has to be left out for `excludeHostInstructions`.
  "instructions.discover": ({ projectPaths = [] }) => ({ sources: projectPaths.flatMap(discoverInstructions) }),
};
