/**
 * The form that a client is shown for an ask which it cannot answer by its own event.
 *
 * It has the id of the ask, and the answer to it settles the ask: there is one question, in two shapes.
 */
import type { ElicitationResult } from "@retinue/protocol";
import type { Answer, AskKind, Payload } from "../asks/kinds.ts";
import type { Participant } from "./client-requests.ts";

interface Form {
  message: string;
  requestedSchema: Record<string, unknown>;
  elicitationSource?: string;
}

const FORMS: { readonly [K in AskKind]?: (participant: Participant, payload: Payload<K>) => Form | undefined } = {
  sampling: ({ config, wants }, { serverName, message = "" }) =>
    config.requestElicitation === true && !wants("sampling.requested")
      ? { message, requestedSchema: MAY_SAMPLE, elicitationSource: serverName }
      : undefined,
};

const MAY_SAMPLE = {
  type: "object",
  properties: {
    allow: {
      type: "string",
      title: "Allow",
      enum: ["once", "session", "no"],
      enumNames: ["this request", "all of this server in this session", "no"],
    },
  },
  required: ["allow"],
};

/** Undefined for a client that takes the ask as it is, and for one that cannot be asked. */
export function formInstead<K extends AskKind>(
  kind: K,
  participant: Participant,
  payload: Payload<K>,
): Form | undefined {
  return FORMS[kind]?.(participant, payload);
}

/** What the answer to its form means for a sampling. Words that are no yes are a no. */
export function samplingByForm({ action, content }: ElicitationResult): Answer<"sampling"> {
  const allow = action === "accept" ? content?.allow : undefined;
  return allow === "once" || allow === "session" ? { allow } : { isRefused: true };
}
