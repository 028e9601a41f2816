/** What a model may ask of session_search. Apart from the operation, which a session needs only once somebody searches. */
import { lazy } from "@retinue/protocol";
import * as z from "zod";

export const SearchTool = lazy(() =>
  z.object({
    query: z.string().min(1).describe("Words, a question, or a phrase in quotes."),
    sessionKey: z
      .string()
      .optional()
      .describe("Only this session. Default: the parent session when you are a sub-agent."),
    limit: z.number().int().min(1).max(50).optional(),
  }),
);
