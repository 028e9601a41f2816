/** An MCP server on loopback that wants to be signed in to, and the authorization server beside it: registration, PKCE, rotation, expiry. */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

interface Grant {
  clientId: string;
  scope: string;
}

interface Code extends Grant {
  challenge: string;
  redirectUri: string;
  resource: string | null;
}

/** What a test changes while it runs. */
interface Behaviour {
  /** What the documents say instead of the truth. */
  resource?: string;
  issuer?: string;
  authorizationServer?: string;
  authorizationEndpoint?: string;
  tokenEndpoint?: string;
  metadataUrl?: string;
  hasResourceMetadata: boolean;
  hasRegistration: boolean;
  /** What the person in front of the browser does. */
  isDenied: boolean;
  tokenStatus: number;
  expiresIn: number;
  givesRefreshToken: boolean;
  /** What a call of a tool needs. */
  callScope: string;
  tokenType: string;
  /** Called and waited for before tokens are given. */
  beforeTokens(): Promise<void>;
  /** Documents are asked for and never sent. */
  isSilent: boolean;
  /** Where the MCP server itself sends whoever comes. */
  movedTo?: string;
  /** Accepts no token at all. */
  isShut: boolean;
  /** Clients that are refused without this secret, sent in this way. */
  secrets: Map<string, { secret: string; method: "client_secret_basic" | "client_secret_post" }>;
}

export interface OAuthServer extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
  readonly sseUrl: string;
  readonly behaviour: Behaviour;
  /** Every request: path, what it carried, and its body. */
  readonly requests: { path: string; authorization?: string; body: string }[];
  readonly registered: string[];
  of(path: string): { path: string; authorization?: string; body: string }[];
  /** Access tokens end; refresh tokens stay. */
  expire(): void;
  /** Everything that was given out ends. */
  revoke(): void;
  /** A token that somebody else got. */
  grant(scope?: string): string;
}

/** What a browser does with an address. */
export async function visit(address: string | undefined): Promise<{ status: number; body: string }> {
  if (address === undefined) throw new Error("there is no address to visit");
  const response = await fetch(address);
  return { status: response.status, body: await response.text() };
}

