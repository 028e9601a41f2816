/**
 * The command that a harness runs for each hook: reads the payload, prints the answer, is quick, and never fails.
 *
 * It asks the daemon. When there is none it does the work itself, on the same store, and starts one for the next time.
 */
import { messageOf } from "@retinue/protocol/errors";
import { claudeHook } from "../connectors/claude-code.ts";
import { codexHook } from "../connectors/codex.ts";
import type { HarnessHook, HookCall } from "../connectors/harness-hook.ts";
import { refuseLongFields } from "../connectors/hook-payload.ts";
import type { HookAnswer } from "../ingest/hook-input.ts";
import { fields, text } from "../ingest/readers/fields.ts";
import { askDaemon } from "./daemon-client.ts";
import { launchOnDemand } from "./daemon-process.ts";

const HOOKS: Readonly<Record<string, HarnessHook>> = { "claude-code": claudeHook, codex: codexHook };

export interface HookCommand {
  home: string;
  harness: string;
  /** The payload as it came on standard input. */
  input: string;
  program: readonly string[];
  env: NodeJS.ProcessEnv;
  /** Called with what went wrong; the harness does not see it. */
  onProblem: (problem: string) => void;
}

const DAEMON_MS = 1_500;

/** The text for standard output, or nothing. */
export async function runHook({
  home,
  harness,
  input,
  program,
  env,
  onProblem,
}: HookCommand): Promise<string | undefined> {
  try {
    const hook = HOOKS[harness];
    const payload = fields(JSON.parse(input));
    refuseLongFields(payload);
    const call = hook?.read(payload);
    if (!hook || !call) return undefined;
    const answer = hook.answer(await deliver({ home, call, program, env }), payload);
    return answer && JSON.stringify(answer);
  } catch (error) {
    onProblem(messageOf(error));
    return undefined;
  }
}

async function deliver({
  home,
  call,
  program,
  env,
}: {
  home: string;
  call: HookCall;
  program: readonly string[];
  env: NodeJS.ProcessEnv;
}): Promise<HookAnswer> {
  const path = `/api/hooks/${call.route}`;
  try {
    return toAnswer(await askDaemon({ home, method: "POST", path, body: call.body, timeoutMs: DAEMON_MS }));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "connection_closed")) throw error;
  }
  launchOnDemand({ home, program, env });
  return toAnswer(await onTheStore({ home, path, body: call.body, env }));
}

/** Loaded only when it is needed: most hooks find a daemon, and should cost little more than the process. */
async function onTheStore({
  home,
  path,
  body,
  env,
}: {
  home: string;
  path: string;
  body: object;
  env: NodeJS.ProcessEnv;
}): Promise<unknown> {
  const [{ openContinuity }, { hookOperations }, { OWNER }] = await Promise.all([
    import("./home.ts"),
    import("./hook-operations.ts"),
    import("../records/scope.ts"),
  ]);
  const continuity = openContinuity({ home, env });
  try {
    return await hookOperations.find((each) => each.path === path)?.call(continuity, OWNER, body);
  } finally {
    continuity.close();
  }
}

const toAnswer = (value: unknown): HookAnswer => ({ inject: text(fields(value).inject) });
