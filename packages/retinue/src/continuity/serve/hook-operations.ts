/** The hook API: what connectors and other harnesses post. */
import { CallInput, HookInput } from "../ingest/hook-input.ts";
import { onSessionEnd, onSessionStart, onSubagentStart, onSubagentStop, onToolCall, onTurns } from "../ingest/hooks.ts";
import { operation } from "./operation.ts";

const hook = { method: "POST", input: HookInput } as const;

export const hookOperations = [
  operation({
    ...hook,
    name: "hook_session_start",
    path: "/api/hooks/session-start",
    summary: "A session starts or goes on. A child session is answered with the inherit block.",
    run: onSessionStart,
  }),
  operation({
    ...hook,
    name: "hook_user_prompt_submit",
    path: "/api/hooks/user-prompt-submit",
    summary: "The user has sent a prompt.",
    run: onTurns,
  }),
  operation({
    ...hook,
    name: "hook_turn_end",
    path: "/api/hooks/turn-end",
    summary: "The agent has answered, or has new turns.",
    run: onTurns,
  }),
  operation({
    ...hook,
    name: "hook_session_end",
    path: "/api/hooks/session-end",
    summary: "A session ends.",
    run: onSessionEnd,
  }),
  operation({
    ...hook,
    name: "hook_subagent_start",
    path: "/api/hooks/subagent-start",
    summary: "A sub-agent starts; the answer has its inherit block.",
    run: onSubagentStart,
  }),
  operation({
    ...hook,
    name: "hook_subagent_stop",
    path: "/api/hooks/subagent-stop",
    summary: "A sub-agent ends.",
    run: onSubagentStop,
  }),
  operation({
    method: "POST",
    input: CallInput,
    name: "hook_tool_call",
    path: "/api/hooks/tool-call",
    summary:
      "A call that starts a sub-agent or searches begins or ends. Later signals without a name are matched with it.",
    run: onToolCall,
  }),
];