export async function startOAuthServer(): Promise<OAuthServer> {
  const behaviour: Behaviour = {
    hasResourceMetadata: true,
    hasRegistration: true,
    isDenied: false,
    tokenStatus: 200,
    expiresIn: 3600,
    givesRefreshToken: true,
    callScope: "use",
    isShut: false,
    isSilent: false,
    beforeTokens: async () => undefined,
    tokenType: "Bearer",
    secrets: new Map(),
  };
  const requests: OAuthServer["requests"] = [];
  const registered: string[] = [];
  const codes = new Map<string, Code>();
  const access = new Map<string, Grant>();
  const refresh = new Map<string, Grant>();
  const streams = new Set<ServerResponse>();

  const send = (
    response: ServerResponse,
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };

  const give = (response: ServerResponse, grant: Grant) => {
    const token = `access-${randomUUID()}`;
    access.set(token, grant);
    const renewal = behaviour.givesRefreshToken ? { refresh_token: `refresh-${randomUUID()}` } : {};
    if (renewal.refresh_token) refresh.set(renewal.refresh_token, grant);
    const { scope } = grant;
    send(response, 200, {
      access_token: token,
      token_type: behaviour.tokenType,
      expires_in: behaviour.expiresIn,
      scope,
      ...renewal,
    });
  };

  const exchange = (response: ServerResponse, form: URLSearchParams, authorization = "") => {
    const basic = Buffer.from(authorization.replace(/^Basic /, ""), "base64").toString();
    const [basicId, basicSecret] = [basic.split(":")[0], basic.slice(basic.indexOf(":") + 1)];
    const clientId = form.get("client_id") ?? basicId;
    const wanted = behaviour.secrets.get(clientId ?? "");
    const shown = wanted?.method === "client_secret_post" ? form.get("client_secret") : basicSecret;
    if (wanted && wanted.secret !== shown) return send(response, 401, { error: "invalid_client" });
    if (behaviour.tokenStatus !== 200) return send(response, behaviour.tokenStatus, { error: "server_error" });
    if (form.get("resource") !== (behaviour.resource ?? `${origin}/mcp`))
      return send(response, 400, { error: "invalid_target" });
    if (form.get("grant_type") === "client_credentials") return give(response, { clientId: "machine", scope: "use" });
    if (form.get("grant_type") === "refresh_token") {
      const used = form.get("refresh_token") ?? "";
      const grant = refresh.get(used);
      refresh.delete(used);
      if (!grant || grant.clientId !== clientId) return send(response, 400, { error: "invalid_grant" });
      return give(response, grant);
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      code?.challenge === challenge && code.redirectUri === form.get("redirect_uri") && code.clientId === clientId;
    if (!isRight) return send(response, 400, { error: "invalid_grant", error_description: "no such code" });
    give(response, code);
  };

  const authorize = (response: ServerResponse, asked: URLSearchParams) => {
    const target = new URL(asked.get("redirect_uri") ?? "");
    target.searchParams.set("state", asked.get("state") ?? "");
    target.searchParams.set("iss", behaviour.issuer ?? origin);
    if (behaviour.isDenied) target.searchParams.set("error", "access_denied");
    else {
      const code = `code-${randomUUID()}`;
      codes.set(code, {
        clientId: asked.get("client_id") ?? "",
        challenge: asked.get("code_challenge") ?? "",
        redirectUri: asked.get("redirect_uri") ?? "",
        resource: asked.get("resource"),
        scope: asked.get("scope") ?? "use",
      });
      target.searchParams.set("code", code);
    }
    response.writeHead(302, { location: target.href });
    response.end();
  };

  /** The grant of a request, or an answer that says what is wanted. */
  const guarded = (request: IncomingMessage, response: ServerResponse, wanted?: string): boolean => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    const grant = behaviour.isShut ? undefined : access.get(token ?? "");
    const where = `resource_metadata="${behaviour.metadataUrl ?? `${origin}/.well-known/oauth-protected-resource/mcp`}"`;
    if (!grant) send(response, 401, { error: "invalid_token" }, { "www-authenticate": `Bearer ${where}, scope="use"` });
    else if (wanted && !grant.scope.split(" ").includes(wanted)) {
      const challenge = `Bearer error="insufficient_scope", scope="${wanted}", ${where}`;
      send(response, 403, { error: "insufficient_scope" }, { "www-authenticate": challenge });
    } else return true;
    return false;
  };

  const documents: Record<string, () => unknown> = {
    "/.well-known/oauth-protected-resource/mcp": () =>
      behaviour.hasResourceMetadata && {
        resource: behaviour.resource ?? `${origin}/mcp`,
        authorization_servers: [behaviour.authorizationServer ?? origin],
      },
    "/.well-known/oauth-authorization-server": () => ({
      issuer: behaviour.issuer ?? origin,
      authorization_endpoint: behaviour.authorizationEndpoint ?? `${origin}/authorize`,
      token_endpoint: behaviour.tokenEndpoint ?? `${origin}/token`,
      ...(behaviour.hasRegistration ? { registration_endpoint: `${origin}/register` } : {}),
      response_types_supported: ["code"],
      ...(behaviour.secrets.size > 0
        ? { token_endpoint_auth_methods_supported: [...behaviour.secrets.values()].map(({ method }) => method) }
        : {}),
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    }),
  };

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://here");
    const body = await text(request);
    requests.push({ path: pathname, authorization: request.headers.authorization, body });
    if (pathname in documents && behaviour.isSilent) return;
    if (behaviour.movedTo !== undefined && /^\/(mcp|sse|messages)$/.test(pathname))
      return send(response, 307, {}, { location: `${behaviour.movedTo}${pathname}` });
    const document = documents[pathname]?.();
    if (document) return send(response, 200, document);
    if (pathname === "/register") {
      registered.push(`client-${registered.length + 1}`);
      return send(response, 201, { ...JSON.parse(body), client_id: registered.at(-1) });
    }
    if (pathname === "/authorize") return authorize(response, searchParams);
    if (pathname === "/token") await behaviour.beforeTokens();
    if (pathname === "/token") return exchange(response, new URLSearchParams(body), request.headers.authorization);
    if (pathname === "/sse" && guarded(request, response)) {
      streams.add(response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write("event: endpoint\ndata: /messages\n\n");
    }
    const wanted = body.includes('"tools/call"') ? behaviour.callScope : undefined;
    if (request.method === "POST" && /^\/(mcp|messages)$/.test(pathname) && guarded(request, response, wanted)) {
      const answer = answerTo(JSON.parse(body));
      if (!answer) return send(response, 202, undefined);
      if (pathname === "/mcp") return send(response, 200, answer);
      for (const stream of streams) stream.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
      return send(response, 202, undefined);
    }
    if (!response.headersSent) send(response, request.method === "GET" && pathname === "/mcp" ? 405 : 404, {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  return {
    origin,
    url: `${origin}/mcp`,
    sseUrl: `${origin}/sse`,
    behaviour,
    requests,
    registered,
    of: (path) => requests.filter((each) => each.path === path),
    expire: () => access.clear(),
    revoke: () => {
      access.clear();
      refresh.clear();
    },
    grant: (scope = "use") => {
      const token = `access-${randomUUID()}`;
      access.set(token, { clientId: "somebody", scope });
      return token;
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const ECHO = { name: "echo", description: "Says it again.", inputSchema: { type: "object" } };

function answerTo({
  id,
  method,
  params,
}: {
  id?: number;
  method: string;
  params?: { arguments?: { text?: string } };
}): unknown {
  if (id === undefined) return undefined;
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "guarded", version: "1" },
    },
    "tools/list": { tools: [ECHO] },
    "tools/call": { content: [{ type: "text", text: `echo: ${params?.arguments?.text}` }] },
  };
  const result = results[method];
  return { jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no such method" } }) };
}
