/**
 * The operations over HTTP, for this machine only.
 *
 * Three checks before any of them runs: the Host header (keeps out pages that point a name at this machine), the Origin header
 * (keeps out all other pages), and the token, or a signature that only its owner can make (records/proof.ts).
 */
import { AppError, type ErrorCode, messageOf } from "@retinue/protocol";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Continuity } from "../records/continuity.ts";
import { isWord, PROOF_HEADER, PROOF_PATH, Proofs, type Words } from "../records/proof.ts";
import { type Caller, OWNER } from "../records/scope.ts";
import { callerOf } from "../records/tokens.ts";
import type { Operation } from "./operation.ts";
import { operations } from "./operations.ts";

const MAX_BODY = 64 * 1024 * 1024;

const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  parse_error: 400,
  invalid_params: 400,
  authentication_required: 401,
  authentication_failed: 403,
  session_not_found: 404,
  method_not_found: 404,
  store_unavailable: 503,
};

export interface HttpOptions {
  continuity: Continuity;
  /** The owner's token. */
  token: string;
  /** The port, once it is known. Without one nobody can prove anything. */
  port?: () => number | undefined;
  onError?: (error: unknown) => void;
}

type Door = { Variables: { signedBy?: Words } };

export function continuityApp({ continuity, token, port = () => undefined, onError }: HttpOptions): Hono<Door> {
  const app = new Hono<Door>();
  app.use(
    bodyLimit({
      maxSize: MAX_BODY,
      onError: (c) => failed(c, new AppError("invalid_params", "The body is too large")),
    }),
  );
  app.use(async (c, next) => {
    assertLocal(c.req.header("host"), c.req.header("origin"));
    await next();
  });
  addProofs(app, { token, port });
  for (const operation of operations) {
    app.on(operation.method, operation.path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c) => {
      const isOpen = operation.access === "public" || c.get("signedBy") !== undefined;
      const caller = isOpen ? OWNER : await authenticate(continuity, token, c.req.header("authorization"));
      const result = await operation.call(continuity, caller, await inputOf(c, operation));
      return typeof result === "string" ? c.text(result) : c.json(result ?? {});
    });
  }
  app.notFound((c) => failed(c, new AppError("method_not_found", `There is no ${c.req.method} ${c.req.path}`)));
  app.onError((error, c) => {
    onError?.(error);
    return failed(c, error);
  });
  return app;
}

/** Lets the daemon prove itself, takes signed requests, and signs the answers to them. */
function addProofs(app: Hono<Door>, { token, port }: Required<Pick<HttpOptions, "token" | "port">>): void {
  const proofs = new Proofs(token);
  app.get(PROOF_PATH, (c) => {
    const [nonce, at] = [c.req.query("nonce") ?? "", port()];
    if (!isWord(nonce) || at === undefined)
      throw new AppError("invalid_params", "A proof needs a nonce of 32 hex digits");
    return c.json(proofs.offer(nonce, at));
  });
  app.use(async (c, next) => {
    const credentials = /^Proof (\S+)$/.exec(c.req.header("authorization") ?? "")?.[1];
    if (credentials === undefined) return await next();
    const request = { method: c.req.method, path: pathOf(c), body: await c.req.text(), port: port() ?? 0 };
    const words = proofs.accept(credentials, request);
    if (!words) throw new AppError("authentication_required", "This request is not signed with the owner's token");
    c.set("signedBy", words);
    await next();
    c.header(PROOF_HEADER, proofs.sign(words, { status: c.res.status, body: await c.res.clone().text() }));
  });
}

const pathOf = (c: Context) => c.req.url.replace(/^https?:\/\/[^/]*/, "");

function failed(c: Context, error: unknown): Response {
  const code = error instanceof AppError ? error.code : "internal";
  const message =
    error instanceof AppError ? messageOf(error) : "Something went wrong in the daemon; its log tells what.";
  return c.json({ error: { code, message } }, STATUS[code] ?? 500);
}

const LOCAL_HOST = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

function assertLocal(host: string | undefined, origin: string | undefined): void {
  if (host === undefined || !LOCAL_HOST.test(host))
    throw new AppError("authentication_failed", "This daemon serves its own machine only");
  if (origin !== undefined && origin !== `http://${host}`)
    throw new AppError("authentication_failed", "Pages of other origins are not served");
}

async function authenticate({ transcripts }: Continuity, owner: string, header: string | undefined): Promise<Caller> {
  const token = /^Bearer (\S+)$/i.exec(header ?? "")?.[1];
  if (token === undefined) throw new AppError("authentication_required", "A token is needed: Authorization: Bearer …");
  const caller = await callerOf(transcripts, { owner, token });
  if (!caller) throw new AppError("authentication_required", "This token is not known");
  return caller;
}

async function inputOf(c: Context, { method }: Operation): Promise<unknown> {
  const fields = { ...c.req.query(), ...c.req.param() };
  if (method === "GET" || method === "DELETE") return fields;
  const body = await c.req.text();
  try {
    const parsed: unknown = body.trim() === "" ? {} : JSON.parse(body);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)
      ? { ...parsed, ...c.req.param() }
      : parsed;
  } catch (error) {
    throw new AppError("parse_error", `The body is not JSON: ${messageOf(error)}`, { cause: error });
  }
}
