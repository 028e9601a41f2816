/** `exit_plan_mode`: shows the plan, and leaves plan mode when somebody approves it. */
import type { PlanAction } from "@retinue/protocol";
import * as z from "zod";
import { type Asker, ask } from "../asks/ask.ts";
import { planPath, readPlan } from "../session/folder.ts";
import type { Mode } from "../session/state.ts";
import { defineTool, success, type Tool } from "../tools/tool.ts";
import { NO_APPROVAL } from "./client-requests.ts";
import exitWords from "./exit-plan-mode.md";
import type { Participants } from "./participants.ts";

const Action = z.enum(["exit_only", "interactive", "autopilot", "autopilot_fleet"]);

interface Plans {
  participants: Pick<Participants, "can">;
  setMode(mode: Mode): void;
}

export function exitPlanModeTool(agent: Asker, tree: Plans): Tool {
  return defineTool({
    name: "exit_plan_mode",
    description: exitWords.trim(),
    input: z.object({
      summary: z.string().describe("The plan in a few sentences"),
      recommendedAction: Action.optional(),
      showFleet: z.boolean().optional(),
    }),
    readOnly: true,
    prepare: ({ summary, recommendedAction = "interactive", showFleet = false }, context) => ({
      run: async () => {
        const planContent = readPlan(context.sessionFolder) ?? "";
        const decision = await ask(agent, "exit_plan", {
          payload: { summary, planContent, actions: actionsOf({ showFleet }), recommendedAction },
          callId: context.callId,
          unattended: tree.participants.can("requestExitPlanMode") ? undefined : NO_APPROVAL,
          signal: context.signal,
        });
        if (!decision.approved) {
          return success(
            decision.feedback
              ? `The plan was not approved: ${decision.feedback}`
              : "The plan was not approved. Stay in plan mode and improve it.",
          );
        }
        const action = decision.selectedAction ?? recommendedAction;
        tree.setMode(action === "autopilot" || action === "autopilot_fleet" ? "autopilot" : "interactive");
        return success(
          action === "exit_only"
            ? "The plan is approved. Plan mode has ended; wait for the next prompt."
            : `The plan is approved (${planPath(context.sessionFolder)}). Plan mode has ended; carry the plan out now.`,
        );
      },
    }),
  });
}

function actionsOf({ showFleet }: { showFleet: boolean }): PlanAction[] {
  return [...(showFleet ? ["autopilot_fleet" as const] : []), "autopilot", "interactive", "exit_only"];
}
