/**
 * Holds the calls of an agent to the terms of its current prompt, such as those of `/research`.
 *
 * The list of tools has them already; here are their arguments, places and numbers. What the terms are is in session/current-prompt.ts.
 */
import { existsSync } from "node:fs";
import type { PermissionRequest, ToolTerm } from "@retinue/protocol";
import { isAllWithin, withTargets } from "../permissions/path-rules.ts";
import type { OpenCall } from "../session/open-call.ts";
import type { Session } from "../session/session.ts";
import { isWithinTerms } from "../tools/prompt-terms.ts";
import type { Outcome } from "../tools/tool.ts";

/** The arguments with what the terms set, or the outcome that the model reads. */
export function withinTerms(
  { state }: Session,
  call: OpenCall,
  given: unknown,
): { args: unknown } | { refused: Outcome } {
  const { terms } = state.prompt;
  if (!terms) return { args: given };
  if (!isWithinTerms(call.name, terms)) return { refused: denied(terms.name, `the tool ${call.name} is not yours`) };
  const term = terms.tools.find(({ name }) => name === call.name) ?? { name: call.name };
  const { inAll, inTurn } = state.prompt.callsBefore({ toolCallId: call.id, toolName: call.name });
  if (inAll >= (term.atMost ?? Number.POSITIVE_INFINITY))
    return { refused: denied(terms.name, `there may be ${term.atMost} calls of ${call.name} in all, and there were`) };
  if (inTurn >= (term.atOnce ?? Number.POSITIVE_INFINITY))
    return { refused: denied(terms.name, `there may be ${term.atOnce} calls of ${call.name} at the same time`) };
  return settled(term, given, terms.name);
}

/** Undefined when the files of a call are where the terms want them. */
export function outsideTerms(
  { state }: Session,
  call: OpenCall,
  request: PermissionRequest | undefined,
): Outcome | undefined {
  const { terms } = state.prompt;
  const within = terms?.tools.find(({ name }) => name === call.name)?.within;
  if (!terms || !within || (request?.kind !== "read" && request?.kind !== "write")) return undefined;
  if (isAllWithin(withTargets(within), request)) return undefined;
  return denied(terms.name, `${call.name} is only for files in ${within.join(" and ")}`);
}

/** At the end of an interaction the user is told where the report is that its terms want, once. */
export function tellReport(session: Session): void {
  const { terms, isReportTold } = session.state.prompt;
  const { name, report } = terms ?? {};
  if (report === undefined || isReportTold) return;
  if (existsSync(report)) {
    const message = `The report of ${name} is in ${report}`;
    session.append("session.info", { infoType: "report", message }, { ephemeral: false });
    return;
  }
  const message = `${name} has ended without its report, which should be in ${report}`;
  session.append("session.warning", { warningType: "report", message });
}

function settled({ name, args: wanted = {} }: ToolTerm, given: unknown, terms: string): ReturnType<typeof withinTerms> {
  if (typeof given !== "object" || given === null) return { args: given }; // The tool says what is wrong with it.
  const now: Record<string, unknown> = { ...given };
  for (const [key, value] of Object.entries(wanted)) {
    if (now[key] !== undefined && now[key] !== value)
      return { refused: denied(terms, `${key} of ${name} is "${value}"`) };
    now[key] = value;
  }
  return { args: now };
}

const denied = (name: string, reason: string): Outcome => ({
  resultType: "denied",
  text: `${name} runs now, and in it ${reason}.`,
});
