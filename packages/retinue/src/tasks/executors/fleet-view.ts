/** A fleet as the protocol describes it, and the notice for its owner. */
import type { TaskProgress } from "@retinue/protocol";
import type { Notice } from "../../session/inbox.ts";
import type { Session } from "../../session/session.ts";
import { notification } from "../../session/wording.ts";
import type { TaskView } from "../executor.ts";
import { headline } from "../fleet/report.ts";
import type { FleetRecord, TaskRecord } from "../record.ts";
import { joinedTask, pathIn } from "./agent-view.ts";

const MAX_NOTICE = 8_000;

export interface FleetViewOptions {
  root: Session;
  /** From the main agent's child down to this one. */
  pathOf(record: FleetRecord): readonly TaskRecord[];
}

export function fleetView({ root, pathOf }: FleetViewOptions): TaskView<FleetRecord> {
  return {
    describe: (record) => ({ ...joinedTask(record, root.world.now()), ...pathIn(pathOf(record)) }),
    progress: (record): TaskProgress => ({
      type: "agent",
      recentActivity: [],
      latestIntent: stateOf(record),
      totalToolCalls: 0,
      totalTokens: 0,
      fleet: record.progress,
    }),
    state: stateOf,
    notice: (record) => noticeOf(record, root.world.newId()),
  };
}

function stateOf({ phase, progress }: FleetRecord): string {
  return phase === "planning" ? "its todos are being planned" : headline(progress);
}

/** A plan that came to nothing needs no word: whoever should have made it knows. */
function noticeOf(record: FleetRecord, id: string): Notice | undefined {
  const { name, agentType, description, error, phase } = record;
  if (phase === "planning") return undefined;
  const status = record.status === "failed" ? "failed" : "completed";
  const report = record.turns.at(-1)?.response ?? error ?? "";
  const isCut = report.length > MAX_NOTICE;
  const shown = isCut
    ? `${report.slice(0, MAX_NOTICE)}\n[The rest is with read_agent, agent_id "${record.id}".]`
    : report;
  const words = `The fleet "${name}" has ended${status === "failed" && !report.startsWith(error ?? "\n") ? `: ${error?.replace(/\.$/, "")}` : ""}. ${shown}\n\nCheck the whole now, as far as it can be checked: build it, test it, read what changed. Then tell the user what was done, what was checked, and what is left. What one agent said in full is with read_agent.`;
  const about = { agentId: record.id, agentType, displayName: name, description };
  return { kind: "notice", id, content: notification(words), cause: { type: "agent_completed", ...about, status } };
}
