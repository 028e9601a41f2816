/** What a prompt demands of its own interaction, beside its words: which tools the agent that reads it has, and how it may use them. */
import * as z from "zod";
import { lazy, type Of } from "./schema.ts";

/** One tool that is left, and its bounds. */
const ToolTerm = lazy(() =>
  z.object({
    name: z.string(),
    /** Arguments that have these values: put in when they are missing, and any other value is refused. */
    args: z.record(z.string(), z.string()).optional(),
    /** Folders in which the file of a call must be. */
    within: z.array(z.string()).optional(),
    /** How many calls the interaction may have, and how many of them one turn. */
    atMost: z.number().int().positive().optional(),
    atOnce: z.number().int().positive().optional(),
  }),
);
export type ToolTerm = Of<typeof ToolTerm>;

export const PromptTerms = lazy(() =>
  z.object({
    /** What set them, such as `/research`; for people and for the model. */
    name: z.string(),
    /** The agent has no other tools. Agents that it starts have their own. */
    tools: z.array(ToolTerm()),
    /** The file that should be there at the end. The user is told of it, or that it is missing. */
    report: z.string().optional(),
  }),
);
export type PromptTerms = Of<typeof PromptTerms>;
