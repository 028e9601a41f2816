/** Events of gates: each check of a claim to be done has a start and one end. Ours. */
import * as z from "zod";
import { byName } from "../method.ts";
import { count, flag, lazy, type Of, open, text } from "../schema.ts";
import { event } from "./event.ts";

const GateKind = lazy(() => z.enum(["command", "file", "schema", "hook"]));

export const GateOutcome = lazy(() =>
  open({
    kind: GateKind(),
    /** The command line, the path, or what else it is called by. */
    gate: z.string(),
    passed: z.boolean(),
    /** Why it failed. */
    problem: text(),
    exitCode: count(),
    /** The end of what the command printed. */
    output: text(),
    durationMs: z.number(),
    /** The model cannot mend it: nobody has allowed the command. */
    isBlocked: flag(),
  }),
);
export type GateOutcome = Of<typeof GateOutcome>;

export const GATE_EVENTS = byName(
  event("gate.started", {
    persisted: true,
    summary: "An agent says that it is done, and its gates are checked. Ours.",
    data: () =>
      open({ checkId: z.string(), attempt: z.number(), gates: z.array(open({ kind: GateKind(), gate: z.string() })) }),
  }),
  event("gate.completed", {
    persisted: true,
    summary: "What the gates came to. Ours.",
    data: () =>
      open({
        checkId: z.string(),
        attempt: z.number(),
        passed: z.boolean(),
        /** The check was stopped, or the process that ran it has ended. */
        cancelled: flag(),
        /** It is not sent back to the model any more: the run has failed. */
        isFinal: flag(),
        /** For the model; when it is final, for people. */
        message: text(),
        outcomes: z.array(GateOutcome()),
      }),
  }),
);
