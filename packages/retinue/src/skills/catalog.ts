/**
 * All skills of a session by name, and which of them are switched on.
 *
 * Folders are read when the catalog opens and at `reload`; the text of a skill is read afresh whenever it is loaded. The first
 * folder that has a name wins, so what the host gives comes before the project, and the project before the user.
 */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { AppError, messageOf, type SkillInfo } from "@retinue/protocol";
import { type LoadedSkill, readSkill, type Skill } from "./skill.ts";

export interface SkillFolder {
  source: Skill["source"];
  path: string;
}

/** Where skills are looked for, first rank first. Relative folders of the host are under the working directory. */
export function skillFolders(options: {
  skillDirectories?: readonly string[];
  home: string;
  projectRoot: string;
  enableConfigDiscovery: boolean;
  pluginDirectories?: readonly string[];
}): SkillFolder[] {
  const given = options.skillDirectories ?? [];
  const plugins = options.pluginDirectories ?? [];
  const discovered: SkillFolder[] = [
    { source: "project", path: path.join(options.projectRoot, ".github/skills") },
    { source: "project", path: path.join(options.projectRoot, ".claude/skills") },
    { source: "personal-copilot", path: path.join(options.home, "skills") },
  ];
  return [
    ...given.map((folder): SkillFolder => ({ source: "custom", path: path.resolve(options.projectRoot, folder) })),
    ...plugins.map((folder): SkillFolder => ({ source: "plugin", path: path.join(folder, "skills") })),
    ...(options.enableConfigDiscovery ? discovered : []),
  ];
}

export class SkillCatalog {
  readonly #folders: readonly SkillFolder[];
  readonly #disabled: Set<string>;
  #skills = new Map<string, Skill>();
  #problems: { warnings: readonly string[]; errors: readonly string[] } = { warnings: [], errors: [] };
  #offered: readonly Skill[] | undefined;

  constructor(options: { folders: readonly SkillFolder[]; disabledSkills?: readonly string[] }) {
    this.#folders = options.folders;
    this.#disabled = new Set(options.disabledSkills);
    this.reload();
  }

  /** Reads the folders again. Returns what could not be used, with file and line. */
  reload(): { warnings: readonly string[]; errors: readonly string[] } {
    const warnings: string[] = [];
    const errors: string[] = [];
    this.#skills = new Map();
    for (const folder of this.#folders) {
      for (const file of skillFiles(folder.path)) this.#add(file, folder.source, { warnings, errors });
    }
    this.#problems = { warnings, errors };
    this.#offered = undefined;
    return this.#problems;
  }

  get problems(): { warnings: readonly string[]; errors: readonly string[] } {
    return this.#problems;
  }

  /** All of them, switched off or not, as clients see them. */
  list(): SkillInfo[] {
    return [...this.#skills.values()].map((skill) => ({
      name: skill.name,
      commandName: skill.name,
      description: skill.description,
      source: skill.source,
      userInvocable: skill.userInvocable,
      enabled: !this.#disabled.has(skill.name),
      path: skill.path,
      ...(skill.argumentHint !== undefined && { argumentHint: skill.argumentHint }),
    }));
  }

  /** What the model may load by itself. The array is the same one until something changes. */
  offered(): readonly Skill[] {
    this.#offered ??= [...this.#skills.values()].filter(
      (skill) => !skill.disableModelInvocation && !this.#disabled.has(skill.name),
    );
    return this.#offered;
  }

  enable(name: string): void {
    this.#require(name);
    this.#disabled.delete(name);
    this.#offered = undefined;
  }

  disable(name: string): void {
    this.#require(name);
    this.#disabled.add(name);
    this.#offered = undefined;
  }

  /** The text as it is now. A skill that is switched off is not there. */
  load(name: string): LoadedSkill {
    const skill = this.#require(name);
    if (this.#disabled.has(name)) throw notFound(name);
    return { ...readSkill(skill.path, skill.source), name };
  }

  #require(name: string): Skill {
    const skill = this.#skills.get(name);
    if (!skill) throw notFound(name);
    return skill;
  }

  #add(file: string, source: Skill["source"], problems: { warnings: string[]; errors: string[] }): void {
    try {
      const { content: _, ...skill } = readSkill(file, source);
      const first = this.#skills.get(skill.name);
      if (first) problems.warnings.push(`${file}: the name ${skill.name} is taken by ${first.path}`);
      else this.#skills.set(skill.name, skill);
    } catch (error) {
      problems.errors.push(messageOf(error));
    }
  }
}

function notFound(name: string): AppError {
  return new AppError("invalid_params", `Skill not found: ${name}`);
}

/** `folder` is a folder of skills, or a skill itself. */
function skillFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const own = path.join(folder, "SKILL.md");
  const below = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map((entry) => path.join(folder, entry.name, "SKILL.md"))
    .sort();
  return [own, ...below].filter((file) => existsSync(file));
}
