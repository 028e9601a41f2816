/** Gates: what must hold before an agent counts as done. Ours. */
import * as z from "zod";
import { jsonObject, lazy, type Of } from "./schema.ts";

const MAX_SECONDS = 24 * 3600;

/** For gates in agent files too. */
export const GATE_WORDS =
  "expected { command, timeoutSeconds? }, { file }, { schema } or { hook: true }, with no other field";

/** Strict: a misspelt key would be a gate that nobody checks. */
export const Gate = lazy(() =>
  z.union(
    [
      /** It must exit with 0, in the working folder of the session. */
      z.strictObject({
        command: z.string().trim().min(1),
        timeoutSeconds: z.number().positive().max(MAX_SECONDS).optional(),
      }),
      /** It must exist. A relative path must lead to a file in the working folder, also through links. */
      z.strictObject({ file: z.string().min(1) }),
      /** The answer must be JSON that fits this JSON Schema. */
      z.strictObject({ schema: jsonObject() }),
      /** The stop hook of the agent must not object. */
      z.strictObject({ hook: z.literal(true) }),
    ],
    { error: GATE_WORDS },
  ),
);
export type Gate = Of<typeof Gate>;

const MOST = 50;
export const Gates = lazy(() => z.array(Gate()).max(MOST));

/** How many times a gate that failed goes back to the model. */
export const MaxGateFailures = lazy(() => z.number().int().min(0).max(100));
