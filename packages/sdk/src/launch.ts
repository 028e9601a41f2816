/**
 * The command line and environment of a runtime that this client starts.
 *
 * Owns flags and variables. Both are the ones that every runtime of this protocol understands.
 */
export interface TelemetryConfig {
  otlpEndpoint?: string;
  otlpProtocol?: "http/json" | "http/protobuf";
  filePath?: string;
  exporterType?: string;
  sourceName?: string;
  captureContent?: boolean;
}

export interface LaunchOptions {
  workingDirectory?: string;
  /** Where the runtime keeps its state. */
  baseDirectory?: string;
  logLevel?: "none" | "error" | "warning" | "info" | "debug" | "all";
  /** The whole environment of the runtime; default: that of this process. */
  env?: Record<string, string | undefined>;
  gitHubToken?: string;
  useLoggedInUser?: boolean;
  sessionIdleTimeoutSeconds?: number;
  enableRemoteSessions?: boolean;
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
