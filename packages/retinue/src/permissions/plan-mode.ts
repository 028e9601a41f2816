/**
 * What plan mode refuses, for every agent of a session and whatever rules, answers and hooks allow: changes outside the session's own folder.
 *
 * A pure function of one request. What a tool of the host does, only the host knows; it is asked as always, and told the mode.
 */
import type { PermissionRequest } from "@retinue/protocol";
import { isAllWithin, withTargets } from "./path-rules.ts";
import { changesSomething } from "./shell-rules.ts";

/** Why the call may not run in plan mode, in words that go on after "Plan mode:"; undefined when it may. */
export function planRefusal(
  request: PermissionRequest,
  { sessionFolder }: { sessionFolder: string },
): string | undefined {
  switch (request.kind) {
    case "write":
      return isAllWithin(withTargets([sessionFolder]), request)
        ? undefined
        : "files outside the session's own folder must not be changed";
    case "shell": {
      const reason = changesSomething(request);
      return reason && `only commands that are known to change nothing may run, and this line is not one: ${reason}`;
    }
    case "mcp":
      return request.readOnly
        ? undefined
        : `only tools that say that they change nothing may run, and the server ${request.serverName} does not say so of this one`;
    default:
      return undefined;
  }
}
