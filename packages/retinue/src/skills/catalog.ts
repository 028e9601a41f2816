/**
 * All skills of a session by name, and which of them are switched on.
 *
 * Folders are read when the catalog opens and at `reload`; the text of a skill is read afresh whenever it is loaded. The first
 * folder that has a name wins, so what the host gives comes before the user, and the user before the project.
 */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { AppError, defined, messageOf, type SkillInfo, visible } from "@retinue/protocol";
import { PLACES, userPlaces } from "../agents/catalog.ts";
import type { AgentDefinition } from "../agents/definition.ts";
import { fileStamp } from "../project/file-stamp.ts";
import { isThere, placesOf } from "../project/root.ts";
import { checkFolder } from "../project/text-file.ts";
import type { CommandFolder } from "./command-file.ts";
import { type LoadedSkill, readSkill, type Skill } from "./skill.ts";

export interface SkillFolder {
  source: Skill["source"];
  path: string;
  /** The real path of the project or plugin that the files must lie in. */
  within?: string;
  /** The name of the plugin. */
  plugin?: string;
}

const MAX_SKILLS = 100;
/** Folders that are looked into for a skill. */
const MAX_FOLDERS = 1000;

/** Where skills are looked for, first rank first. Relative folders of the host are under the working directory. */
export function skillFolders(options: {
  skillDirectories?: readonly string[];
  home: string;
  workingDirectory: string;
  enableConfigDiscovery: boolean;
  /** Given only where the host asks for files of the project and a person trusts it. */
  project?: { folder: string; root: string };
  /** Of plugins. */
  plugins?: readonly SkillFolder[];
}): SkillFolder[] {
  const { project, workingDirectory, home, enableConfigDiscovery } = options;
  const inside = (place: string) => path.resolve(place, "skills");
  const own = enableConfigDiscovery ? userPlaces(home, { withOthers: true }).reverse().map(inside) : [];
  const ofProject = (project ? placesOf(project).reverse() : []).flatMap((folder) =>
    [...PLACES].reverse().map((place) => inside(path.join(folder, place))),
  );
  return [
    ...(options.skillDirectories ?? []).map(
      (folder): SkillFolder => ({ source: "custom", path: path.resolve(workingDirectory, folder) }),
    ),
    ...own.map(
      (each): SkillFolder => ({ source: each === inside(home) ? "personal-copilot" : "personal-agents", path: each }),
    ),
    ...(options.plugins ?? []),
    ...ofProject
      .filter((each) => !own.includes(each)) // In ~ they are the user's.
      .map((each): SkillFolder => ({ source: "project", path: each, within: project?.root })),
  ];
}

export class SkillCatalog {
  readonly #folders: readonly SkillFolder[];
  readonly #disabled: Set<string>;
  #skills = new Map<string, Skill>();
  #problems: { warnings: readonly string[]; errors: readonly string[] } = { warnings: [], errors: [] };
  #offered: readonly Skill[] | undefined;
  #stamp = "";

  /** Where slash commands are, which are read when somebody looks for one. */
  readonly commands: readonly CommandFolder[];

  constructor(options: {
    folders: readonly SkillFolder[];
    disabledSkills?: readonly string[];
    commands?: readonly CommandFolder[];
  }) {
    this.#folders = options.folders;
    this.commands = options.commands ?? [];
    this.#disabled = new Set(options.disabledSkills);
    this.reload();
  }

