/** A plan at the terminal: what it says, and the ways to carry it out among which a person chooses. */
import { visibleText } from "@retinue/protocol";
import type { ExitPlanModeRequest, ExitPlanModeResult } from "@retinue/sdk";
import type { Questioner } from "./terminal.ts";

interface Way {
  key: string;
  isMeant: RegExp;
  means: string;
  action: string;
}

const WAYS: readonly Way[] = [
  { key: "y", isMeant: /^y(es)?$/i, means: "yes, carry it out", action: "interactive" },
  { key: "a", isMeant: /^a(utopilot)?$/i, means: "in autopilot: carry it out to its end", action: "autopilot" },
  { key: "f", isMeant: /^f(leet)?$/i, means: "in autopilot, by a fleet of sub-agents", action: "autopilot_fleet" },
  { key: "l", isMeant: /^l(ater)?$/i, means: "later: the plan is good, and nothing is done now", action: "exit_only" },
];
const NO = { key: "n", means: "no; words instead of it say what should change" };
const LATER = "Plan mode has ended, and nothing is carried out yet.";

export async function askPlan(
  { summary, planContent, actions }: ExitPlanModeRequest,
  { terminal, signal }: { terminal: Questioner; signal: AbortSignal },
): Promise<ExitPlanModeResult> {
  const ways = WAYS.filter(({ action }) => actions.includes(action));
  const choices = [...ways, NO];
  terminal.note(`\nThe plan:\n${visibleText(planContent?.trim() || summary)}\n`);
  for (const { key, means } of choices) terminal.note(`  ${key}  ${means}`);
  const keys = choices.map(({ key }) => key).join(", ");
  for (;;) {
    const answer = (await terminal.ask(`Carry it out? [${keys}, or what should change] `, { signal }))?.trim();
    if (answer === undefined || /^no?$/i.test(answer)) return { approved: false };
    const way = ways.find(({ isMeant }) => isMeant.test(answer));
    if (way?.action === "exit_only") terminal.note(LATER);
    if (way) return { approved: true, selectedAction: way.action };
    // One or two letters are a slip of the hand, and no instruction; in other scripts they may be words.
    if (!/^[a-z]{0,2}$/i.test(answer)) return { approved: false, feedback: answer };
    terminal.note(`Please answer ${keys}, or say in words what should change.`);
  }
}
