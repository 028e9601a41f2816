/** Calls about instructions for agents in files. */
import * as z from "zod";
import { byName, justSession, method } from "../method.ts";
import { flag, lazy, type Of, strings, text } from "../schema.ts";

export const InstructionSource = lazy(() =>
  z.object({
    id: z.string(),
    label: z.string(),
    sourcePath: z.string(),
    content: z.string(),
    type: z.enum(["home", "repo", "model", "vscode", "nested-agents", "child-instructions", "plugin"]),
    location: z.enum(["user", "repository", "working-directory", "plugin"]),
    applyTo: strings().optional(),
    description: text(),
    defaultDisabled: flag(),
    projectPath: text(),
  }),
);
export type InstructionSource = Of<typeof InstructionSource>;

const sources = lazy(() => z.object({ sources: z.array(InstructionSource()) }));

export const INSTRUCTION_METHODS = byName(
  method("session.instructions.getSources", {
    summary: "The instruction files of the session, in the order in which they are read.",
    params: justSession,
    result: sources,
  }),
  method("instructions.discover", {
    summary: "The instruction files of folders, without a session.",
    params: () => z.object({ projectPaths: strings().optional(), excludeHostInstructions: flag() }),
    result: sources,
  }),
);
