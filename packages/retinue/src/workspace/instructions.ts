/** Instructions of a project for agents: AGENTS.md and similar files, from the repository and the folders that the host names. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionConfig } from "@retinue/protocol";
import { isBelowAny, isWithin, realPath } from "../real-path.ts";

const FILES = ["AGENTS.md", ".github/copilot-instructions.md", "CLAUDE.md"];
const MAX_CHARACTERS = 30_000;

/** The text without the files that a rule denies to read. Rules come later than the files are found. */
export type Instructions = (unreadable: readonly string[]) => string | undefined;

/** Found only where the host allows it; `instructionDirectories` are always read. */
export function readInstructions(config: SessionConfig, cwd: string, gitRoot: string | undefined): Instructions {
  if (config.skipCustomInstructions) return () => undefined;
  const found = config.enableConfigDiscovery ? [...new Set([gitRoot ?? cwd, cwd])].flatMap(ofProject(gitRoot)) : [];
  const named = (config.instructionDirectories ?? []).flatMap((folder) => firstOf(folder));
  const files = [...found, ...named].map((path) => ({
    path,
    text: readFileSync(path, "utf8").slice(0, MAX_CHARACTERS),
  }));
  return (unreadable) => {
    const texts = files
      .filter(({ path }) => !isBelowAny(path, unreadable) && !isBelowAny(realPath(path), unreadable))
      .map(({ path, text }) => `<instructions path="${path}">\n${text}\n</instructions>`);
    if (config.organizationCustomInstructions) texts.push(config.organizationCustomInstructions);
    return texts.length === 0 ? undefined : `# Instructions of this project\n\n${texts.join("\n\n")}`;
  };
}

/** A repository may hold a link to any file of the machine, and what is read here goes to the model: it must lead into the project. */
function ofProject(gitRoot: string | undefined): (folder: string) => string[] {
  return (folder) => firstOf(folder, (path) => isWithin(realPath(gitRoot ?? folder), realPath(path)));
}

function firstOf(folder: string, isWanted: (path: string) => boolean = () => true): string[] {
  return FILES.map((file) => join(folder, file))
    .filter((path) => existsSync(path) && isWanted(path))
    .slice(0, 1);
}
