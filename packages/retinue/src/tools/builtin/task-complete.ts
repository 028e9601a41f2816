/** `task_complete`: ends a run in autopilot mode. */
import * as z from "zod";
import { defineTool, success, type Tool } from "../tool.ts";
import description from "./task-complete.md";

export const taskCompleteTool = (): Tool =>
  defineTool({
    name: "task_complete",
    description,
    input: () => z.object({ summary: z.string().describe("What was done.") }),
    readOnly: true,
    isTerminal: true,
    prepare: ({ summary }) => ({
      run: async () =>
        success(summary, { events: [{ type: "session.task_complete", data: { summary, success: true } }] }),
    }),
  });
