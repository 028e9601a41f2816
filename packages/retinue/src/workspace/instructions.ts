/**
 * Instructions of a project for agents: AGENTS.md and similar files, from the repository and the folders that the host names.
 *
 * They are words for the model and need no trust, as little as any other file that it reads. But a repository must not be able to put other
 * files of the machine into the prompt, or to keep the session from starting.
 */
import { join } from "node:path";
import { messageOf, type SessionConfig, visible } from "@retinue/protocol";
import { projectRootOf } from "../project/root.ts";
import { readTextFile } from "../project/text-file.ts";
import { isBelowAny, realPath } from "../real-path.ts";

export interface Instructions {
  /** Without the files that a rule denies to read. Rules come later than the files are found. */
  text: (unreadable: readonly string[]) => string | undefined;
  /** Files that were refused or cut. */
  warnings: readonly string[];
}

interface Found {
  path: string;
  text: string;
}

const FILES = ["AGENTS.md", ".github/copilot-instructions.md", "CLAUDE.md"];
const MAX_BYTES = 120_000;
const MAX_CHARACTERS = 30_000;

/** Found only where the host allows it; `instructionDirectories` are always read. */
export function readInstructions(config: SessionConfig, cwd: string, gitRoot: string | undefined): Instructions {
  if (config.skipCustomInstructions) return { text: () => undefined, warnings: [] };
  const warnings: string[] = [];
  const discovered = config.enableConfigDiscovery ? [...new Set([gitRoot ?? cwd, cwd])] : [];
  const files = [
    ...discovered.map((folder) => firstOf(folder, warnings, projectRootOf(folder))),
    ...(config.instructionDirectories ?? []).map((folder) => firstOf(folder, warnings)),
  ].filter((file) => file !== undefined);
  const text = (unreadable: readonly string[]) => {
    const texts = files
      .filter(({ path }) => !isBelowAny(path, unreadable) && !isBelowAny(realPath(path), unreadable))
      .map((file) => `<instructions path="${file.path}">\n${file.text}\n</instructions>`);
    if (config.organizationCustomInstructions) texts.push(config.organizationCustomInstructions);
    return texts.length === 0 ? undefined : `# Instructions of this project\n\n${texts.join("\n\n")}`;
  };
  return { text, warnings };
}

/** The first file of a folder that can be read. */
function firstOf(folder: string, warnings: string[], within?: string): Found | undefined {
  for (const name of FILES) {
    const path = join(folder, name);
    try {
      const file = readTextFile(path, { maxBytes: MAX_BYTES, within });
      if (!file) continue;
      const text = file.text.slice(0, MAX_CHARACTERS);
      if (file.isCut || text.length < file.text.length)
        warnings.push(visible(`${path} is long: only its first ${MAX_CHARACTERS} characters count.`));
      return { path, text };
    } catch (error) {
      warnings.push(visible(`${messageOf(error)}.`));
    }
  }
  return undefined;
}
