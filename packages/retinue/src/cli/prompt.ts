/**
 * Prompt mode: one prompt, its answer, and an exit code.
 *
 * Owns the order of steps in a run. What is printed is in answer.ts and progress.ts; how a person is asked, in asking.ts.
 */
import { setTimeout as delay } from "node:timers/promises";
import { AppError, type PermissionSettings, visible } from "@retinue/protocol";
import type {
  MessageOptions,
  RetinueClient,
  Session,
  SessionConfigBase,
  SessionEvent,
  SessionMetadata,
} from "@retinue/sdk";
import { homeFolder } from "../host/home.ts";
import type { Catalog } from "../models/catalog.ts";
import { gitContext } from "../workspace/git-context.ts";
import { addedFolders } from "./added-folders.ts";
import { type Answer, eventLines, lastAnswer, streamedAnswer } from "./answer.ts";
import { askingAt, type Handlers } from "./asking.ts";
import { oneLine } from "./call-words.ts";
import type { CliContext } from "./cli-context.ts";
import { gatesOf } from "./gates.ts";
import { Interrupts } from "./interrupts.ts";
import noAskUser from "./no-ask-user.md";
import { type OwnRuntime, openOwnRuntime } from "./own-runtime.ts";
import { Progress } from "./progress.ts";
import type { Prompt } from "./prompt-input.ts";
import { allowSavedInput, chosenPaths, messageFor, neededCapabilities } from "./prompt-message.ts";
import type { ResultRecord } from "./result-record.ts";
import { isStoreOutage, type RunEnd, RunWatch } from "./run-watch.ts";
import { sessionByPrefix } from "./session-id.ts";
import type { Terminal } from "./terminal.ts";
import { trustOf } from "./trust.ts";
import { settleTrust } from "./trust-question.ts";
import { allowRule, denyRule, noteUnknownNames } from "./usable-rule.ts";
import { UsageError } from "./usage-error.ts";

export interface PromptOptions {
  home?: string;
  model?: string;
  provider?: string;
  allowTool: readonly string[];
  denyTool: readonly string[];
  allowAllTools: boolean;
  /** The same, and every path and address besides. */
  yolo?: boolean;
  addDir: readonly string[];
  pluginDir?: readonly string[];
  /** The beginning of a session's id. */
  resume?: string;
  /** The last session of this folder. */
  continue: boolean;
  agent?: string;
  mode?: "interactive" | "plan" | "autopilot";
  autopilot?: boolean;
  maxAutopilotContinues?: number;
  gate?: readonly string[];
  maxGateFailures?: number;
  /** False: the model is offered no way to ask questions. */
  askUser?: boolean;
  reasoningEffort?: string;
  stream: boolean;
  quiet: boolean;
  outputFormat: "text" | "json";
  /** Is told what becomes of the run. */
  record?: ResultRecord;
  /** Draws the tree at the end even when it could not be drawn live. */
  showsTree?: boolean;
  /** The session is removed with its home, so its id is not shown. */
  isThrownAway?: boolean;
  /** What bounds the session besides, or adds to it. */
  bounds?: Partial<SessionConfigBase> & { sessionId?: string };
  /** In place of the models that environment and config file name. */
  catalog?: (env: CliContext["env"]) => Catalog;
}

