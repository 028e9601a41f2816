/**
 * The command line and environment of a runtime that this client starts.
 *
 * Owns flags and variables. Both are the ones that every runtime of this protocol understands.
 */
export interface TelemetryConfig {
  /** Where traces go (OTLP). Default: `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  otlpEndpoint?: string;
  /** How they are encoded. Default: what the runtime does. */
  otlpProtocol?: "http/json" | "http/protobuf";
  /** A file for traces. Default: none. */
  filePath?: string;
  /** The kind of exporter. Default: what the runtime does. */
  exporterType?: string;
  /** The name of the source of the traces. Default: what the runtime does. */
  sourceName?: string;
  /** Whether prompts and answers are in the traces. Default: what the runtime does. */
  captureContent?: boolean;
}

/** Options of a runtime that this client starts. A runtime that runs already has its own. */
export interface LaunchOptions {
  /** The folder of the runtime, and of sessions that name none. Default: that of this process. */
  workingDirectory?: string;
  /** Where the runtime keeps its state. Default: its own home folder (`RETINUE_HOME`, else `~/.retinue`). */
  baseDirectory?: string;
  /** How much the runtime writes to its log. Default: what the runtime does. */
  logLevel?: "none" | "error" | "warning" | "info" | "debug" | "all";
  /** The whole environment of the runtime. Default: that of this process. */
  env?: Record<string, string | undefined>;
  /** A GitHub token for the models of GitHub. Default: none. */
  gitHubToken?: string;
  /** Whether a stored login may be used. Default: true without `gitHubToken`, else false. Retinue has none. */
  useLoggedInUser?: boolean;
  /** Closes sessions that have been idle for so long. Default: 0, never. */
  sessionIdleTimeoutSeconds?: number;
  /** Sessions that run elsewhere. Default: false. Only for other runtimes. */
  enableRemoteSessions?: boolean;
  /** Traces for OpenTelemetry. Default: none. Only for other runtimes. */
  telemetry?: TelemetryConfig;
}

type Launched =
  | { kind: "stdio"; args?: readonly string[]; env?: Readonly<Record<string, string>> }
  | {
      kind: "tcp";
      args?: readonly string[];
      env?: Readonly<Record<string, string>>;
      port?: number;
      connectionToken?: string;
    };

export function launchArguments(connection: Launched, options: LaunchOptions): string[] {
  const { logLevel, gitHubToken, sessionIdleTimeoutSeconds: idle = 0 } = options;
  const useLoggedInUser = options.useLoggedInUser ?? gitHubToken === undefined;
  return [
    ...(connection.args ?? []),
    "--headless",
    "--no-auto-update",
    ...(logLevel === undefined ? [] : ["--log-level", logLevel]),
    ...(connection.kind === "stdio" ? ["--stdio"] : []),
    ...(connection.kind === "tcp" && connection.port ? ["--port", String(connection.port)] : []),
    ...(gitHubToken === undefined ? [] : ["--auth-token-env", "COPILOT_SDK_AUTH_TOKEN"]),
    ...(useLoggedInUser ? [] : ["--no-auto-login"]),
    ...(idle > 0 ? ["--session-idle-timeout", String(idle)] : []),
    ...(options.enableRemoteSessions ? ["--remote"] : []),
  ];
}

export function launchEnvironment(
  connection: Launched,
  options: LaunchOptions,
  inherited: Record<string, string | undefined>,
): Record<string, string> {
  const { NODE_DEBUG: _noise, ...base } = options.env ?? inherited;
  const all: Record<string, string | undefined> = {
    ...base,
    ...telemetryEnvironment(options.telemetry),
    COPILOT_SDK_AUTH_TOKEN: options.gitHubToken ?? base.COPILOT_SDK_AUTH_TOKEN,
    COPILOT_HOME: options.baseDirectory ?? base.COPILOT_HOME,
    ...(connection.kind === "tcp" ? { COPILOT_CONNECTION_TOKEN: connection.connectionToken } : {}),
    ...connection.env,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function telemetryEnvironment(telemetry: TelemetryConfig | undefined): Record<string, string | undefined> {
  if (!telemetry) return {};
  const { captureContent } = telemetry;
  return {
    COPILOT_OTEL_ENABLED: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: telemetry.otlpEndpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: telemetry.otlpProtocol,
    COPILOT_OTEL_FILE_EXPORTER_PATH: telemetry.filePath,
    COPILOT_OTEL_EXPORTER_TYPE: telemetry.exporterType,
    COPILOT_OTEL_SOURCE_NAME: telemetry.sourceName,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT:
      captureContent === undefined ? undefined : String(captureContent),
  };
}
