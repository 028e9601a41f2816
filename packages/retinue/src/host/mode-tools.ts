/** `exit_plan_mode`: shows the plan, and leaves plan mode when somebody approves it. */
import type { PlanDecision } from "@retinue/protocol";
import * as z from "zod";
import type { Agent } from "../loop/agent.ts";
import { planPath, readPlan } from "../session/folder.ts";
import { type CallContext, defineTool, success, type Tool } from "../tools/tool.ts";
import type { TreeParts } from "../tree/parts.ts";
import exitWords from "./exit-plan-mode.md";
import { setMode } from "./mode.ts";

const PlanAction = z.enum(["exit_only", "interactive", "autopilot", "autopilot_fleet"]);

/** The tools that only the main agent has, and only in plan mode. */
export function planTools({ session }: Agent, parts: TreeParts): readonly Tool[] {
  return session.parent === undefined && session.state.mode === "plan" ? [exitPlanModeTool(parts)] : [];
}

function exitPlanModeTool(tree: TreeParts): Tool {
  return defineTool({
    name: "exit_plan_mode",
    description: exitWords.trim(),
    input: z.object({
      summary: z.string().describe("The plan in a few sentences"),
      recommendedAction: PlanAction.optional(),
      showFleet: z.boolean().optional(),
    }),
    readOnly: true,
    prepare: ({ summary, recommendedAction = "interactive", showFleet = false }, context) => ({
      run: async () => {
        const actions = [
          ...(showFleet ? (["autopilot_fleet"] as const) : []),
          "autopilot",
          "interactive",
          "exit_only",
        ] as const;
        const decision = await askToLeave(tree, context, { summary, recommendedAction, actions: [...actions] });
        if (!decision.approved) {
          return success(
            decision.feedback
              ? `The plan was not approved: ${decision.feedback}`
              : "The plan was not approved. Stay in plan mode and improve it.",
          );
        }
        const action = decision.selectedAction ?? recommendedAction;
        setMode(tree.root, action === "autopilot" || action === "autopilot_fleet" ? "autopilot" : "interactive");
        return success(
          action === "exit_only"
            ? "The plan is approved. Plan mode has ended; wait for the next prompt."
            : `The plan is approved (${planPath(context.sessionFolder)}). Plan mode has ended; carry the plan out now.`,
        );
      },
    }),
  });
}

interface Leave {
  summary: string;
  recommendedAction: z.output<typeof PlanAction>;
  actions: z.output<typeof PlanAction>[];
}

async function askToLeave(
  tree: TreeParts,
  { callId, signal, sessionFolder }: CallContext,
  leave: Leave,
): Promise<PlanDecision> {
  const session = tree.root;
  const requestId = session.world.newId();
  const planContent = readPlan(sessionFolder) ?? "";
  session.announce("exit_plan_mode.requested", { requestId, planContent, ...leave, toolCallId: callId });
  const answer = tree.participants.can("requestExitPlanMode")
    ? ((await tree.asks.open(
        { requestId, kind: "exit_plan", sessionId: session.id, callId, payload: { ...leave, planContent } },
        { signal },
      )) as PlanDecision | undefined)
    : undefined;
  const decision = answer ?? { approved: false, feedback: "Nobody is here to approve the plan." };
  session.announce("exit_plan_mode.completed", {
    requestId,
    approved: decision.approved,
    ...(decision.selectedAction ? { selectedAction: decision.selectedAction } : {}),
    ...(decision.feedback ? { feedback: decision.feedback } : {}),
  });
  return decision;
}
