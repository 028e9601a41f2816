/** Agents and skills of folders that nobody works in: what a session there would find if the folder were trusted. Nothing of it is used. */
import { resolve } from "node:path";
import type { AgentInfo, Result } from "@retinue/protocol";
import type { AgentFolder } from "../agents/agent-files.ts";
import { agentInfo } from "../agents/agent-info.ts";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import type { RemoteAgents } from "../agents/remote-definitions.ts";
import { projectRootOf } from "../project/root.ts";
import { realPath } from "../real-path.ts";
import { SkillCatalog, type SkillFolder, skillFolders } from "../skills/catalog.ts";

interface Where {
  home: string;
  projectPaths?: readonly string[];
  /** Only what is in the projects. What else there is still takes names from it. */
  isWithoutUser?: boolean;
}

export function discoverAgents({
  home,
  projectPaths = [],
  isWithoutUser = false,
  plugins,
  remote,
}: Where & { plugins: readonly AgentFolder[]; remote: RemoteAgents }): AgentInfo[] {
  const at = (project?: { folder: string; root: string }) =>
    new AgentCatalog({ folders: agentFolders({ home, enableConfigDiscovery: true, project, plugins }), remote });
  const user = isWithoutUser ? [] : at().custom();
  const found = projectPaths.flatMap((given) =>
    at(projectAt(given))
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
  plugins,
}: Where & { skillDirectories?: readonly string[]; plugins: readonly SkillFolder[] }): Result<"skills.discover"> {
  const at = (workingDirectory: string, project?: { folder: string; root: string }) =>
    new SkillCatalog({
      folders: skillFolders({
        home,
        workingDirectory,
        skillDirectories,
        enableConfigDiscovery: true,
        project,
        plugins,
      }),
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
