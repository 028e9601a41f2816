/** `exit_plan_mode`: shows the plan, and leaves plan mode when a person approves it. */
import type { PlanAction } from "@retinue/protocol";
import * as z from "zod";
import { ask } from "../asks/ask.ts";
import { setMode } from "../host/mode.ts";
import type { Agent } from "../loop/agent.ts";
import { planPath, readPlan } from "../session/folder.ts";
import { defineTool, type Outcome, success, type Tool } from "../tools/tool.ts";
import { NO_APPROVAL } from "../tree/client-requests.ts";
import type { TreeParts } from "../tree/parts.ts";
import exitWords from "./exit-plan-mode.md";
import { fleetPrompt } from "./fleet.ts";

/** The tools that only the main agent has, and only in plan mode. */
export function planTools(agent: Agent, { participants }: TreeParts): readonly Tool[] {
  const { session } = agent;
  return session.parent === undefined && session.state.modeNow === "plan"
    ? [exitPlanModeTool(agent, participants)]
    : [];
}

function exitPlanModeTool(agent: Agent, participants: TreeParts["participants"]): Tool {
  return defineTool({
    name: "exit_plan_mode",
    description: exitWords.trim(),
    input: () =>
      z.object({
        summary: z.string().describe("The plan in a few sentences"),
        recommendedAction: z.enum(["exit_only", "interactive", "autopilot", "autopilot_fleet"]).optional(),
        showFleet: z.boolean().optional(),
      }),
    readOnly: true,
    prepare: ({ summary, recommendedAction = "interactive", showFleet = false }, context) => ({
      run: async () => {
        const planContent = readPlan(context.sessionFolder) ?? "";
        const decision = await ask(agent, "exit_plan", {
          payload: { summary, planContent, actions: actionsOf({ showFleet }), recommendedAction },
          callId: context.callId,
          comesAgain: true,
          unattended: participants.can("requestExitPlanMode") ? undefined : NO_APPROVAL,
          signal: context.signal,
        });
        if (!decision.approved) {
          return success(
            decision.feedback
              ? `The plan was not approved: ${decision.feedback}`
              : "The plan was not approved. Stay in plan mode and improve it.",
          );
        }
        if (decision.autoApproveEdits) agent.permissions.rules.answers.forSession({ kind: "write" });
        const action = decision.selectedAction ?? recommendedAction;
        if (action === "autopilot_fleet") await context.services.tasks?.startFleet(summary);
        const outcome = carryOn(agent, action);
        return decision.deferImplementation ? { ...outcome, endsTurn: true } : outcome; // The client begins it itself.
      },
    }),
  });
}

/** What each of the four ways to leave does. Those that are not for this model to carry out end its turn. */
function carryOn({ session }: Agent, action: PlanAction): Outcome {
  const plan = planPath(session.place.folder);
  switch (action) {
    case "exit_only":
      setMode(session, "interactive");
      return success("The plan is approved. Plan mode has ended, and nothing is carried out yet.", { endsTurn: true });
    case "interactive":
      setMode(session, "interactive");
      return success(`The plan is approved (${plan}). Plan mode has ended; carry the plan out now.`);
    case "autopilot":
      setMode(session, "autopilot");
      return success(
        `The plan is approved (${plan}). Plan mode has ended and autopilot has begun: carry the plan out now, to its end.`,
      );
    case "autopilot_fleet":
      setMode(session, "autopilot");
      return success(
        `The plan is approved (${plan}). Plan mode has ended and autopilot has begun: a fleet of sub-agents carries the plan out, as soon as you have made todos of it.\n\n${fleetPrompt(`The plan in ${plan}.`)}`,
      );
    default:
      return action satisfies never;
  }
}

function actionsOf({ showFleet }: { showFleet: boolean }): PlanAction[] {
  return [...(showFleet ? ["autopilot_fleet" as const] : []), "autopilot", "interactive", "exit_only"];
}
