/** The options of each command as the rest of the code reads them: what comes from the argument parser is checked here. */
import * as z from "zod";

const text = z.string().optional();
const words = z.array(z.string()).default([]);
const flag = z.boolean().default(false);

export const PromptFlags = z.object({
  prompt: text,
  home: text,
  model: text,
  provider: text,
  allowTool: words,
  denyTool: words,
  allowAllTools: flag,
  addDir: words,
  resume: text,
  continue: flag,
  agent: text,
  mode: z.enum(["interactive", "plan", "autopilot"]).optional(),
  reasoningEffort: text,
  stream: z.boolean().default(true),
  quiet: flag,
  outputFormat: z.enum(["text", "json"]).default("text"),
});

export const CommonFlags = z.object({ home: text, json: flag });
export type CommonFlags = z.infer<typeof CommonFlags>;

export const ListFlags = CommonFlags.extend({ all: flag, limit: z.coerce.number().int().positive().default(20) });
export const DeleteFlags = CommonFlags.extend({ yes: flag });
export const DoctorFlags = CommonFlags.extend({ provider: text });
export const WhyFlags = CommonFlags.extend({ allowTool: words, denyTool: words, allowAllTools: flag, addDir: words });
export const DemoFlags = z.object({ home: text, provider: text, model: text });
