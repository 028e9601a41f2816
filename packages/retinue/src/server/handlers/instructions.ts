/** Instructions for agents in files. */
import { followTrust } from "../../host/project-trust.ts";
import { discoverInstructions } from "../../workspace/instructions.ts";
import { type Handlers, hosted } from "../handler.ts";

export const instructionHandlers: Handlers = {
  "session.instructions.getSources": async (params, scope) => {
    const target = hosted(params, scope);
    // What the next prompt would have; while one runs, what that one has.
    if (!target.runner.isRunning) await followTrust(target);
    return { sources: target.tree.configuration.instructions.sources() };
  },
  // There are none of the user's, so nothing has to be left out for `excludeHostInstructions`.
  "instructions.discover": ({ projectPaths = [] }) => ({ sources: projectPaths.flatMap(discoverInstructions) }),
};
