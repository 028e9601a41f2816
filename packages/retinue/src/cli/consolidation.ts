/** Prompt mode in a process that consolidates a closed session: within its bounds, and with its end on record. */
import { messageOf } from "@retinue/protocol";
import { beginConsolidation, type ConsolidatingProcess, endConsolidation } from "../host/consolidating-process.ts";
import type { CliContext } from "./cli-context.ts";
import { openOwnRuntime } from "./own-runtime.ts";

/** Added to the time, after which the process is ended whatever it does. */
const LAST_MS = 5000;

/** Resolves with the exit code of the work. */
export async function consolidating(
  { home }: { home?: string },
  { env, terminal }: CliContext,
  work: (bounds: ConsolidatingProcess) => Promise<number>,
): Promise<number> {
  const withStore = async <T>(use: (own: ReturnType<typeof openOwnRuntime>["runtime"]) => Promise<T>) => {
    await using own = openOwnRuntime({ env, home });
    return await use(own.runtime);
  };
  const begun = await withStore(({ sessions, config }) => beginConsolidation(sessions.store, config, Date.now()));
  if ("refusal" in begun) {
    terminal.note(`retinue: ${begun.refusal}`);
    return 1;
  }
  const record = (how: "done" | "failed" | "stopped", words: string) =>
    withStore(async ({ sessions, config }) => {
      const { sessionId } = begun.config;
      await sessions.delete(sessionId).catch((error: unknown) => {
        terminal.note(`retinue: session ${sessionId} could not be deleted: ${messageOf(error)}`); // Its end is recorded all the same.
      });
      await endConsolidation(sessions.store, config, { how, words, at: Date.now() });
    });
  const late = setTimeout(
    () => {
      setTimeout(() => process.kill(process.pid, "SIGKILL"), LAST_MS);
      void record("stopped", "Its time was up.").finally(() => process.exit(1));
    },
    Math.max(0, begun.until - Date.now()),
  );
  try {
    const code = await work(begun);
    await record(code === 0 ? "done" : "failed", code === 0 ? "" : `It ended with code ${code}.`);
    return code;
  } catch (error) {
    await record("failed", messageOf(error));
    throw error;
  } finally {
    clearTimeout(late);
  }
}
