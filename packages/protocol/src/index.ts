/** What crosses a process boundary, by name. */
export { type Attachment, Attachments } from "./attachments.ts";
export { Billing, type TokenPrices } from "./billing.ts";
export { type Defined, defined } from "./defined.ts";
export { AppError, ERRORS, type ErrorCode, messageOf } from "./errors.ts";
export type { PlanAction } from "./events/asks.ts";
export { NotificationKind, type ToolRequest } from "./events/conversation.ts";
export type { GateOutcome } from "./events/gates.ts";
export {
  type AnyEvent,
  type Envelope,
  EVENTS,
  type EventData,
  type EventOf,
  type EventType,
  isEventType,
  isKnownEvent,
  isPersisted,
  parseEvent,
  type SessionEvent,
  type UnknownEvent,
} from "./events/index.ts";
export type { McpServerStatus, McpSignInRequest } from "./events/mcp.ts";
export type { AgentUsage, ModelUsage, SessionContext } from "./events/session.ts";
export type { SkillInfo } from "./events/skills.ts";
export { EndReason, FleetProgress, ModelSelectionSource, TaskModelSource } from "./events/subagents.ts";
export type { CallError, CallResult } from "./events/tools.ts";
export { GATE_WORDS, Gate, Gates, MaxGateFailures } from "./gates.ts";
export { HOOKS, type HookInput, type HookOutput, type HookType, parseHookOutput } from "./hooks.ts";
export { type LongTimer, longTimer, timeoutSignal } from "./long-timer.ts";
export type { Method } from "./method.ts";
export type { AgentInfo } from "./methods/agent.ts";
export type { CommandInfo, CommandOutcome } from "./methods/commands.ts";
export type { ModelInfo } from "./methods/connection.ts";
export type { FleetDependency, FleetReport, FleetResult, FleetTodo } from "./methods/fleet.ts";
export type { CompactionResult } from "./methods/history.ts";
export {
  CLIENT_CALLS,
  type ClientCallName,
  isServerMethod,
  METHODS,
  type MethodName,
  NOTIFICATIONS,
  type NotificationName,
  type Params,
  type ParamsInput,
  parseParams,
  type Result,
  SERVER_METHODS,
  type ServerMethodName,
} from "./methods/index.ts";
export type { InstructionSource } from "./methods/instructions.ts";
export type { McpProbe, McpServerInfo, McpTokenAnswer } from "./methods/mcp.ts";
export type { SessionSnapshot } from "./methods/metadata.ts";
export type { Todo } from "./methods/mode-plan.ts";
export type { ModelState, UsageMetrics } from "./methods/model.ts";
export type { QueueItem } from "./methods/queue.ts";
export type { OpenedSession } from "./methods/sessions.ts";
export type { SessionFilter, SessionListing } from "./methods/sessions-catalog.ts";
export type {
  AgentTask,
  ClientTask,
  ClientTaskUpdate,
  ShellTask,
  TaskInfo,
  TaskProgress,
  TaskStatus,
} from "./methods/tasks.ts";
export { WorktreeResult } from "./methods/tasks.ts";
export type { SubagentSettings, ToolMetadata } from "./methods/tools.ts";
export { ElicitationResult, PlanDecision, SamplingResult, UserInputAnswer } from "./methods/ui.ts";
export type { WorkspaceRecord } from "./methods/workspaces.ts";
export {
  Approval,
  PermissionAnswer,
  PermissionDecision,
  type PermissionKind,
  PermissionMode,
  PermissionRequest,
  PermissionResult,
  PermissionRule,
  PermissionSettings,
  PromptRequest,
} from "./permission.ts";
export { PromptTerms, type ToolTerm } from "./prompt-terms.ts";
export { type ModelCapabilities, NamedProviderConfig, ProviderConfig, type ProviderType } from "./provider-config.ts";
export { byteLength, encodeFrame, FrameDecoder, type FrameSink, MAX_FRAME_BYTES } from "./rpc/frames.ts";
export { linkedTransports } from "./rpc/memory-transport.ts";
export { type Dispatch, Peer, type Receiver, RemoteError, type Transport } from "./rpc/peer.ts";
export { type ByteSource, type ByteTarget, streamTransport } from "./rpc/stream-transport.ts";
export { type Lazy, later, lazy, type Mode, type PromptMode } from "./schema.ts";
export {
  Budget,
  CreateSession,
  CustomAgentConfig,
  HostCommand,
  HostToolSpec,
  type InfiniteSessions,
  Isolation,
  type LargeOutput,
  McpServerConfig,
  ModelConfig,
  ResumeSession,
  type SectionOverride,
  type SessionConfig,
  SystemMessageConfig,
} from "./session-config.ts";
export {
  type BinaryResult,
  ResultType,
  ToolResult,
  type ToolResultInput,
  type ToolResultObject,
} from "./tool-result.ts";
export { visible, visibleText } from "./visible.ts";
export { type WrongPlace, wrongPlace } from "./wrong-place.ts";
