/** What can wait in the inbox of a session, and how it is stored. */
import { Attachments, lazy, NotificationKind } from "@retinue/protocol";
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
    /** Who wrote it, when it was not the user: `system`, `agent-<id>`. */
    source: z.string().optional(),
    requiredTool: z.string().optional(),
    responseFormat: z.unknown().optional(),
    isAutopilotContinuation: z.boolean().optional(),
    /** Already the whole text for the model: no date, no hooks. */
    transformed: z.string().optional(),
    /** Put into the running turn before its next model call. */
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

/** An answer to an ask that nothing in the log tells of yet. It is stored beside the inbox, and leaves the store in the same way. */
const KeptAnswer = lazy(() => z.object({ kind: z.literal("answer"), requestId: z.string(), answer: z.unknown() }));
export type KeptAnswer = z.output<ReturnType<typeof KeptAnswer>>;

export const stored = codec(() => z.discriminatedUnion("kind", [Prompt(), Notice(), KeptAnswer()]));
