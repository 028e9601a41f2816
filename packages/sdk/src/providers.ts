/**
 * Model endpoints and MCP servers of the host, and tokens that the host makes when they are asked for.
 *
 * Token functions stay in this process: the runtime knows that there is one and asks for a token by name.
 */
import type * as wire from "@retinue/protocol";

export interface ProviderTokenArgs {
  readonly providerName: string;
  readonly sessionId: string;
}
export type BearerTokenProvider = (args: ProviderTokenArgs) => string | Promise<string>;

type Endpoint<Wire> = Omit<Wire, "hasBearerTokenProvider"> & { bearerTokenProvider?: BearerTokenProvider };
export type ProviderConfig = Endpoint<wire.ProviderConfig>;
export type NamedProviderConfig = Endpoint<wire.NamedProviderConfig>;

/** The name under which the token of a session's only provider is asked for. */
const ONLY_PROVIDER = "default";

export type TokenProviders = ReadonlyMap<string, BearerTokenProvider>;

export function tokenProvidersOf({
  provider,
  providers = [],
}: {
  provider?: ProviderConfig | undefined;
  providers?: NamedProviderConfig[] | undefined;
}): TokenProviders {
  const named = [...(provider ? [{ ...provider, name: ONLY_PROVIDER }] : []), ...providers];
  return new Map(
    named.flatMap(({ name, bearerTokenProvider }) =>
      bearerTokenProvider ? [[name, bearerTokenProvider] as const] : [],
    ),
  );
}

export function providerForWire<Config extends ProviderConfig | NamedProviderConfig>(config: Config): object {
  const { bearerTokenProvider, ...rest } = config;
  return bearerTokenProvider ? { ...rest, hasBearerTokenProvider: true } : rest;
}

export interface GitHubTokenArgs {
  readonly host: string;
  readonly sessionId?: string;
  readonly reason: "initial" | "refresh";
}
export type GitHubTokenResult =
  | { kind: "token"; accessToken: string; tokenType?: string; expiresIn: number }
  | { kind: "cancelled" };
export type GitHubTokenProvider = (args: GitHubTokenArgs) => GitHubTokenResult | Promise<GitHubTokenResult>;

interface McpServerShared {
  tools?: string[];
  timeout?: number;
  /** Tools that the server marks as read-only run without asking; nobody checks whether the mark is true. Ours. */
  trustReadOnlyHint?: boolean;
}
export interface MCPStdioServerConfig extends McpServerShared {
  type?: "local" | "stdio";
  command: string;
  args?: string[];
  env?: Record<string, string>;
  workingDirectory?: string;
}
export interface MCPHTTPServerConfig extends McpServerShared {
  type: "http" | "sse";
  url: string;
  headers?: Record<string, string>;
  /** False: nobody is signed in to it. A port: that of the address to which the browser is sent back. */
  auth?: boolean | { redirectPort?: number };
  /** A client that was registered beforehand. */
  oauthClientId?: string;
  oauthPublicClient?: boolean;
  oauthGrantType?: "authorization_code" | "client_credentials";
}
export type MCPServerConfig = MCPStdioServerConfig | MCPHTTPServerConfig;

export function mcpServersForWire(servers: Record<string, MCPServerConfig> | undefined): object | undefined {
  if (!servers) return undefined;
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, mcpServerForWire(server)]));
}

function mcpServerForWire(server: MCPServerConfig): object {
  if (!("workingDirectory" in server)) return server;
  const { workingDirectory, ...rest } = server;
  return { ...rest, cwd: workingDirectory };
}
