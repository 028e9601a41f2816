/** What can wait in the inbox of a session, and how it is stored. */
import { Attachments, lazy, NotificationKind, PromptTerms } from "@retinue/protocol";
import * as z from "zod";
import { codec } from "../store/document.ts";

const Prompt = lazy(() =>
  z.object({
    kind: z.literal("prompt"),
    id: z.string(),
    messageId: z.string(),
    prompt: z.string(),
    displayPrompt: z.string().optional(),
    attachments: Attachments().optional(),
    agentMode: z.enum(["interactive", "plan", "autopilot", "shell"]).optional(),
    requestHeaders: z.record(z.string(), z.string()).optional(),
    /** The author, when it is not the user: `system`, `agent-<id>`. */
    source: z.string().optional(),
    requiredTool: z.string().optional(),
    responseFormat: z.unknown().optional(),
    isAutopilotContinuation: z.boolean().optional(),
    isSentBack: z.boolean().optional(),
    /** What it demands of its interaction. */
    terms: PromptTerms().optional(),
    /** Already the complete text for the model: no date is added and no hooks run. */
    transformed: z.string().optional(),
    /** Enters the running interaction before its next model call. */
    isSteering: z.boolean().optional(),
  }),
);
export type Prompt = z.output<ReturnType<typeof Prompt>>;
export type AgentMode = NonNullable<Prompt["agentMode"]>;

const Notice = lazy(() =>
  z.object({ kind: z.literal("notice"), id: z.string(), content: z.string(), cause: NotificationKind() }),
);
export type Notice = z.output<ReturnType<typeof Notice>>;

export type InboxEntry = Prompt | Notice;

/** An answer to an ask whose consequence is not in the log yet. It is stored and removed like an inbox item. */
const KeptAnswer = lazy(() => z.object({ kind: z.literal("answer"), requestId: z.string(), answer: z.unknown() }));
export type KeptAnswer = z.output<ReturnType<typeof KeptAnswer>>;

/** An open ask that is not in the log; it is stored until the call that asks has its result. */
const KeptAsk = lazy(() =>
  z.object({
    kind: z.literal("ask"),
    requestId: z.string(),
    askKind: z.string(),
    /** The session that asks. */
    sessionId: z.string(),
    callId: z.string(),
    payload: z.unknown(),
  }),
);
export type KeptAsk = z.output<ReturnType<typeof KeptAsk>>;

export const stored = codec(() => z.discriminatedUnion("kind", [Prompt(), Notice(), KeptAnswer(), KeptAsk()]));