/** Resolves with the exit code. Without a prompt, what the stored session has left open is carried on. */
export async function runPrompt(
  prompt: Prompt | undefined,
  options: PromptOptions,
  context: CliContext,
): Promise<number> {
  const { terminal, env, cwd } = context;
  // Before anything is opened.
  checkEffects(options, prompt);
  const rules = [...options.allowTool.map(allowRule), ...options.denyTool.map(denyRule)];
  const home = homeFolder(env, options.home);
  await noteUnknownNames(rules, { home, cwd, note: (line) => terminal.note(line) });
  const folders = addedFolders(options.addDir, cwd);
  const pluginDirectories = addedFolders(options.pluginDir ?? [], cwd, "--plugin-dir");
  // Before the runtime, so that it is there until that is closed.
  using interrupts = new Interrupts(() => terminal.note("\nStopping. Press Ctrl-C again to leave at once."));
  await using own = openOwnRuntime({
    env,
    home: options.home,
    provider: options.provider,
    catalog: options.catalog?.(env),
    program: options.isThrownAway ? undefined : context.program,
    report: (line) => terminal.note(line), // Anything else would be drawn over.
  });
  terminal.gone.addEventListener("abort", () => interrupts.stop());
  using progress = new Progress(terminal, { isQuiet: options.quiet || options.outputFormat === "json" });
  const answer = answerFor(options, terminal);
  const watch = new RunWatch({ isOurs: prompt === undefined });
  const receive = (event: SessionEvent) => {
    answer.receive(event);
    progress.receive(event);
    watch.receive(event);
    options.record?.receive(event);
    if (options.outputFormat === "text") noteCommand(event, { terminal, isQuiet: options.quiet });
  };
  let workingDirectory = cwd;
  const asking = askingAt({
    terminal,
    signal: interrupts.signal,
    workingDirectory: () => workingDirectory,
    location: async () => (options.isThrownAway ? undefined : await locationOf(workingDirectory)),
    agentPath: (id) => progress.agentPath(id),
  });
  const stored = await storedSession(own.client, options, cwd);
  workingDirectory = stored?.context?.workingDirectory ?? cwd;
  await settleTrust({
    folder: workingDirectory,
    home: own.runtime.config.home,
    trust: trustOf(own, context),
    terminal,
    signal: interrupts.signal,
    isThrownAway: options.isThrownAway,
  });
  if (interrupts.signal.aborted) return interrupts.exitCode;
  checkModel(own, options);
  const permissions = permissionsOf(options, [...folders, ...chosenPaths(prompt)]);
  const config = {
    ...baseConfig(options, cwd),
    ...(pluginDirectories.length > 0 ? { pluginDirectories } : {}),
    ...neededCapabilities(prompt),
    ...withoutQuestions(asking, options),
    permissions,
    onEvent: receive,
  };
  const session = stored
    ? await own.client.resumeSession(stored.sessionId, { ...config, continuePendingWork: true })
    : await own.client.createSession({ ...config, workingDirectory: cwd });
  options.record?.opened(session.sessionId);
  if (stored) await allowSavedInput(session);
  await configure(session, options);
  const end = await converse(session, prompt, { watch, signal: interrupts.signal });
  options.record?.ended(end);
  answer.end(end.type === "answered" ? end.text : "");
  if (!options.quiet) await noteStopped(session, terminal);
  progress.end(options.isThrownAway ? undefined : session.sessionId, options);
  if (end.type !== "stopped") return exitCodeOf(end, terminal);
  terminal.note(`Stopped. "retinue --resume ${session.sessionId.slice(0, 8)} -p …" goes on from here.`);
  return interrupts.exitCode;
}

function exitCodeOf(end: RunEnd, terminal: Terminal): number {
  if (end.type === "answered") return 0;
  terminal.note(`retinue: ${end.message}`);
  return end.type === "failed" ? 1 : UNFINISHED;
}

/** Autopilot has used up its reminders or its budget, and the task is not complete. */
const UNFINISHED = 3;

const modeOf = ({ mode, autopilot }: PromptOptions): PromptOptions["mode"] => (autopilot ? "autopilot" : mode);

