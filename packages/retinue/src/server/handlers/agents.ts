/** The agents of a session, and which one is selected as its main agent. */
import { agentInfo, agentsUpdate } from "../../agents/agent-info.ts";
import { followTrust } from "../../host/project-trust.ts";
import { deselectAgent, selectAgent } from "../../host/select-agent.ts";
import { discoverAgents } from "../../workspace/discovery.ts";
import { type Handlers, hosted } from "../handler.ts";

export const agentHandlers: Handlers = {
  "agents.discover": async ({ projectPaths, excludeHostAgents: isWithoutUser }, { sessions }) => {
    const { runtime, remoteAgents } = sessions.shared;
    const { home } = runtime;
    const { agents: plugins } = (await import("../../plugins/plugin-set.ts")).readInstalledSet(home);
    return { agents: discoverAgents({ home, projectPaths, isWithoutUser, plugins, remote: remoteAgents() }) };
  },
  "session.agent.list": (params, scope) => {
    const { agents } = hosted(params, scope).tree.configuration;
    const shown = params.includeBuiltInAgents ? agents.list() : agents.custom();
    return { agents: shown.map((agent) => agentInfo(agent, params)) };
  },
  "session.agent.getCurrent": (params, scope) => {
    const { definition } = hosted(params, scope).main.kit;
    return { agent: definition ? agentInfo(definition) : null };
  },
  "session.agent.select": (params, scope) => {
    return { agent: agentInfo(selectAgent(hosted(params, scope), params.name)) };
  },
  "session.agent.deselect": (params, scope) => {
    const target = hosted(params, scope);
    deselectAgent(target);
    target.main.kit.takeOnServers().catch(() => undefined); // Leaves those of the agent; the next prompt tries again.
    return {};
  },
  "session.agent.setPrompt": (params, scope) => {
    const { tree } = hosted(params, scope);
    tree.configuration.agents.setPrompt(params.id, params.prompt);
  },
  "session.agent.reload": async (params, scope) => {
    const target = hosted(params, scope);
    await followTrust(target);
    const { agents } = target.tree.configuration;
    agents.reload();
    target.session.announce("session.custom_agents_updated", agentsUpdate(agents));
    return { agents: agents.custom().map((agent) => agentInfo(agent)) };
  },
};
