/** The skills of a session. */
import type { HostedSession } from "../../host/hosted-session.ts";
import { followTrust } from "../../host/project-trust.ts";
import { eventOf } from "../../store/stored-event.ts";
import { discoverSkills } from "../../workspace/discovery.ts";
import { type Handlers, hosted } from "../handler.ts";

export const skillHandlers: Handlers = {
  "skills.discover": async ({ projectPaths, skillDirectories, excludeHostSkills: isWithoutUser }, { sessions }) => {
    const { home } = sessions.shared.runtime;
    const { skills: plugins } = (await import("../../plugins/plugin-set.ts")).readInstalledSet(home);
    return discoverSkills({ home, projectPaths, skillDirectories, isWithoutUser, plugins });
  },
  "session.skills.list": (params, scope) => ({ skills: hosted(params, scope).tree.configuration.skills.list() }),
  "session.skills.getInvoked": async (params, scope) => ({ skills: await invokedSkills(hosted(params, scope)) }),
  "session.skills.enable": (params, scope) => {
    const target = hosted(params, scope);
    target.tree.configuration.skills.enable(params.name);
    changed(target);
  },
  "session.skills.disable": (params, scope) => {
    const target = hosted(params, scope);
    target.tree.configuration.skills.disable(params.name);
    changed(target);
  },
  "session.skills.reload": async (params, scope) => {
    const target = hosted(params, scope);
    await followTrust(target);
    const { warnings, errors } = target.tree.configuration.skills.reload();
    changed(target);
    return { warnings: [...warnings], errors: [...errors] };
  },
  "session.skills.ensureLoaded": (params, scope) => {
    hosted(params, scope); // Skills are loaded when the session opens; only the session id is checked.
  },
};

/** Disabled skills stay disabled when a client changes the skill folders. */
function changed({ session, tree }: HostedSession): void {
  const skills = tree.configuration.skills.list();
  const disabledSkills = skills.filter(({ enabled }) => !enabled).map(({ name }) => name);
  tree.configuration.change({ disabledSkills });
  session.announce("session.skills_loaded", { skills });
}

async function invokedSkills({ session, store }: HostedSession) {
  await session.log.committed();
  let turns = 0;
  return (await store.events.read(session.id)).flatMap((event) => {
    if (event.type === "assistant.turn_start" && event.sessionId === session.id) turns++;
    const invoked = eventOf(event, "skill.invoked");
    if (!invoked) return [];
    const { name, path, content, allowedTools = [], disableModelInvocation } = invoked.data;
    return [{ name, path, content, allowedTools, disableModelInvocation, invokedAtTurn: turns }];
  });
}
