/**
 * A task of an MCP server: work that goes on after the call that started it has been answered.
 *
 * There are two dialects of the protocol for it, one file each. Owns what both have in common: the state of a task, and what can be asked
 * of the server about it. Following a task to its end is in follow.ts.
 */
import { type CallToolResult, type Client, isCallToolResult, ProtocolError } from "@modelcontextprotocol/client";
import * as z from "zod";

export const TASK_STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;
export type ServerTaskStatus = (typeof TASK_STATUSES)[number];

export const DIALECTS = ["2025-11-25", "io.modelcontextprotocol/tasks"] as const;
export type Dialect = (typeof DIALECTS)[number];

/** What a server says about a task. */
export interface TaskLook {
  taskId: string;
  status: ServerTaskStatus;
  message?: string;
  createdAt?: string;
  updatedAt?: string;
  /** How long after its start the server keeps it; null: as long as it likes. */
  ttlMs?: number | null;
  /** How often the server wants to be asked. */
  pollMs?: number;
  /** Of one that has ended. */
  result?: CallToolResult;
  error?: string;
  /** What the server wants to know before it goes on. */
  questions?: Readonly<Record<string, TaskQuestion>>;
}

export interface TaskQuestion {
  method: string;
  params?: Record<string, unknown>;
}

export interface AskOptions {
  signal: AbortSignal;
}

/** One task of a server, in one dialect. The client is another one after each reconnection. */
export interface ServerTask {
  look(client: Client, options: AskOptions): Promise<TaskLook>;
  cancel(client: Client, options: AskOptions): Promise<void>;
  /** Wants to be told of changes, as long as this client is connected. Absent where servers tell without being asked. */
  listen?(client: Client, options: AskOptions & { onLost(error: string): void }): void;
  /** Answers questions of a look. Absent where the server asks them itself, as requests. */
  answer?(client: Client, answers: Readonly<Record<string, unknown>>, options: AskOptions): Promise<void>;
}

/** What is asked about a task is small; a server that does not answer within this has lost the request. */
export const ASK_LIMIT_MS = 30_000;

/** For results of which nothing is needed. */
export const anything = z.looseObject({});

const INVALID_PARAMS = -32602;

/** The server does not know the task: it forgot it, or never had it. */
export const isUnknownTask = (error: unknown): boolean =>
  error instanceof ProtocolError && error.code === INVALID_PARAMS;

const MAX_WORDS = 2_000;
const MAX_TIME = 100;

/** What a server says while it works is kept with the task and shown, so there is an end to it. */
export const words = z.string().transform((text) => (text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)}…` : text));
const time = z.string().max(MAX_TIME).optional().catch(undefined);

/** The state as both dialects write it, without the names that differ. */
export const taskFields = {
  taskId: z.string().min(1).max(4096),
  status: z.enum(TASK_STATUSES),
  statusMessage: words.optional(),
  createdAt: time,
  lastUpdatedAt: time,
};

export function resultIn(value: unknown): Pick<TaskLook, "result" | "error"> {
  const whole =
    typeof value === "object" && value !== null && !("content" in value) ? { ...value, content: [] } : value;
  return isCallToolResult(whole)
    ? { result: whole }
    : { error: "the server's result of the task is not one of a tool" };
}
