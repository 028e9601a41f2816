/**
 * Hooks of the host: their names in this SDK, and how inputs are translated from the wire.
 *
 * A hook that throws is reported. It counts as silent, unless `onError` says that the call is then denied.
 */
import { defined, type HookInput, type HookOutput, type HookType } from "@retinue/protocol";

/** The input that every hook gets, with the names of this SDK. */
type Shared = "timestamp" | "cwd" | "stop_hook_active" | "error";

export type HookEvent<Type extends HookType> = Omit<HookInput<Type>, Shared> & {
  readonly timestamp: Date;
  readonly workingDirectory: string;
} & (HookInput<Type> extends { stop_hook_active: boolean } ? { readonly stopHookActive: boolean } : unknown) &
  (Type extends "subagentStop" ? { readonly stopHookActive?: boolean } : unknown) &
  (HookInput<Type> extends { error?: unknown } ? { readonly error?: string } : unknown);

export interface HookInvocation {
  readonly sessionId: string;
  readonly childSessionId?: string | undefined;
  readonly agentName?: string | undefined;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook written as a statement returns nothing, and that is an answer.
type HookAnswer<Type extends HookType> = HookOutput<Type> | undefined | void;

export type HookHandler<Type extends HookType> = (
  input: HookEvent<Type>,
  invocation: HookInvocation,
) => HookAnswer<Type> | Promise<HookAnswer<Type>>;

/** `preToolUse` on the wire is `onPreToolUse` here, and so on. */
export type SessionHooks = { [Type in HookType as `on${Capitalize<Type>}`]?: HookHandler<Type> } & {
  /** `deny` makes hooks that are asked before a call its guards: when one fails or cannot be reached, the call is denied. Ours. */
  onError?: "ignore" | "deny";
};

/** Calls the hook for a wire request; undefined when there is none or it returns nothing. */
export async function invokeHook(
  hooks: SessionHooks,
  { hookType, input }: { hookType: string; input: Record<string, unknown> },
  invocation: HookInvocation,
): Promise<unknown> {
  const name = `on${hookType.charAt(0).toUpperCase()}${hookType.slice(1)}`;
  const handler = Object.hasOwn(hooks, name) ? Reflect.get(hooks, name) : undefined;
  return typeof handler === "function" ? await handler(hookEvent(input), invocation) : undefined;
}

function hookEvent({ cwd, timestamp, stop_hook_active, error, ...rest }: Record<string, unknown>): object {
  return defined({
    ...rest,
    workingDirectory: cwd,
    timestamp: new Date(typeof timestamp === "number" || typeof timestamp === "string" ? timestamp : Number.NaN),
    stopHookActive: stop_hook_active,
    error: error === undefined ? undefined : textOf(error),
  });
}

function textOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "message" in error) return String(error.message);
  return String(error);
}
