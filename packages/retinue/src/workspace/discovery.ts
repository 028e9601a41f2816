/** Agents and skills of folders that nobody works in: what a session there would find if the folder were trusted. Nothing of it is used. */
import { resolve } from "node:path";
import type { AgentInfo, Result } from "@retinue/protocol";
import { agentInfo } from "../agents/agent-info.ts";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import { projectRootOf } from "../project/root.ts";
import { realPath } from "../real-path.ts";
import { SkillCatalog, skillFolders } from "../skills/catalog.ts";

interface Where {
  home: string;
  projectPaths?: readonly string[];
  /** Only what is in the projects. */
  isWithoutUser?: boolean;
}

export function discoverAgents({ home, projectPaths = [], isWithoutUser = false }: Where): AgentInfo[] {
  const user = isWithoutUser
    ? []
    : new AgentCatalog({ folders: agentFolders({ home, enableConfigDiscovery: true }) }).custom();
  const found = projectPaths.flatMap((given) =>
    new AgentCatalog({ folders: agentFolders({ home, project: projectAt(given) }) })
      .custom()
      .filter(({ source }) => source === "project"),
  );
  return [...user, ...found].map((agent) => agentInfo(agent));
}

export function discoverSkills({
  home,
  projectPaths = [],
  skillDirectories = [],
  isWithoutUser = false,
}: Where & { skillDirectories?: readonly string[] }): Result<"skills.discover"> {
  const at = (workingDirectory: string, project?: { folder: string; root: string }) =>
    new SkillCatalog({
      folders: skillFolders({ home, workingDirectory, skillDirectories, enableConfigDiscovery: true, project }),
    });
  const user = at(process.cwd());
  const ofUser = isWithoutUser ? [] : user.list();
  const projects = projectPaths.map((given) => ({ given, catalog: at(resolve(given), projectAt(given)) }));
  const ofProjects = projects.flatMap(({ given, catalog }) =>
    catalog.list().flatMap((skill) => (skill.source === "project" ? [{ ...skill, projectPath: given }] : [])),
  );
  // Errors may name files of the user, which whoever leaves these out must not see.
  const errors = isWithoutUser
    ? []
    : [user, ...projects.map(({ catalog }) => catalog)].flatMap(({ problems }) => problems.errors);
  return { skills: [...ofUser, ...ofProjects], errors: [...new Set(errors)] };
}

function projectAt(given: string): { folder: string; root: string } {
  const folder = realPath(resolve(given));
  return { folder, root: projectRootOf(folder) };
}
