/** Instructions of a project for agents: AGENTS.md and similar files, from the repository and the folders that the host names. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionConfig } from "@retinue/protocol";

const FILES = ["AGENTS.md", ".github/copilot-instructions.md", "CLAUDE.md"];
const MAX_CHARACTERS = 30_000;

/** Found only where the host allows it; `instructionDirectories` are always read. */
export function readInstructions(config: SessionConfig, cwd: string, gitRoot: string | undefined): string | undefined {
  if (config.skipCustomInstructions) return undefined;
  const folders = [
    ...(config.enableConfigDiscovery ? new Set([gitRoot ?? cwd, cwd]) : []),
    ...(config.instructionDirectories ?? []),
  ];
  const found = folders.flatMap((folder) =>
    FILES.map((file) => join(folder, file))
      .filter((path) => existsSync(path))
      .slice(0, 1),
  );
  const texts = found.map(
    (path) => `<instructions path="${path}">\n${readFileSync(path, "utf8").slice(0, MAX_CHARACTERS)}\n</instructions>`,
  );
  if (config.organizationCustomInstructions) texts.push(config.organizationCustomInstructions);
  return texts.length === 0 ? undefined : `# Instructions of this project\n\n${texts.join("\n\n")}`;
}
