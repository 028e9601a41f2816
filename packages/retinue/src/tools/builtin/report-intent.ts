/** `report_intent`: one line for whoever watches, on what the agent is about to do. */
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { defineTool, success, type Tool } from "../tool.ts";
import description from "./report-intent.md";

const MAX = 200;

const input = lazy(() =>
  z.object({ intent: z.string().min(1).describe("Two to five words, such as `Reading the tests`") }),
);

export const reportIntentTool = (): Tool =>
  defineTool({
    name: "report_intent",
    title: "Report intent",
    description,
    input,
    readOnly: true,
    prepare: ({ intent }, { announce }) => ({
      run: async () => {
        const line = intent.replace(/\s+/g, " ").trim();
        announce("assistant.intent", { intent: line.length > MAX ? `${line.slice(0, MAX - 1)}…` : line });
        return success("Shown.");
      },
    }),
  });
