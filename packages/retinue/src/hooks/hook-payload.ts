/** What a command reads from its input: our own payload, or the one that Claude Code would send. */
import * as z from "zod";
import { modeNow } from "../session/mode-now.ts";
import type { Session } from "../session/session.ts";
import { claudeNameOf, toClaudeArgs } from "./claude-tools.ts";
import type { FileHook } from "./file-hook.ts";

export function payloadOf(hook: FileHook, { input, session }: { input: object; session: Session }): string {
  return JSON.stringify(hook.form === "own" ? input : claudePayload(hook, { input, session }));
}

const Input = z.looseObject({
  cwd: z.string().optional(),
  transcriptPath: z.string().optional(),
  agentId: z.string().optional(),
  agentName: z.string().optional(),
  toolName: z.string().optional(),
  toolArgs: z.unknown().optional(),
  toolCallId: z.string().optional(),
  toolResult: z.object({ textResultForLlm: z.string().optional() }).optional(),
});
type Input = z.infer<typeof Input>;

/** Inside a sub-agent its session is the root's, and `agent_id` says which sub-agent it is. */
function claudePayload(
  { event, eventName }: FileHook,
  { input: given, session }: { input: object; session: Session },
): object {
  const input = Input.parse(given);
  return {
    session_id: session.root.id,
    transcript_path: input.transcriptPath,
    cwd: input.cwd,
    hook_event_name: eventName,
    permission_mode: modeNow(session) === "plan" ? "plan" : "default",
    agent_id: input.agentId,
    agent_type: input.agentName,
    ...(DETAILS[event]?.(input) ?? {}),
  };
}

const call = (input: Input) => ({
  tool_name: claudeNameOf(input),
  tool_input: toClaudeArgs(input.toolName ?? "", input.toolArgs),
  tool_use_id: input.toolCallId,
});

const DETAILS: Readonly<Partial<Record<FileHook["event"], (input: Input) => object>>> = {
  sessionStart: ({ source, initialPrompt }) => ({
    source: source === "new" ? "startup" : source,
    initial_prompt: initialPrompt,
  }),
  sessionEnd: ({ reason }) => ({ reason: reason === "complete" ? "other" : reason }),
  userPromptSubmitted: ({ prompt }) => ({ prompt }),
  preToolUse: call,
  postToolUse: (input) => ({ ...call(input), tool_response: response(input) }),
  postToolUseFailure: (input) => ({ ...call(input), error: input.error, is_interrupt: false }),
  agentStop: ({ stop_hook_active, response: last }) => ({ stop_hook_active, last_assistant_message: last }),
  subagentStop: ({ stop_hook_active, response: last, transcriptPath }) => ({
    stop_hook_active,
    last_assistant_message: last,
    agent_transcript_path: transcriptPath,
  }),
  preCompact: ({ trigger, customInstructions }) => ({ trigger, custom_instructions: customInstructions || null }),
  notification: ({ message, title, notification_type }) => ({ message, title, notification_type }),
  errorOccurred: ({ error, errorContext, recoverable }) => ({ error, error_context: errorContext, recoverable }),
};

function response({ toolName, toolArgs, toolResult }: Input): object {
  const content = toolResult?.textResultForLlm ?? "";
  if (toolName === "bash") return { stdout: content, stderr: "", interrupted: false };
  const file = z.object({ path: z.string() }).safeParse(toolArgs);
  return { success: true, content, filePath: file.success ? file.data.path : undefined };
}
