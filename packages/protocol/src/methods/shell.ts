/** Calls that run commands without the model. */
import * as z from "zod";
import { byName, method, ofSession } from "../method.ts";
import { count, text } from "../schema.ts";

export const SHELL_METHODS = byName(
  method("session.shell.exec", {
    summary: "Starts a command.",
    params: () => ofSession({ command: z.string(), cwd: text(), timeout: count() }),
    result: () => z.object({ processId: z.string() }),
  }),
  method("session.shell.kill", {
    summary: "Ends a command that was started so.",
    params: () => ofSession({ processId: z.string(), signal: z.enum(["SIGTERM", "SIGKILL", "SIGINT"]).optional() }),
    result: () => z.object({ killed: z.boolean() }),
  }),
  method("session.shell.executeUserRequested", {
    summary: "Runs a command for a person and adds it to the conversation.",
    params: () => ofSession({ requestId: z.string(), command: z.string() }),
    result: () =>
      z.object({
        toolCallId: z.string(),
        success: z.boolean(),
        output: z.string(),
        exitCode: z.number().nullish(),
        error: text(),
      }),
  }),
  method("session.shell.cancelUserRequested", {
    summary: "Stops such a command.",
    params: () => ofSession({ requestId: z.string() }),
    result: () => z.object({ cancelled: z.boolean() }),
  }),
);
