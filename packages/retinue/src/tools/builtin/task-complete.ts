/**
 * `task_complete`: the model says in autopilot that the task is done, which ends the run.
 *
 * Its event is made from how the call ended, whatever ended it: only a call that succeeded is a completion.
 */
import * as z from "zod";
import { defineTool, type EndEvents, type Outcome, success, type Tool } from "../tool.ts";
import description from "./task-complete.md";

const endEvents: EndEvents = (args, { resultType, text, error }) => {
  const summary = Summarised.safeParse(args).data?.summary;
  const data =
    resultType === "success"
      ? { summary, success: true }
      : { summary, success: false, outcome: outcomeOf(resultType), reason: error ?? text };
  return [{ type: "session.task_complete", data }];
};

/** Nothing that the model could do would change a rejection. */
const outcomeOf = (resultType: Outcome["resultType"]) =>
  resultType === "rejected" ? ("blocked" as const) : ("continue" as const);

const Summarised = z.object({ summary: z.string() });

export const taskCompleteTool = (): Tool =>
  defineTool({
    name: "task_complete",
    title: "Task complete",
    description,
    input: () => z.object({ summary: z.string().trim().min(1).describe("What was done.") }),
    readOnly: true,
    isTerminal: true,
    endEvents,
    prepare: ({ summary }, { services }) => ({
      run: async () => {
        const verdict = await services.gates?.(summary);
        if (!verdict || verdict.passed) return success(summary);
        return { resultType: verdict.isFinal ? "rejected" : "failure", text: verdict.words };
      },
    }),
  });
