/**
 * Every method of the protocol as a typed function: `session.rpc.tasks.list()`, `client.rpc.models.list({})`.
 *
 * Owns the mapping between wire names and paths. These are plain objects with the names of method-names.ts: programs log,
 * spread and compare what they get, and nothing of that may send a call. What is newer than this SDK goes through `call`.
 */
import type { METHODS, ServerMethodName } from "@retinue/protocol";
import { METHOD_NAMES } from "./method-names.ts";

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

/** Calls a method by its wire name, for runtimes that know more methods than this SDK. */
export interface CallByName {
  call(method: string, params?: object): Promise<unknown>;
}
/** Methods of one session; `sessionId` is filled in. */
export type SessionRpc = Branch<"session.", "sessionId"> & CallByName;
/** Methods of the runtime. */
export type ServerRpc = Omit<Branch<"", never>, "session"> & CallByName;

export type Send = (method: string, params: object, options?: { signal?: AbortSignal }) => Promise<unknown>;

/** Types the results: the runtime is trusted to answer in the shape of the protocol. */
export function typedCall(send: Send): Call {
  return ((method: string, params: object, options?: { signal?: AbortSignal }) =>
    send(method, params, options)) as Call;
}

export function sessionRpc(send: Send, sessionId: string): SessionRpc {
  return rpcOf(paths().session, (method, params) => send(method, { ...params, sessionId })) as SessionRpc;
}

export function serverRpc(send: Send): ServerRpc {
  return rpcOf(paths().server, send) as ServerRpc;
}

/** The next step of a path: a wire name, or the steps below. */
type Paths = Map<string, string | Paths>;
let known: { session: Paths; server: Paths } | undefined;

/** Sorted out once, for all sessions. */
function paths(): { session: Paths; server: Paths } {
  known ??= sortOut();
  return known;
}

function sortOut(): { session: Paths; server: Paths } {
  const session: Paths = new Map();
  const server: Paths = new Map();
  for (const name of Object.keys(METHOD_NAMES)) {
    if (name.startsWith("session.")) file(session, name, name.split(".").slice(1));
    else file(server, name, name.split("."));
  }
  return { session, server };
}

function file(into: Paths, name: string, [step = name, ...rest]: string[]): void {
  if (rest.length === 0) {
    into.set(step, name);
    return;
  }
  const there = into.get(step);
  const below: Paths = there instanceof Map ? there : new Map();
  into.set(step, below);
  file(below, name, rest);
}

function rpcOf(paths: Paths, send: Send): object {
  return branch(paths, send, { call: (method: string, params: object = {}) => send(method, params) });
}

/** Methods are functions, and namespaces are made when they are first looked at: a session uses a few of them. */
function branch(paths: Paths, send: Send, made: Record<string, unknown> = {}): object {
  for (const [step, at] of paths) {
    if (typeof at === "string") made[step] = (params: object = {}) => send(at, params);
    else later(made, step, () => branch(at, send));
  }
  return made;
}

function later(on: object, key: string, make: () => object): void {
  let made: object | undefined;
  const get = () => {
    made ??= make();
    return made;
  };
  Object.defineProperty(on, key, { get, enumerable: true, configurable: true });
}
