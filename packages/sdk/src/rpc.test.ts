/** `session.rpc` and `client.rpc` are plain objects: nothing but a call of a method sends anything. */
import { inspect } from "node:util";
import { SERVER_METHODS } from "@retinue/protocol";
import { describe, expect, test } from "vitest";
import { RetinueClient } from "./client.ts";
import { METHOD_NAMES } from "./method-names.ts";
import { serverRpc, sessionRpc } from "./rpc.ts";
import { FakeRuntime } from "./testing/index.ts";

function recorded() {
  const sent: unknown[] = [];
  const send = async (method: string, params: object) => {
    sent.push([method, params]);
    return {};
  };
  return { sent, session: sessionRpc(send, "s"), server: serverRpc(send) };
}

/** What loggers, test runners and the language itself do with any object. */
const LOOKS: Record<string, (rpc: object) => unknown> = {
  "JSON.stringify": (rpc) => JSON.stringify({ rpc }),
  String: (rpc) => String(rpc),
  "a template": (rpc) => `${rpc}`,
  "a comparison": (rpc) => rpc > new Date(0),
  inspect: (rpc) => inspect(rpc, { depth: 9, getters: true, showHidden: true }),
  spread: (rpc) => Object.values<object>({ ...rpc }).map((below) => ({ ...below })),
  keys: (rpc) => Object.keys(rpc),
  await: async (rpc) => await rpc,
  symbols: (rpc) => [Reflect.get(rpc, Symbol.toPrimitive), Reflect.get(rpc, Symbol.asyncIterator)],
  in: (rpc) => ["then" in rpc, "toJSON" in rpc, "nodeType" in rpc],
  "unknown names": (rpc) => [
    Reflect.get(rpc, "toJSON"),
    Reflect.get(rpc, "asymmetricMatch"),
    Reflect.get(rpc, "$$typeof"),
  ],
  "a proxy of a logger": (rpc) => JSON.stringify(new Proxy(rpc, { get: (at, key) => Reflect.get(at, key) })),
  "a matcher": (rpc) => expect({ rpc }).toEqual({ rpc }),
  "a failing matcher": (rpc) => expect(() => expect({ rpc }).toEqual({ rpc: {} })).toThrow(),
  structuredClone: (rpc) => expect(() => structuredClone(rpc)).toThrow(/could not be cloned/),
};

describe.each(["session", "server"] as const)("%s rpc", (kind) => {
  test.each(Object.keys(LOOKS))("%s sends nothing and is harmless", async (name) => {
    const { sent, [kind]: rpc } = recorded();
    const seen = await LOOKS[name]?.(rpc);
    if (name === "await") expect(seen).toBe(rpc);
    if (name === "String" || name === "a template") expect(seen).toBe("[object Object]");
    if (name === "unknown names") expect(seen).toEqual([undefined, undefined, undefined]);
    if (name === "in") expect(seen).toEqual([false, false, false]);
    expect(sent).toEqual([]);
  });

  test("a namespace is the same object each time, and its methods can be taken off", async () => {
    const { sent, session, server } = recorded();
    expect(session.mode).toBe(session.mode);
    const { set } = { ...session.mode };
    const { list } = server.models;
    await set({ mode: "plan" });
    await list();
    expect(sent).toEqual([
      ["session.mode.set", { mode: "plan", sessionId: "s" }],
      ["models.list", {}],
    ]);
  });
});

test("every method of the protocol has its place, and only those", async () => {
  const { sent, session, server } = recorded();
  expect(Object.keys(METHOD_NAMES).sort()).toEqual(Object.keys(SERVER_METHODS).sort());
  for (const name of Object.keys(SERVER_METHODS)) {
    const isOfSession = name.startsWith("session.");
    const steps = name.split(".").slice(isOfSession ? 1 : 0);
    let at: unknown = isOfSession ? session : server;
    for (const step of steps) at = Object(at)[step];
    expect(at, name).toBeTypeOf("function");
    if (typeof at === "function") await at();
    expect(sent.at(-1), name).toEqual([name, isOfSession ? { sessionId: "s" } : {}]);
  }
});

test("a method that this SDK does not know is called by its wire name", async () => {
  const { sent, session, server } = recorded();
  await session.call("session.future.thing", { a: 1 });
  await server.call("future.thing");
  expect(sent).toEqual([
    ["session.future.thing", { a: 1, sessionId: "s" }],
    ["future.thing", {}],
  ]);
});

test("a session and a client can be logged, awaited and compared", async () => {
  const runtime = new FakeRuntime();
  await using client = new RetinueClient({ connection: runtime.connection() });
  const session = await client.createSession({ sessionId: "s" });
  const before = runtime.received.length;
  expect(inspect({ client, session }, { depth: 5 })).toContain("s");
  expect(JSON.stringify({ client, session })).toContain('"sessionId":"s"');
  expect(await session).toBe(session);
  expect({ session }).toEqual({ session });
  expect(runtime.received.slice(before)).toEqual([]);
});
