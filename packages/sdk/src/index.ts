/** The public names of the SDK. */
export {
  AppError,
  type Attachment,
  type ErrorCode,
  type EventOf,
  type EventType,
  type FleetDependency,
  type FleetProgress,
  type FleetReport,
  type FleetResult,
  type FleetTodo,
  type ModelInfo,
  type PermissionDecision,
  type PermissionRequest,
  RemoteError,
  type SessionEvent,
  type TaskInfo,
  type TaskProgress,
  type ToolResultObject,
  type Transport,
} from "@retinue/protocol";
export {
  type AgentNode,
  type AgentStatus,
  type AgentTree,
  type Ask,
  childrenOf,
  emptyTree,
  MAIN,
  mainNode,
  type NodeUsage,
  openAsks,
  totalUsage,
  type WaitReason,
  waitReason,
  walk,
} from "./agent-node.ts";
export { foldTree, treeOf } from "./agent-tree.ts";
export { AnswerError, type AnswerIssue, type AnswerSchema, type AskOptions } from "./ask.ts";
export type { CancelTask } from "./attached.ts";
export type { SubagentInstance } from "./children.ts";
export { RetinueClient, type RetinueClientOptions, type TraceContext } from "./client.ts";
export { RuntimeConnection } from "./connection.ts";
export type { EventListener, TypedEventListener } from "./event-hub.ts";
export type { ClientInfo } from "./handshake.ts";
export type { HookEvent, HookHandler, HookInvocation, SessionHooks } from "./hooks.ts";
export { interruptedTreeOf } from "./interrupted-tree.ts";
export type { LaunchOptions, TelemetryConfig } from "./launch.ts";
export type {
  SessionLifecycleEvent,
  SessionLifecycleEventType,
  SessionLifecycleHandler,
  SessionListFilter,
  SessionMetadata,
} from "./lifecycle.ts";
export type {
  StdioRuntimeConnection,
  TcpRuntimeConnection,
  TransportRuntimeConnection,
  UriRuntimeConnection,
} from "./link.ts";
export type { McpAuthHandler, McpAuthRequest, McpAuthResult, McpAuthToken } from "./mcp-auth.ts";
export type { AssistantMessageEvent, MessageOptions, WaitLimits } from "./message.ts";
export {
  approveAll,
  type PermissionHandler,
  type PermissionInvocation,
  type PermissionRequestResult,
} from "./permissions.ts";
export type {
  BearerTokenProvider,
  GitHubTokenProvider,
  GitHubTokenResult,
  MCPHTTPServerConfig,
  MCPServerConfig,
  MCPStdioServerConfig,
  NamedProviderConfig,
  ProviderConfig,
  ProviderTokenArgs,
} from "./providers.ts";
export type {
  AutoModeSwitchHandler,
  CommandContext,
  CommandDefinition,
  ElicitationContext,
  ElicitationHandler,
  ElicitationResult,
  ElicitationSchema,
  ExitPlanModeHandler,
  ExitPlanModeRequest,
  ExitPlanModeResult,
  UserInputHandler,
  UserInputRequest,
  UserInputResponse,
} from "./questions.ts";
export type { ReconnectOptions } from "./reconnect.ts";
export type { CallParams, CallResult, ServerRpc, SessionRpc } from "./rpc.ts";
export type { ClientState } from "./runtime-keeper.ts";
export { Session } from "./session.ts";
export type { ResumeSessionConfig, SessionConfig, SessionConfigBase } from "./session-config.ts";
export type {
  FleetData,
  FleetGraph,
  FleetOptions,
  FleetPlan,
  SessionFleet,
  TypedFleetReport,
  TypedTodo,
} from "./session-fleet.ts";
export type { CustomAgentConfig } from "./session-options.ts";
export {
  HostTask,
  type HostTaskOptions,
  SessionTasks,
  type StartAgent,
  type StartTypedAgent,
  type TypedTask,
} from "./session-tasks.ts";
export type { StreamOptions, StreamPart } from "./stream.ts";
export type { SectionOverride, SectionTransform, SystemMessageConfig } from "./system-message.ts";
export {
  type AnyTool,
  defineTool,
  type Tool,
  type ToolConfig,
  type ToolHandler,
  type ToolInvocation,
  type ZodSchema,
} from "./tools.ts";
export { type RenderOptions, renderTree } from "./tree-text.ts";
