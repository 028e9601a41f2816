/**
 * Every method of the protocol as a typed function: `session.rpc.tasks.list()`, `client.rpc.models.list({})`.
 *
 * Owns the mapping between wire names and paths. The types come from the protocol's own table; at run time a path is
 * only its name, so calls that are newer than this table work too.
 */
import type { METHODS, ServerMethodName } from "@retinue/protocol";

type Table = typeof METHODS;
export type CallParams<Name extends ServerMethodName> = ReturnType<Table[Name]["params"]>["_zod"]["input"];
export type CallResult<Name extends ServerMethodName> = ReturnType<Table[Name]["result"]>["_zod"]["output"];

/** Sends one call and resolves with its result. */
export type Call = <Name extends ServerMethodName>(
  method: Name,
  params: CallParams<Name>,
  options?: { signal?: AbortSignal },
) => Promise<CallResult<Name>>;

/** `a.b.c` is `a: { b: { c } }`. */
type Head<Rest extends string> = Rest extends `${infer First}.${string}` ? First : Rest;
type Under<Prefix extends string> =
  Extract<ServerMethodName, `${Prefix}${string}`> extends `${Prefix}${infer Rest}` ? Rest : never;
type IsOptional<Params> = Record<never, never> extends Params ? true : false;
type Fn<Params, Result> =
  IsOptional<Params> extends true ? (params?: Params) => Promise<Result> : (params: Params) => Promise<Result>;
type Leaf<Name extends string, Known extends string> = Name extends ServerMethodName
  ? Fn<Omit<CallParams<Name>, Known>, CallResult<Name>>
  : unknown;
type Branch<Prefix extends string, Known extends string> = [Under<Prefix>] extends [never]
  ? unknown
  : { [Name in Head<Under<Prefix>>]: Leaf<`${Prefix}${Name}`, Known> & Branch<`${Prefix}${Name}.`, Known> };

/** Methods of one session; `sessionId` is filled in. */
export type SessionRpc = Branch<"session.", "sessionId">;
/** Methods of the runtime. */
export type ServerRpc = Omit<Branch<"", never>, "session">;

export type Send = (method: string, params: object, options?: { signal?: AbortSignal }) => Promise<unknown>;

/** Types the results: the runtime is trusted to answer in the shape of the protocol. */
export function typedCall(send: Send): Call {
  return ((method: string, params: object, options?: { signal?: AbortSignal }) =>
    send(method, params, options)) as Call;
}

export function sessionRpc(send: Send, sessionId: string): SessionRpc {
  return path("session", (method, params) => send(method, { ...params, sessionId })) as SessionRpc;
}

export function serverRpc(send: Send): ServerRpc {
  return path("", send) as ServerRpc;
}

/** A function that calls the method named by its path, with longer paths as its properties. */
function path(name: string, send: Send): unknown {
  const below = new Map<string, unknown>();
  return new Proxy((params?: object) => send(name, params ?? {}), {
    get: (call, key) => {
      // `await` looks for `then`: a path is not a promise.
      if (typeof key !== "string" || key === "then") return Reflect.get(call, key);
      const known = below.get(key) ?? path(name === "" ? key : `${name}.${key}`, send);
      below.set(key, known);
      return known;
    },
  });
}
