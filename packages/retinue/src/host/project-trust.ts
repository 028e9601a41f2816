/**
 * Decisions about trust in the project of an open session: taken here, or elsewhere and followed before the next prompt.
 */
import { visible } from "@retinue/protocol";
import { agentsUpdate } from "../agents/agent-info.ts";
import type { AgentDefinition } from "../agents/definition.ts";
import { ProjectGate } from "../project/gate.ts";
import { FolderTrust } from "../project/trust.ts";
import type { HostedSession } from "./hosted-session.ts";
import { fileNotices, fileProblems, instructionNotices } from "./project-notices.ts";
import { deselectAgent, warnOfLoss, warnOfMistakes } from "./select-agent.ts";

/** Trusts the project of a folder, with the servers that are named there now, and where the session works if that is in the same project. */
export async function trustProject(target: HostedSession, folder: string, home: string): Promise<void> {
  const { consentTo, surveyProject } = await import("../workspace/survey.ts");
  const { gate } = target.tree;
  const trust = folderTrustOf(target);
  const named = new ProjectGate(folder, trust);
  const places = named.root === gate.root ? [named, gate] : [named];
  const allowed = places.flatMap((place) => [...consentTo(surveyProject(place, home))]);
  await trust.trust(folder, new Map(allowed));
}

/** Loads what has become trusted, drops what is trusted no longer, and reads files again that have changed. */
export async function followTrust(target: HostedSession): Promise<void> {
  const { session, tree } = target;
  const { configuration, gate, fileHooks, plugins } = tree;
  const { enableConfigDiscovery, enableFileHooks = enableConfigDiscovery } = configuration.current;
  const before = new Set(fileProblems(configuration));
  if (enableConfigDiscovery || enableFileHooks) await gate.refresh();
  const { servers } = plugins.current;
  await plugins.refresh(configuration.current);
  await fileHooks.refresh(configuration.current, plugins.current.hooks);
  const { selectedAgent } = session.state;
  const taken = selectedAgent === undefined ? undefined : configuration.agents.find(selectedAgent);
  const why = configuration.follow();
  if (why === "trust" || servers !== plugins.current.servers) tree.servers.configured();
  for (const notice of instructionNotices(configuration.instructions.newWarnings()))
    session.announce("session.warning", notice);
  if (why === undefined) return;
  for (const notice of fileNotices(fileProblems(configuration).filter((problem) => !before.has(problem))))
    session.announce("session.warning", notice);
  session.announce("session.custom_agents_updated", agentsUpdate(configuration.agents));
  session.announce("session.skills_loaded", { skills: configuration.skills.list() });
  if (selectedAgent === undefined) return;
  const now = configuration.agents.find(selectedAgent);
  if (now) {
    const namesOf = ({ tools, skills }: Pick<AgentDefinition, "tools" | "skills">) => JSON.stringify([tools, skills]);
    if (taken && namesOf(taken) !== namesOf(now)) warnOfMistakes(target, now);
    return;
  }
  if (why === "files") {
    warnOfLoss(target, selectedAgent);
    return;
  }
  deselectAgent(target);
  const message = `The agent ${visible(selectedAgent)} is not there any more, since the folder ${visible(gate.root)} is not trusted. The default agent goes on.`;
  session.announce("session.warning", { warningType: "agent_gone", message });
}

export function folderTrustOf({ store, session }: HostedSession): FolderTrust {
  const warn = (message: string) => session.announce("session.warning", { warningType: "storage", message });
  return new FolderTrust({ documents: store.documents, warn });
}
