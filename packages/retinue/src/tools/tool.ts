/**
 * What a tool is, whoever made it: built in, from an MCP server, or in the host program.
 *
 * A call has two steps. `prepare` checks the arguments and says what permission the call needs; it has no side effect, and
 * what fails here fails before anybody is asked. `run` does the work. Hooks, permission and recording are in loop/calls.ts.
 */

import type { EventData, PermissionRequest } from "@retinue/protocol";
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import type { ToolSpec } from "../models/provider.ts";
import { prepared } from "../prepared.ts";
import type { SqlStatement } from "./sql/sql-statements.ts";
import type { ListInput, ReadInput, TaskInput, WriteInput } from "./task-input.ts";

export interface Tool extends ToolSpec {
  readonly source: "builtin" | "mcp" | "host";
  /** A call that was cut off by a crash may run again when it only reads. */
  readonly readOnly: boolean;
  /** What a screen shows in place of the name. */
  readonly title?: string;
  /** A successful call ends the turn. */
  readonly isTerminal?: boolean;
  readonly endEvents?: EndEvents;
  /** Text for the system prompt when the tool is offered. */
  readonly instructions?: string;
  readonly mcp?: { server: string; tool: string; title?: string };
  /** The call has started what it starts, and finds it again: it may run again after a crash. */
  hasStarted?(context: CallContext): boolean;
  prepare(args: unknown, context: CallContext): Prepared | Promise<Prepared>;
}

export interface Prepared {
  /** Absent: the call needs no permission. */
  permission?: PermissionRequest;
  /** Nobody is asked, but a rule or a hook may still say no. */
  needsNoAsk?: boolean;
  run(): Promise<Outcome>;
}

/** The result of a call, for the model (`text`) and for the log. */
export interface Outcome {
  resultType: "success" | "failure" | "denied" | "rejected" | "timeout";
  /** What the model reads. */
  text: string;
  /** What the log and the screen show instead, such as a diff. */
  detail?: string;
  /** The short reason of a failure; `text` when absent. */
  error?: string;
  binary?: readonly BinaryResult[];
  contents?: readonly unknown[];
  structuredContent?: unknown;
  shellExecution?: { exitCode: number };
  telemetry?: Readonly<Record<string, unknown>>;
  /** The turn ends with this call, and the model is not asked again. */
  endsTurn?: boolean;
  /** Recorded right after the end of the call. */
  events?: readonly OutcomeEvent[];
  /** Texts that follow the result as messages of their own, such as a skill. */
  followUps?: readonly string[];
}

/** Of a tool whose end is told besides, whichever way it ended: refused arguments, a hook that changed the result. */
export type EndEvents = (args: unknown, outcome: Outcome) => readonly OutcomeEvent[];

export type OutcomeEvent =
  | { type: "session.task_complete"; data: EventData<"session.task_complete"> }
  | { type: "skill.invoked"; data: EventData<"skill.invoked"> };

export interface BinaryResult {
  type: "image" | "resource";
  data: string;
  mimeType: string;
  description?: string;
}

/** What a call may use. Everything that a tool does outside its arguments goes through here. */
export interface CallContext {
  readonly sessionId: string;
  readonly callId: string;
  readonly workingDirectory: string;
  /** The session's own folder: plan.md, files/, session.db. */
  readonly sessionFolder: string;
  /** For output that was cut and other short-lived files. */
  readonly tempFolder: string;
  /** Aborted when the run, the call or the session ends. */
  readonly signal: AbortSignal;
  readonly mode: "interactive" | "plan" | "autopilot";
  /** Live output of a running call; the whole output so far. */
  partialOutput(output: string): void;
  /** Announces a session event besides the result (file created, todos changed …). It is sent to clients and not recorded. */
  announce(
    type: "assistant.intent" | "session.info" | "session.todos_changed" | "session.workspace_file_changed",
    data: object,
  ): void;
  /** Services of the session; each tool takes the ones that it needs. */
  readonly services: CallServices;
  /** What the rules say about what a call comes upon after it was permitted. */
  readonly rules: CallRules;
}

