/** Settings of continuity, under `memory.pipelineV2` of config.yaml in the home folder. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, lazy, messageOf } from "@retinue/protocol";
import { parse } from "yaml";
import * as z from "zod";

const Settings = lazy(() =>
  z.object({
    subagents: z
      .object({
        /** False: no inherit block; session_search stays. */
        inheritContext: z.boolean().default(true),
        tailChars: z.number().int().min(0).max(60_000).default(3_000),
      })
      .prefault({}),
    search: z
      .strictObject({
        /** True: an agent also finds what was said in other projects. */
        acrossProjects: z.boolean().default(false),
      })
      .prefault({}),
    /** Folders where other harnesses keep transcripts that their hooks may name. */
    transcriptRoots: z.record(z.string(), z.array(z.string())).default({}),
  }),
);

export type ContinuityConfig = z.output<ReturnType<typeof Settings>>;

const File = lazy(() =>
  z.object({ memory: z.object({ pipelineV2: Settings().prefault({}) }).prefault({}) }).prefault({}),
);

/** What an empty file means. */
export const DEFAULT_CONFIG: ContinuityConfig = {
  subagents: { inheritContext: true, tailChars: 3_000 },
  search: { acrossProjects: false },
  transcriptRoots: {},
};

export function parseConfig(value: unknown): ContinuityConfig {
  return File().parse(value ?? {}).memory.pipelineV2;
}

export function readConfig(home: string): ContinuityConfig {
  const path = join(home, "config.yaml");
  try {
    return parseConfig(parse(readFileSync(path, "utf8")));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return DEFAULT_CONFIG;
    throw new AppError("invalid_params", `${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** How much a child inherits from its parent. `fork` gives it the whole conversation; then there is no block. */
export const Inherit = lazy(() => z.union([z.enum(["none", "brief", "fork"]), z.string().regex(/^tail\(\d{1,5}\)$/)]));
export type Inherit = z.infer<ReturnType<typeof Inherit>>;

/** The characters of the tail, or undefined when there is no block to make. */
export function tailCharsOf(inherit: Inherit, { subagents }: ContinuityConfig): number | undefined {
  if (!subagents.inheritContext || inherit === "none" || inherit === "fork") return undefined;
  if (inherit === "brief") return subagents.tailChars;
  return Number(inherit.slice("tail(".length, -1));
}