/** A flag that surely has no effect is a mistake. A stored session may have what it is about, and a command may begin it. */
function checkEffects(options: PromptOptions, prompt: Prompt | undefined): void {
  const { maxAutopilotContinues, gate = [], maxGateFailures, agent } = options;
  const isStored = options.resume !== undefined || options.continue;
  const mayLeadOn = isStored || (prompt?.text.startsWith("/") ?? false);
  const isMode = modeOf(options) === "autopilot" || modeOf(options) === "plan";
  if (maxAutopilotContinues !== undefined && !isMode && !mayLeadOn)
    throw new UsageError("--max-autopilot-continues has no effect without --autopilot.");
  if (maxGateFailures !== undefined && gate.length === 0 && agent === undefined && !mayLeadOn)
    throw new UsageError("--max-gate-failures has no effect without --gate.");
  if (agent?.trim() === "") throw new UsageError("--agent: name an agent.");
}

function withoutQuestions(asking: Handlers, { askUser = true }: PromptOptions): Handlers {
  const { onUserInputRequest: _, onElicitationRequest: __, ...others } = asking;
  return askUser ? asking : others;
}

/** Answers for a folder are kept by its repository, or by itself where there is none. */
async function locationOf(folder: string): Promise<string> {
  const { cwd, gitRoot } = await gitContext(folder);
  return gitRoot ?? cwd;
}

/** What the end of this process stops: shells in the background do not hold the answer, and end with the session. */
async function noteStopped(session: Session, terminal: Terminal): Promise<void> {
  const tasks = await session.tasks.list().catch(() => []); // A session that was lost runs nothing here.
  const running = tasks.flatMap((task) =>
    task.type === "shell" && task.status === "running" && task.attachmentMode === "attached" ? [task] : [],
  );
  if (running.length === 0) return;
  const named = running.map(({ id, command }) => `${visible(id)} ("${oneLine(command, MAX_COMMAND)}")`).join(", ");
  terminal.note(`Stopped what still ran in the background: ${named}.`);
}

/** Without a provider the offline rules answer whatever is asked for, and nobody who names a model wants that. */
function checkModel({ runtime }: OwnRuntime, { model }: PromptOptions): void {
  if (model === undefined || model === "offline") return;
  const { provider } = runtime.sessions.shared.catalog.forSession({ model }).choose();
  if (provider.id !== "offline") return;
  const words =
    "no provider is set up that could have it. Set RETINUE_PROVIDER_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY";
  throw new UsageError(`--model ${model}: ${words}, or name a provider in config.json.`);
}

function answerFor({ outputFormat, stream }: PromptOptions, terminal: Terminal): Answer {
  if (outputFormat === "json") return eventLines(terminal);
  return stream ? streamedAnswer(terminal) : lastAnswer(terminal);
}

function baseConfig(options: PromptOptions, cwd: string): SessionConfigBase {
  const { model, agent, reasoningEffort, stream, outputFormat, maxAutopilotContinues, askUser = true } = options;
  return {
    clientName: "retinue",
    streaming: stream,
    includeSubAgentStreamingEvents: outputFormat === "json",
    enableConfigDiscovery: true,
    mcpOAuthTokenStorage: "persistent",
    ...(model === undefined ? {} : { model }),
    ...(agent === undefined ? {} : { agent }),
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    ...(maxAutopilotContinues === undefined ? {} : { maxAutopilotContinues }),
    ...gatesOf(options, cwd),
    ...(askUser ? {} : { systemMessage: { mode: "append", content: noAskUser.trim() } }),
    ...options.bounds,
  };
}

/** The session to go on with; undefined for a new one. */
async function storedSession(
  client: RetinueClient,
  options: PromptOptions,
  cwd: string,
): Promise<SessionMetadata | undefined> {
  if (options.resume !== undefined) return sessionByPrefix(await client.listSessions(), options.resume);
  if (!options.continue) return undefined;
  const [last] = await client.listSessions({ workingDirectory: cwd });
  if (last) return last;
  throw new AppError("session_not_found", "There is no session of this folder yet: leave out --continue to start one.");
}