export interface CallRules {
  /** Absolute paths that must not be read, although a folder above them may be. */
  unreadable(): readonly string[];
  judge(request: PermissionRequest): "allow" | "deny" | "ask";
}

/** Filled by the runtime. A tool whose service is absent is not offered. */
export interface CallServices {
  shells: ShellService;
  ask?: (question: { question: string; choices?: string[] }) => Promise<{ answer: string; wasFreeform: boolean }>;
  elicit?: (form: {
    message: string;
    requestedSchema: Record<string, unknown>;
  }) => Promise<{ action: "accept" | "decline" | "cancel"; content?: Record<string, unknown> }>;
  fetchPage?: (
    url: string,
    options: {
      signal: AbortSignal;
      /** Whether a redirect on the same host may be followed there. */
      mayFollow(url: string): boolean;
    },
  ) => Promise<{ status: number; contentType: string; body: string; url: string }>;
  tasks?: TaskService;
  database?: DatabaseService;
  /** Checks what must hold before the agent counts as done. */
  gates?: (result: string) => Promise<GateVerdict>;
}

/** `isFinal`: it is not tried again. */
export type GateVerdict = { passed: true } | { passed: false; words: string; isFinal: boolean };

/** The session's own database, shared by all agents of its tree. Built by tools/sql/session-database.ts. */
export interface DatabaseService {
  /** Runs all statements or none, unless they manage transactions themselves. Rejects with a message for the model. */
  run(query: SqlQuery, options: { signal: AbortSignal }): Promise<SqlResult[]>;
}

export interface SqlQuery {
  /** The session's folder. */
  folder: string;
  statements: readonly SqlStatement[];
  /** How many rows of a statement are wanted. */
  maxRows?: number;
}

export interface SqlResult {
  /** Blobs are shown by their length. */
  rows: Record<string, unknown>[];
  /** There are more rows. */
  isCut: boolean;
  /** Of the last statement that changed rows, which need not be this one. */
  changes: number;
  lastId: number;
}

/** Shells of one session; they outlive a call, and end with the session. Built by tools/shell/shells.ts. */
export interface ShellService {
  start(options: ShellStart): Shell;
  get(shellId: string): Shell | undefined;
  /** Shells that run, or whose end nobody has read yet. */
  list(): readonly Shell[];
  /** Forgets a shell whose end was read. */
  remove(shellId: string): void;
  /** There was a shell with this id, and its end was read. */
  wasReclaimed(shellId: string): boolean;
  /** `awaited`: a call was waiting for this end and reports it, so nobody else has to. */
  onEnded(listener: (shell: Shell, how: { awaited: boolean }) => void): () => void;
  /** A shell that no call waits for, or waits for any more. */
  onBackground(listener: (shell: Shell) => void): () => void;
  /** Kills whatever is not detached, with everything that it started, and waits until it is gone. */
  closeAll(): Promise<void>;
}

export interface ShellStart {
  command: string;
  description: string;
  cwd: string;
  shellId?: string;
  /** Survives the end of the session, and of this process. */
  detached?: boolean;
  /** Nobody waits for it from the start. */
  background?: boolean;
  /** Keeps the standard input open for `write`; otherwise the command reads an end of file. */
  interactive?: boolean;
  env?: Readonly<Record<string, string>>;
}

