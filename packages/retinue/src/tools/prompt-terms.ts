/** Which tools the terms of a prompt leave. What the terms are, and how long they hold, is in session/current-prompt.ts. */
import type { PromptTerms } from "@retinue/protocol";

/** Autopilot ends with `task_complete`, so no terms take that away, whenever autopilot began. */
export const isWithinTerms = (tool: string, { tools }: Pick<PromptTerms, "tools">): boolean =>
  tool === "task_complete" || tools.some(({ name }) => name === tool);
