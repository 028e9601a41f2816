/** How long the main agent's run has worked, stored as a document: a run that is killed goes on with the time that it had left. */
import * as z from "zod";
import type { Session } from "../session/session.ts";
import { document } from "../store/document.ts";

/** By session; there is one only while a run with a time limit is under way, or parked. */
export const RUN_TIME = document("run-time", () => z.object({ workedMs: z.number().nonnegative() }));

/** Written with the next commit of the session. */
export function keepRunTime({ id, log }: Session, workedMs: number | undefined): void {
  log.changeDocument(workedMs === undefined ? RUN_TIME.remove(id) : RUN_TIME.put(id, { workedMs }));
}
