/**
 * One skill: a folder with a SKILL.md, whose text an agent gets when it needs it.
 *
 * Owns reading the file, within bounds, and the block in which the text reaches the model. Which skills there are is in catalog.ts.
 */
import path from "node:path";
import { AppError, type EventData, lazy, type SkillInfo } from "@retinue/protocol";
import * as z from "zod";
import { parseFrontMatter } from "../agents/front-matter.ts";
import { misspelt } from "../agents/unknown-keys.ts";
import { readWholeTextFile } from "../project/text-file.ts";

export interface Skill {
  name: string;
  description: string;
  source: SkillInfo["source"];
  /** Of the SKILL.md. */
  path: string;
  /** The real path of the project that the file must lie in. */
  within?: string;
  /** The plugin that it came with. */
  plugin?: string;
  allowedTools: readonly string[];
  userInvocable: boolean;
  /** true: only a person or an agent definition may load it. */
  disableModelInvocation: boolean;
  argumentHint?: string;
}

export interface LoadedSkill extends Skill {
  content: string;
}

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_CONTENT_CHARS = 100_000;

/** Entries may have brackets with blanks and commas in them. */
const list = lazy(() =>
  z.union([z.array(z.string()), z.string().transform((text) => text.match(/[^\s,()]+(?:\([^()]*\))?/g) ?? [])], {
    error: "expected names, as a list or with commas between them",
  }),
);
const head = lazy(() =>
  z.object({
    name: z.string().trim().min(1).optional(),
    description: z.string().default(""),
    "allowed-tools": list().default([]),
    "user-invocable": z.boolean().default(true),
    "disable-model-invocation": z.boolean().default(false),
    "argument-hint": z.string().optional(),
  }),
);

/** Reads a SKILL.md; the folder's name is used when the file gives none. Throws with file and line. */
export function readSkill(
  file: string,
  { source, within, plugin }: Pick<Skill, "source" | "within" | "plugin">,
  warn: (message: string) => void = () => undefined,
): LoadedSkill {
  const text = readWholeTextFile(file, { maxBytes: MAX_FILE_BYTES, within });
  if (text === undefined) throw new AppError("invalid_params", `${file} does not exist any more`);
  const { head: fields, body, data, lineOf } = parseFrontMatter(text, head(), { file });
  for (const { key, words } of misspelt(data, Object.keys(head().shape))) warn(`${file}:${lineOf([key])}: ${words}`);
  return {
    name: fields.name ?? path.basename(path.dirname(file)),
    description: fields.description,
    source,
    path: file,
    within,
    plugin,
    allowedTools: fields["allowed-tools"],
    userInvocable: fields["user-invocable"],
    disableModelInvocation: fields["disable-model-invocation"],
    argumentHint: fields["argument-hint"],
    content: bounded(body, file),
  };
}

/** What the model reads. Files that the skill mentions are under its base folder. */
export function skillContext(skill: LoadedSkill): string {
  const name = skill.name.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<skill-context name="${name}">\nBase folder of this skill: ${path.dirname(skill.path)}\n\n${skill.content}\n</skill-context>`;
}

/** The data of `skill.invoked`. */
export function invoked(
  skill: LoadedSkill,
  trigger: EventData<"skill.invoked">["trigger"],
): EventData<"skill.invoked"> {
  const { name, path: file, content, description, source, disableModelInvocation } = skill;
  return {
    name,
    path: file,
    content,
    description,
    source,
    trigger,
    allowedTools: [...skill.allowedTools],
    disableModelInvocation,
  };
}

function bounded(content: string, file: string): string {
  if (content.length <= MAX_CONTENT_CHARS) return content;
  return `${content.slice(0, MAX_CONTENT_CHARS)}\n\n[Cut after ${MAX_CONTENT_CHARS} characters. The rest is in ${file}.]`;
}
