/**
 * The one list of errors. The word is for people and `switch`, the number is for the wire.
 *
 * Runtimes of this protocol answer nearly every failure with -32603 and a text; the few other numbers are
 * the ones that clients check. docs/errors.md has a heading per code, and a test compares the two lists.
 */
export const ERRORS = {
  parse_error: { rpc: -32700, retry: false },
  invalid_request: { rpc: -32600, retry: false },
  method_not_found: { rpc: -32601, retry: false },
  invalid_params: { rpc: -32603, retry: false },
  internal: { rpc: -32603, retry: false },
  authentication_required: { rpc: -32001, retry: false },
  authentication_failed: { rpc: -32002, retry: false },
  authentication_not_configured: { rpc: -32003, retry: false },
  task_conflict: { rpc: -32012, retry: false },
  session_not_found: { rpc: -32603, retry: false },
  session_locked: { rpc: -32603, retry: true },
  lease_lost: { rpc: -32603, retry: false },
  session_invalid: { rpc: -32603, retry: false },
  store_unavailable: { rpc: -32603, retry: true },
  task_state: { rpc: -32603, retry: false },
  agent_not_found: { rpc: -32603, retry: false },
  spawn_refused: { rpc: -32603, retry: false },
  model_failed: { rpc: -32603, retry: true },
  not_configured: { rpc: -32603, retry: false },
  cancelled: { rpc: -32800, retry: false },
  connection_closed: { rpc: -32097, retry: true },
  unknown_session: { rpc: -32602, retry: false },
  version_mismatch: { rpc: -32603, retry: false },
  runtime_failed: { rpc: -32603, retry: true },
  turn_failed: { rpc: -32603, retry: false },
  answer_invalid: { rpc: -32603, retry: true },
  timed_out: { rpc: -32603, retry: true },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** An error that a person or a program must act on. What the model should read is an outcome, not an exception. */
export class AppError extends Error {
  override readonly name: string = "AppError";
  readonly code: ErrorCode;
  readonly data: unknown;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { data?: unknown }) {
    super(message, options);
    this.code = code;
    this.data = options?.data;
  }
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
