/** The input of a hook and the answer to it. */
import * as z from "zod";
import { OWN_HARNESS } from "../../store/transcript-records.ts";

const word = () => z.string().min(1).max(1_024);
/** Linux opens no longer path; other systems open shorter ones only. */
const LONGEST_PATH = 4_096;
/** A path of a file or a folder. A longer one is never looked at. */
export const pathWord = () =>
  z
    .string()
    .min(1)
    .refine((path) => path.length <= LONGEST_PATH && Buffer.byteLength(path) <= LONGEST_PATH, {
      error: `is too long: no system opens a path of more than ${LONGEST_PATH} bytes`,
    });
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

export const HookInput = z.object({
  harness: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .refine((name) => name !== OWN_HARNESS, "the runtime itself keeps the sessions of this harness"),
  sessionKey: word(),
  project: optional(pathWord()),
  agentId: optional(word()),
  harnessAgentId: optional(word()),
  parentSessionKey: optional(word()),
  title: optional(z.string().max(4_096)),
  userMessage: optional(z.string()),
  lastAssistantMessage: optional(z.string()),
  transcriptPath: optional(pathWord()),
  /** The whole transcript so far. */
  transcript: optional(z.union([z.string(), z.array(z.unknown())])),
  /** Only what is new; each with an id of its own. */
  turns: optional(z.array(z.unknown())),
  reason: optional(z.string().max(1_024)),
});
export type HookInput = z.output<typeof HookInput>;

export const CallInput = HookInput.extend({ callId: word(), tool: word(), phase: z.enum(["before", "after"]) });

export interface HookAnswer {
  inject?: string;
  sessionKey?: string;
  parentSessionKey?: string;
  /** Why there is no block. */
  reason?: string;
}
