/** Calls about agents: which there are, and which one speaks for the session. */
import * as z from "zod";
import { byName, empty, justSession, method, nothing, ofSession } from "../method.ts";
import { flag, jsonObject, lazy, type Of, strings, text } from "../schema.ts";

export const AgentInfo = lazy(() =>
  z.object({
    name: z.string(),
    id: z.string(),
    displayName: z.string(),
    description: z.string(),
    path: text(),
    source: z.enum(["user", "project", "inherited", "remote", "plugin", "builtin"]).optional(),
    userInvocable: flag(),
    disableModelInvocation: flag(),
    tools: strings().optional(),
    model: text(),
    models: strings().optional(),
    modelPolicy: z.enum(["preferred", "required"]).optional(),
    mcpServers: jsonObject().optional(),
    skills: strings().optional(),
    prompt: text(),
  }),
);
export type AgentInfo = Of<typeof AgentInfo>;

const agentList = lazy(() => z.object({ agents: z.array(AgentInfo()) }));

export const AGENT_METHODS = byName(
  method("agents.discover", {
    summary: "The agents of the user and of folders, without a session.",
    params: () => z.object({ projectPaths: strings().optional(), excludeHostAgents: flag() }),
    result: agentList,
  }),
  method("session.agent.list", {
    summary: "Agents of the session.",
    params: () => ofSession({ includeBuiltInAgents: flag(), includePrompt: flag() }),
    result: agentList,
  }),
  method("session.agent.select", {
    summary: "Lets an agent speak for the session.",
    params: () => ofSession({ name: z.string() }),
    result: () => z.object({ agent: AgentInfo() }),
  }),
  method("session.agent.deselect", {
    summary: "Goes back to the default agent.",
    params: justSession,
    result: empty,
  }),
  method("session.agent.getCurrent", {
    summary: "The agent that speaks for the session, or null.",
    params: justSession,
    result: () => z.object({ agent: AgentInfo().nullable() }),
  }),
  method("session.agent.reload", {
    summary: "Reads agent files again.",
    params: justSession,
    result: agentList,
  }),
  method("session.agent.setPrompt", {
    summary: "Replaces the prompt of an agent.",
    params: () => ofSession({ id: z.string(), prompt: z.string() }),
    result: nothing,
  }),
);
