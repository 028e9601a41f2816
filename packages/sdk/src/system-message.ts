/** The system message as a host configures it: text, or sections, some of which the host rewrites itself. */
import { isRecord } from "./questions.ts";

export type SectionTransform = (currentContent: string) => string | Promise<string>;

export interface SectionOverride {
  action: "replace" | "remove" | "append" | "prepend" | "preserve" | SectionTransform;
  content?: string;
}

export type SystemMessageConfig =
  | { mode?: "append"; content?: string }
  | { mode: "replace"; content: string }
  | { mode: "customize"; sections?: Record<string, SectionOverride>; content?: string };

export type SectionTransforms = ReadonlyMap<string, SectionTransform>;

export function transformsOf(config: SystemMessageConfig | undefined): SectionTransforms {
  if (config?.mode !== "customize") return new Map();
  return new Map(
    Object.entries(config.sections ?? {}).flatMap(([id, { action }]) =>
      typeof action === "function" ? [[id, action] as const] : [],
    ),
  );
}

/** Functions stay here; the runtime learns which sections to ask for. */
export function systemMessageForWire(config: SystemMessageConfig | undefined): object | undefined {
  if (config?.mode !== "customize" || !config.sections) return config;
  const sections = Object.entries(config.sections).map(([id, section]) => {
    const { action } = section;
    return [id, typeof action === "function" ? { action: "transform" } : section];
  });
  return { ...config, sections: Object.fromEntries(sections) };
}

/** Answers `systemMessage.transform`: every section comes back, changed where there is a function for it. */
export async function transformSections(
  transforms: SectionTransforms,
  sections: unknown,
  onError: (error: unknown) => void,
): Promise<{ sections: Record<string, { content: string }> }> {
  const given = Object.entries(isRecord(sections) ? sections : {});
  const done = given.map(async ([id, section]) => {
    const content = isRecord(section) && typeof section.content === "string" ? section.content : "";
    return [id, { content: await transformed(transforms.get(id), content, onError) }] as const;
  });
  return { sections: Object.fromEntries(await Promise.all(done)) };
}

async function transformed(
  transform: SectionTransform | undefined,
  content: string,
  onError: (error: unknown) => void,
): Promise<string> {
  if (!transform) return content;
  try {
    return await transform(content);
  } catch (error) {
    onError(error); // The section stays as it was: an unchanged section is better than no prompt.
    return content;
  }
}