export interface Shell {
  readonly id: string;
  readonly command: string;
  readonly description: string;
  readonly cwd: string;
  readonly pid: number | undefined;
  readonly detached: boolean;
  readonly background: boolean;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly status: "running" | "completed" | "cancelled";
  readonly exitCode: number | undefined;
  /** The file that has the whole output, once it is too much to keep in memory. */
  readonly logPath: string | undefined;
  /** Bytes written so far. */
  readonly outputBytes: number;
  /** All output so far, bounded. */
  output(): string;
  /** Output since the last read, bounded. */
  read(): string;
  /** False when the command takes no input or has ended. */
  write(input: string): boolean;
  /** The command reads an end of file after what was written. */
  endInput(): void;
  /** Sends a signal to the whole process group. */
  signal(name: "SIGINT" | "SIGTERM" | "SIGKILL"): void;
  /** Ends the whole process group, first with SIGTERM, and resolves when it is gone. */
  kill(): Promise<void>;
  /** Releases the waiting call; the shell keeps running. */
  promote(): void;
  /** Waits for the end; says what came first. */
  wait(options: { ms: number; signal: AbortSignal }): Promise<"ended" | "timeout" | "promoted" | "aborted">;
  /** Resolves when the shell ends. */
  readonly ended: Promise<{ exitCode: number }>;
  onOutput(listener: () => void): () => void;
}

/** Given to the task tools, so that tools never import tasks. */
export interface TaskService {
  task(input: TaskInput): Promise<Outcome>;
  read_agent(input: ReadInput): Promise<Outcome>;
  write_agent(input: WriteInput): Promise<Outcome>;
  list_agents(input: ListInput): Promise<Outcome>;
  mcp: McpTaskService;
  /** Starts a fleet that works off the todos which the current run writes. Rejects in words when one is at work. */
  startFleet(request: string): Promise<void>;
}

/** Makes calls that MCP servers go on with as tasks into tasks of the calling agent. */
export interface McpTaskService {
  started(task: StartedMcpTask): Promise<Outcome>;
  /** The outcome of this call when it had started its task before a restart. */
  known(): Outcome | undefined;
}

export interface StartedMcpTask {
  server: string;
  serverIdentity: string;
  /** As the server calls it. */
  tool: string;
  title: string;
  args: Readonly<Record<string, unknown>>;
  dialect: string;
  serverTaskId: string;
  serverStatus: string;
  statusMessage?: string;
  createdAt?: string;
  updatedAt?: string;
  ttlMs?: number | null;
  pollMs?: number;
}

export const success = (text: string, more: Partial<Outcome> = {}): Outcome => ({
  resultType: "success",
  text,
  ...more,
});
export const failure = (text: string, more: Partial<Outcome> = {}): Outcome => ({
  resultType: "failure",
  text,
  ...more,
});

/** Thrown by `prepare` to end a call with something for the model to read. */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super(outcome.error ?? outcome.text);
    this.outcome = outcome;
  }
}

/**
 * A built-in tool: the zod schema is the type of its arguments and the JSON Schema that the model sees. Making it takes a while, so it is
 * made for the first call; what the model sees was prepared by the build.
 */
export function defineTool<Input extends z.ZodType>(definition: {
  name: string;
  /** Tells two tools of one name apart. */
  form?: string;
  description: string;
  input(): Input;
  readOnly: boolean;
  title?: string;
  isTerminal?: boolean;
  endEvents?: EndEvents;
  instructions?: string;
  prepare(args: z.output<Input>, context: CallContext): Prepared | Promise<Prepared>;
}): Tool {
  const { input, form = "", prepare, ...rest } = definition;
  const schema = lazy(input);
  const parameters = prepared(`schema ${definition.name}(${form})`, () => jsonSchema(schema()));
  return {
    ...rest,
    source: "builtin",
    parameters,
    prepare(args, context) {
      const parsed = schema().safeParse(args, { reportInput: true }); // What is missing is told apart from what is wrong.
      if (!parsed.success) throw new CallRefused(invalidArguments(parsed.error));
      return prepare(parsed.data, context);
    },
  };
}

function jsonSchema(input: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input" }) as Record<string, unknown>;
  return schema;
}

function invalidArguments(error: z.ZodError): Outcome {
  const problems = error.issues.map((issue) => {
    const missing = issue.code === "invalid_type" && issue.input === undefined;
    return `"${issue.path.join(".")}": ${missing ? "Required" : issue.message}`;
  });
  const [first = ""] = problems;
  return failure(problems.length === 1 ? first : `Multiple validation errors: ${problems.join(", ")}`);
}