/** Deny rules that are not named stay as the session has them; a resume applies all of it before it goes on with anything. */
function permissionsOf(
  { allowTool, denyTool, allowAllTools, yolo = false }: PromptOptions,
  places: readonly string[],
): PermissionSettings {
  return {
    approveAllReadPermissionRequests: true,
    approveAllToolPermissionRequests: allowAllTools || yolo,
    rules: { approved: allowTool.map(allowRule), ...(denyTool.length > 0 && { denied: denyTool.map(denyRule) }) },
    paths: { additionalDirectories: [...places], includeTempDirectory: true, ...(yolo && { unrestricted: true }) },
    ...(yolo && { urls: { unrestricted: true } }),
  };
}

async function configure(session: Session, options: PromptOptions): Promise<void> {
  const { resume, reasoningEffort } = options;
  const mode = modeOf(options);
  const isResumed = resume !== undefined || options.continue;
  if (isResumed && reasoningEffort !== undefined) await session.rpc.model.setReasoningEffort({ reasoningEffort });
  if (mode !== undefined) await session.rpc.mode.set({ mode });
}

const MAX_COMMAND = 80;

/** How long the last events of a stopped run are waited for. */
const LAST_NEWS_MS = 1000;

/** A session that waits for a prompt would be waited for without end. */
async function checkIsOpen(session: Session, watch: RunWatch): Promise<void> {
  const { hasActiveWork } = await session.rpc.metadata.activity();
  if (hasActiveWork || watch.hasEnded) return;
  const id = session.sessionId.slice(0, 8);
  throw new UsageError(`session ${id} has nothing left to do. Give it a prompt: retinue --resume ${id} -p "…"`);
}

/** What a command says besides its prompt, where its report is, and why nothing goes on: also for whoever wants no progress. */
function noteCommand(event: SessionEvent, { terminal, isQuiet }: { terminal: Terminal; isQuiet: boolean }): void {
  if (event.type === "session.error" && isStoreOutage(event)) terminal.note(`! ${visible(event.data.message)}`);
  if (event.type !== "session.info" && event.type !== "session.warning") return;
  const about = event.type === "session.info" ? event.data.infoType : event.data.warningType;
  if (event.type === "session.info" && about === "storage") terminal.note(`! ${visible(event.data.message)}`);
  if (about === "notice" || (about === "report" && isQuiet)) terminal.note(visible(event.data.message));
}

/** A line that begins with a slash is a command. Its text when that is all there is to it; undefined when the agent works. */
async function sendTyped(session: Session, message: MessageOptions): Promise<string | undefined> {
  const isTyped = message.prompt.startsWith("/");
  const { command } = await session.rpc.send({ ...message, commands: isTyped }).catch((error: unknown) => {
    throw isTyped && error instanceof AppError && error.code === "invalid_params"
      ? new UsageError(error.message)
      : error;
  });
  if (command?.kind !== "text" && command?.kind !== "completed") return undefined;
  if (command.kind === "completed" && (await session.rpc.metadata.activity()).hasActiveWork) return undefined;
  return (command.kind === "text" ? command.text : command.message) ?? "";
}

/** Sends the prompt, if there is one, and waits for the end of the run, or stops it when the signal says so. */
async function converse(
  session: Session,
  prompt: Prompt | undefined,
  { watch, signal }: { watch: RunWatch; signal: AbortSignal },
): Promise<RunEnd | { type: "stopped" }> {
  if (signal.aborted) return { type: "stopped" };
  const stopped = new Promise<"stopped">((resolve) => {
    signal.addEventListener("abort", () => resolve("stopped"), { once: true });
  });
  if (prompt === undefined) await checkIsOpen(session, watch);
  else {
    const message = await messageFor(session, prompt);
    watch.begin();
    const answered = await sendTyped(session, message);
    if (answered !== undefined) return { type: "answered", text: answered };
  }
  const end = await Promise.race([watch.ended, stopped]);
  if (end !== "stopped") return end;
  await session.abort();
  await Promise.race([watch.ended, delay(LAST_NEWS_MS)]);
  return { type: "stopped" };
}