  /** Reads the folders again. Returns what could not be used, with file and line. */
  reload(): { warnings: readonly string[]; errors: readonly string[] } {
    const warnings: string[] = [];
    const errors: string[] = [];
    this.#skills = new Map();
    this.#stamp = this.#stampNow();
    for (const folder of this.#folders) {
      for (const file of skillFiles(folder, errors)) this.#add(file, folder, { warnings, errors });
    }
    const given = [...this.#skills.values()].filter(({ allowedTools }) => allowedTools.length > 0);
    this.#problems = { warnings: [...warnings, ...allowingNothing(given)], errors };
    this.#offered = undefined;
    return this.#problems;
  }

  /** Reads the folders again if one of their skills has changed, come or gone. Returns whether it has read them. */
  follow(): boolean {
    if (this.#stampNow() === this.#stamp) return false;
    this.reload();
    return true;
  }

  #stampNow(): string {
    return fileStamp(this.#folders.flatMap((folder) => skillFiles(folder, [])));
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
      ...defined({ argumentHint: skill.argumentHint, pluginName: skill.plugin }),
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
    return { ...readSkill(skill.path, skill), name };
  }

  /** What an agent begins with. A skill that a file names and that is not there is left out; a program is refused before. */
  preload({ skills }: Pick<AgentDefinition, "skills">): LoadedSkill[] {
    return skills.filter((name) => this.#isOn(name)).map((name) => this.load(name));
  }

  /** The words that say which skills of an agent do not exist; undefined when all do. */
  unknownOf({ name, skills }: Pick<AgentDefinition, "name" | "skills">): string | undefined {
    const unknown = skills.filter((each) => !this.#isOn(each));
    if (unknown.length === 0) return undefined;
    const valid = [...this.#skills.keys()].filter((each) => this.#isOn(each)).sort();
    return `Agent '${name}' names ${unknown.length === 1 ? "a skill that does" : "skills that do"} not exist. Skill not found: ${unknown.join(", ")}. Valid skills are: ${valid.join(", ") || "none"}`;
  }

  #isOn(name: string): boolean {
    return this.#skills.has(name) && !this.#disabled.has(name);
  }

  #require(name: string): Skill {
    const skill = this.#skills.get(name);
    if (!skill) throw notFound(name);
    return skill;
  }

  /** A skill of a project or plugin must not even look like one that the user or the host has given. */
  #namedLike({ name, source }: Skill): Skill | undefined {
    if (!isOfOthers(source)) return this.#skills.get(name);
    return [...this.#skills.values()].find((each) => looksLike(each.name) === looksLike(name));
  }

  #add(file: string, folder: SkillFolder, problems: { warnings: string[]; errors: string[] }): void {
    try {
      const { content: _, ...skill } = readSkill(file, folder, (message) => problems.warnings.push(visible(message)));
      if (isOfOthers(skill.source) && visible(skill.name) !== skill.name)
        throw new AppError("invalid_params", `${file}: the name ${skill.name} has characters that cannot be seen`);
      const first = this.#namedLike(skill);
      if (first) problems.warnings.push(visible(`${file}: the name ${skill.name} is taken by ${first.path}`));
      else this.#skills.set(skill.name, skill);
    } catch (error) {
      problems.errors.push(visible(messageOf(error)));
    }
  }
}

/** Files can be written by an agent, so none of them gives a permission. */
function allowingNothing(skills: readonly Skill[]): string[] {
  const [first] = skills;
  if (!first) return [];
  const names = skills.map(({ name }) => name).join(", ");
  const [rule = ""] = first.allowedTools;
  return [
    visible(
      `allowed-tools of ${skills.length === 1 ? "the skill" : "the skills"} ${names} allows nothing here, since a file gives no permission. A rule does, such as --allow-tool '${rule}'`,
    ),
  ];
}

function notFound(name: string): AppError {
  return new AppError("invalid_params", `Skill not found: ${name}`);
}

const isOfOthers = (source: Skill["source"]): boolean => source === "project" || source === "plugin";

const looksLike = (name: string): string => name.normalize("NFKC").toLowerCase();

/** `folder` is a folder of skills, or a skill itself. */
function skillFiles({ path: folder, within }: SkillFolder, errors: string[]): string[] {
  if (!isThere(folder)) return [];
  try {
    checkFolder(folder, within);
    const own = path.join(folder, "SKILL.md");
    const folders = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map((entry) => path.join(folder, entry.name, "SKILL.md"))
      .sort();
    if (folders.length > MAX_FOLDERS)
      errors.push(visible(`${folder}: only the first ${MAX_FOLDERS} of ${folders.length} folders are looked into`));
    const below = folders.slice(0, MAX_FOLDERS).filter((file) => isThere(file) || isBrokenLink(path.dirname(file)));
    if (below.length > MAX_SKILLS)
      errors.push(visible(`${folder}: only the first ${MAX_SKILLS} of ${below.length} skills are read`));
    return [...(isThere(own) ? [own] : []), ...below.slice(0, MAX_SKILLS)];
  } catch (error) {
    errors.push(visible(messageOf(error))); // It is not a folder, or must not be read.
    return [];
  }
}

/** In a circle, or to nowhere: somebody meant a skill. */
const isBrokenLink = (folder: string): boolean => isThere(folder) && !existsSync(folder);
