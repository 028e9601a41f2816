/**
 * The hooks that a host can answer: the input of each, and what it may answer.
 *
 * Inputs are what `hooks.invoke` carries. What names an agent (`agentId` to `agentPathNames`) and `parentSessionId` are absent for the main agent.
 * Outputs are parsed leniently: a field of the wrong type is dropped, because a hook that answers nonsense counts as silent.
 */
import * as z from "zod";
import { AgentPath, AgentPathNames, json, jsonObject, lazy, type Of, open, text } from "./schema.ts";
import { ToolResultObject } from "./tool-result.ts";

const common = () => ({
  sessionId: z.string(),
  /** Milliseconds since 1970. */
  timestamp: z.number(),
  cwd: z.string(),
  /** The events of the session tree so far, as JSON lines. */
  transcriptPath: text(),
  /** Of a child session. */
  parentSessionId: text(),
  agentId: text(),
  agentName: text(),
  agentDisplayName: text(),
  agentDescription: text(),
  agentPath: AgentPath().optional(),
  agentPathNames: AgentPathNames().optional(),
});

/** Optional, and silently absent when it has the wrong type. */
const soft = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

const additionalContext = () => soft(z.string());
const call = () => ({ toolCallId: text(), mcpServerName: text(), mcpToolName: text() });
const block = () => ({ decision: soft(z.literal("block")), reason: soft(z.string()) });

type Common = ReturnType<typeof common>;
type WithCommon<Input> = Omit<Common, keyof Input> & Input;

interface Hook<Input extends z.ZodType, Output extends z.ZodType> {
  readonly input: () => Input;
  readonly output: () => Output;
  readonly summary: string;
}

function hook<Input extends z.core.$ZodShape, Output extends z.core.$ZodShape>(
  summary: string,
  shapes: { input: () => Input; output: () => Output },
): Hook<z.ZodObject<WithCommon<Input>, z.core.$strip>, z.ZodObject<Output, z.core.$strip>> {
  return {
    summary,
    input: lazy(() => open<WithCommon<Input>>({ ...common(), ...shapes.input() })),
    output: lazy(() => z.object(shapes.output())),
  };
}

export const HOOKS = {
  userPromptSubmitted: hook("A prompt was submitted; may change it, add context or refuse it.", {
    input: () => ({ prompt: z.string() }),
    output: () => ({
      ...block(),
      modifiedPrompt: soft(z.string()),
      additionalContext: additionalContext(),
      suppressOutput: soft(z.boolean()),
    }),
  }),
  userPromptTransformed: hook("The prompt is in its final form; may change what the model gets.", {
    input: () => ({ prompt: z.string(), transformedPrompt: z.string() }),
    output: () => ({ modifiedTransformedPrompt: soft(z.string()) }),
  }),
  sessionStart: hook("The first prompt of a session is about to run; may add context.", {
    input: () => ({ source: z.enum(["new", "resume", "startup"]), initialPrompt: text() }),
    output: () => ({ additionalContext: additionalContext(), modifiedConfig: soft(jsonObject()) }),
  }),
  preToolUse: hook("A call is about to run; may allow, deny, ask, or change its arguments.", {
    input: () => ({ toolName: z.string(), toolArgs: json(), ...call() }),
    output: () => ({
      permissionDecision: soft(z.enum(["allow", "deny", "ask"])),
      permissionDecisionReason: soft(z.string()),
      modifiedArgs: json().optional(),
      additionalContext: additionalContext(),
    }),
  }),
  postToolUse: hook("A call succeeded; may change the result or add context.", {
    input: () => ({ toolName: z.string(), toolArgs: json(), toolResult: ToolResultObject(), ...call() }),
    output: () => ({
      modifiedResult: soft(ToolResultObject()),
      additionalContext: additionalContext(),
      suppressOutput: soft(z.boolean()),
    }),
  }),
  postToolUseFailure: hook("A call failed; may add context.", {
    input: () => ({ toolName: z.string(), toolArgs: json(), error: z.string(), ...call() }),
    output: () => ({ additionalContext: additionalContext() }),
  }),
  preMcpToolCall: hook("A call goes to an MCP server; may set its metadata.", {
    input: () => ({
      toolCallId: z.string(),
      serverName: z.string(),
      toolName: z.string(),
      arguments: json(),
      _meta: jsonObject().optional(),
    }),
    output: () => ({ metaToUse: soft(jsonObject().nullable()) }),
  }),
  agentStop: hook("The main agent wants to stop; may send it on with a reason.", {
    input: () => ({
      stopReason: z.string(),
      transcriptPath: z.string(),
      stop_hook_active: z.boolean(),
      response: text(),
    }),
    output: block,
  }),
  subagentStart: hook("A sub-agent starts; may put context before its prompt, or refuse it.", {
    input: () => ({ agentName: z.string(), transcriptPath: z.string() }),
    output: () => ({ ...block(), additionalContext: additionalContext() }),
  }),
  subagentStop: hook("A sub-agent wants to stop; may send it on with a reason.", {
    input: () => ({
      agentName: z.string(),
      agentType: z.string(),
      agentId: z.string(),
      stopReason: z.string(),
      /** Absent from runtimes that do not tell. */
      stop_hook_active: z.boolean().optional(),
      response: z.string(),
      transcriptPath: z.string(),
    }),
    output: block,
  }),
  preCompact: hook("A history is about to become a summary; may refuse that.", {
    input: () => ({ trigger: z.enum(["manual", "auto"]), customInstructions: z.string() }),
    output: block,
  }),
  notification: hook("A person is needed, or background work has ended; nobody waits for the answer.", {
    input: () => ({ message: z.string(), title: text(), notification_type: z.string() }),
    output: () => ({}),
  }),
  errorOccurred: hook("Something went wrong in a run; for notice only.", {
    input: () => ({
      error: open({ name: z.string(), message: z.string(), stack: text() }),
      errorContext: z.string(),
      recoverable: z.boolean(),
    }),
    output: () => ({
      errorHandling: soft(z.string()),
      retryCount: soft(z.number()),
      userNotification: soft(z.string()),
    }),
  }),
  sessionEnd: hook("A run ended; for notice only.", {
    input: () => ({ reason: z.enum(["complete", "error"]), error: text() }),
    output: () => ({}),
  }),
} as const;

export type HookType = keyof typeof HOOKS;
export type HookInput<T extends HookType> = Of<(typeof HOOKS)[T]["input"]>;
export type HookOutput<T extends HookType> = Of<(typeof HOOKS)[T]["output"]>;

/** The output of a hook; undefined when it returned nothing that can be read. */
export function parseHookOutput<T extends HookType>(type: T, output: unknown): HookOutput<T> | undefined {
  const parsed = HOOKS[type].output().safeParse(output);
  return parsed.success ? (parsed.data as HookOutput<T>) : undefined;
}
