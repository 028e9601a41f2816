/**
 * Tools that run in the host program: how they are declared, called, and what their results become.
 *
 * Owns the shapes of a call and its result. Who may call a tool is decided before, in requests.ts and broadcast.ts.
 */
import { type HostToolSpec, messageOf, type ToolResultObject } from "@retinue/protocol";

/** A zod schema, or anything else that can describe itself as JSON Schema and check a value. */
export interface ZodSchema<T = unknown> {
  readonly _output: T;
  toJSONSchema(): Record<string, unknown>;
  safeParse?(value: unknown): { success: true; data: T } | { success: false; error: { message: string } };
}

export interface ToolInvocation {
  /** The session whose handlers answer; for a sub-agent's call this is the session at the top. */
  readonly sessionId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: unknown;
  /** Set when a sub-agent makes the call. */
  readonly childSessionId?: string | undefined;
  readonly agentName?: string | undefined;
  /** The call was offered before: to another client, or by a runtime that has ended since. It may have run already. */
  readonly isRepeat?: boolean | undefined;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Aborted when the call is settled elsewhere, the session ends or the connection is gone. */
  readonly signal: AbortSignal;
}

export type ToolHandler<Args = unknown> = (args: Args, invocation: ToolInvocation) => unknown;

export interface ToolConfig<Args = unknown> {
  description?: string;
  /** zod or JSON Schema. With zod the handler gets parsed arguments; arguments that do not fit never reach it. */
  parameters?: ZodSchema<Args> | Record<string, unknown>;
  /** Without a handler the call is answered by hand, or by another client. */
  handler?: ToolHandler<Args>;
  overridesBuiltInTool?: boolean;
  skipPermission?: boolean;
  defer?: "auto" | "never";
  metadata?: Record<string, unknown>;
  isTerminal?: boolean;
}

export interface Tool<Args = unknown> extends ToolConfig<Args> {
  name: string;
}

/** A tool of any argument type. */
// biome-ignore lint/suspicious/noExplicitAny: a list of tools with different arguments has no other type.
export type AnyTool = Tool<any>;

export function defineTool<Args = unknown>(name: string, config: ToolConfig<Args>): Tool<Args> {
  return { ...config, name };
}

/** What the runtime knows about a tool. */
export function toolSpec({ handler: _handler, parameters, ...spec }: AnyTool): HostToolSpec {
  return parameters === undefined ? spec : { ...spec, parameters: jsonSchemaOf(parameters) };
}

function jsonSchemaOf(parameters: ZodSchema | Record<string, unknown>): Record<string, unknown> {
  if (!isZod(parameters)) return parameters;
  const { $schema: _dialect, ...schema } = parameters.toJSONSchema();
  return schema;
}

function isZod(parameters: ZodSchema | Record<string, unknown>): parameters is ZodSchema {
  return "toJSONSchema" in parameters && typeof parameters.toJSONSchema === "function";
}

/** What the model reads when its caller may not use a tool, or the tool does not exist. */
export function unsupportedTool(name: string): ToolResultObject {
  const text = `Tool '${name}' is not supported by this client instance.`;
  return { textResultForLlm: text, resultType: "failure", error: text };
}

export type ToolOutcome = { readonly result: string | ToolResultObject } | { readonly error: string };

/** Runs a handler; whatever it returns or throws becomes an outcome. */
export async function runTool(tool: AnyTool, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { handler, parameters } = tool;
  if (!handler) return { result: unsupportedTool(tool.name) };
  try {
    const parsed = parameters && isZod(parameters) ? parameters.safeParse?.(invocation.arguments) : undefined;
    if (parsed?.success === false) return { result: badArguments(tool.name, parsed.error.message) };
    return { result: toolResult(await handler(parsed ? parsed.data : invocation.arguments, invocation)) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function badArguments(name: string, reason: string): ToolResultObject {
  return {
    textResultForLlm: `The arguments of ${name} do not fit its schema: ${reason}`,
    resultType: "failure",
    error: reason,
  };
}

/** Nothing is an empty text, a result object stays as it is, any other value is its JSON. */
export function toolResult(value: unknown): string | ToolResultObject {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (isResultObject(value)) return value;
  return JSON.stringify(value) ?? "";
}

function isResultObject(value: unknown): value is ToolResultObject {
  if (typeof value !== "object" || value === null) return false;
  return "textResultForLlm" in value && typeof value.textResultForLlm === "string" && "resultType" in value;
}

/** Protocol 2 expects an object in every case; the model does not see what was thrown. */
export function resultForV2(outcome: ToolOutcome): ToolResultObject {
  if ("error" in outcome) {
    const text = "The tool failed. Its error is not shown here.";
    return { textResultForLlm: text, resultType: "failure", error: outcome.error, toolTelemetry: {} };
  }
  const { result } = outcome;
  if (typeof result !== "string") return { toolTelemetry: {}, ...result };
  return { textResultForLlm: result, resultType: "success", toolTelemetry: {} };
}
