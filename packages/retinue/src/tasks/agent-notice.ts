/** What an agent is told about a background agent that has answered or ended. */
import type { Notice } from "../session/inbox.ts";
import { notification } from "../session/wording.ts";
import type { World } from "../world.ts";
import type { AgentRecord } from "./record.ts";

export function agentNotice(record: AgentRecord, { newId }: World): Notice {
  const about = {
    agentId: record.id,
    agentType: record.agentType,
    displayName: record.name,
    description: record.description,
  };
  if (record.status === "idle") {
    return notice("has answered and is idle. Read its answer", { type: "agent_idle", ...about });
  }
  const status = record.status === "failed" ? "failed" : "completed";
  const how = status === "failed" ? `failed: ${record.error}` : "completed";
  return notice(`has ${how}. Read its result`, { type: "agent_completed", ...about, status });

  function notice(news: string, cause: Notice["cause"]): Notice {
    const words = `The background agent "${record.name}" ${news} with read_agent, agent_id "${record.id}".`;
    return { kind: "notice", id: newId(), content: notification(words), cause };
  }
}

export function isAbout({ cause }: Notice, agentId: string): boolean {
  return (cause.type === "agent_idle" || cause.type === "agent_completed") && cause.agentId === agentId;
}
