import { linkedTransports, Peer, type PermissionRequest, type SessionConfig } from "@retinue/protocol";
import { describe, expect, test, vi } from "vitest";
import type { Ask, AskKind } from "../asks/kinds.ts";
import { type Unattended, WAIT } from "../asks/unattended.ts";
import type { LoggedEvent } from "../session/log.ts";
import { smallSession } from "../session/small-session.ts";
import { Client, type ProtocolStyle } from "./client.ts";
import { Participants } from "./participants.ts";

type Answerer = (method: string, params: unknown, signal: AbortSignal) => unknown;

/** Clients over real connections; what they answered is in `answers`. */
class Room implements Disposable {
  policy: Unattended = WAIT;
  readonly answers: { requestId: string; answer: unknown; kind: AskKind }[] = [];
  readonly participants = new Participants({
    sessionId: "s",
    unattended: () => this.policy,
    isAllowed: ({ kind }) => kind === "read",
    envelope: (type, data) => JSON.stringify({ type, data }),
    answer: (kind, requestId, answer) => {
      this.answers.push({ requestId, answer, kind });
      this.#wake();
    },
  });
  readonly #peers: Peer[] = [];
  #wake: () => void = () => undefined;

  attach(style: ProtocolStyle, config: SessionConfig, answer: Answerer = () => new Promise(() => undefined)) {
    const [near, far] = linkedTransports();
    const received: unknown[] = [];
    const peer = new Peer(near, {
      request: async (method, params, { signal }) => await answer(method, params, signal),
      notification: (_, params) => received.push(params),
    });
    const client = new Client(`client-${this.#peers.length}`);
    client.style = style;
    client.use(new Peer(far, { request: () => undefined }));
    this.#peers.push(peer);
    this.participants.join(client, config);
    return { client, received, peer };
  }

  /** Settles when this many answers have come. */
  async answered(count = 1): Promise<void> {
    while (this.answers.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  [Symbol.dispose](): void {
    for (const peer of this.#peers) peer.close();
  }
}

const never = () => new Promise(() => undefined);
const fails = () => Promise.reject(new Error("no idea"));
const permissionRequest: PermissionRequest = { kind: "read", path: "/x", intention: "look" };
const permission: Ask<"permission"> = {
  requestId: "r",
  kind: "permission",
  sessionId: "s",
  payload: { permissionRequest, promptRequest: { kind: "read", path: "/x", intention: "look" } },
};
const tool: Ask<"tool"> = {
  requestId: "r",
  kind: "tool",
  sessionId: "s",
  payload: { toolCallId: "c", toolName: "lookup", arguments: { id: 1 } },
};
const question: Ask<"question"> = { requestId: "r", kind: "question", sessionId: "s", payload: { question: "Which?" } };
const event = (type: LoggedEvent["type"], agentId?: string): LoggedEvent => {
  const envelope = { type, data: {}, id: "e", timestamp: "t", parentId: null, ...(agentId ? { agentId } : {}) };
  return { ...envelope, sessionId: agentId ?? "s", json: JSON.stringify(envelope) };
};

test.each([
  ["approved", "approve-once"],
  ["denied-interactively-by-user", "reject"],
  ["denied-no-approval-rule-and-could-not-request-from-user", "user-not-available"],
])("a client of protocol 2 that answers %s has answered %s", async (kind, decision) => {
  using room = new Room();
  const asked: unknown[] = [];
  room.attach(2, { requestPermission: true }, (method, params) => {
    asked.push([method, params]);
    return { result: { kind } };
  });
  room.participants.deliver(permission);
  await room.answered();
  expect(asked).toEqual([["permission.request", { sessionId: "s", permissionRequest }]]);
  expect(room.answers).toEqual([{ requestId: "r", answer: { kind: decision }, kind: "permission" }]);
});

test("a host tool is called on the client of protocol 2 that registered it, and on no other", async () => {
  using room = new Room();
  const asked: unknown[] = [];
  room.attach(2, { tools: [{ name: "other" }] }, () => asked.push("other"));
  room.attach(2, { tools: [{ name: "lookup" }] }, (_, params) => {
    asked.push(params);
    return { result: "found" };
  });
  room.participants.deliver(tool);
  await room.answered();
  expect(asked).toEqual([{ sessionId: "s", toolCallId: "c", toolName: "lookup", arguments: { id: 1 } }]);
  expect(room.answers).toMatchObject([{ answer: { result: "found" } }]);
});

test("clients of protocol 3 get tools and permissions as events, and no request", async () => {
  using room = new Room();
  const asked: unknown[] = [];
  const config = { requestPermission: true, requestUserInput: true, tools: [{ name: "lookup" }] };
  room.attach(3, config, (method) => {
    asked.push(method);
    return { answer: "this", wasFreeform: true };
  });
  for (const ask of [permission, tool, question]) room.participants.deliver(ask);
  await room.answered();
  expect(asked).toEqual(["userInput.request"]);
});

test("a question goes to every client that takes questions, whatever its protocol", async () => {
  using room = new Room();
  const asked: number[] = [];
  for (const style of [2, 3] as const)
    room.attach(style, { requestUserInput: true }, () => {
      asked.push(style);
      return { answer: "this", wasFreeform: true };
    });
  room.attach(3, {}, () => asked.push(0));
  room.participants.deliver(question);
  await room.answered(2);
  expect(asked.sort()).toEqual([2, 3]);
});

test("an ask that another client has settled is cancelled at the clients that were asked", async () => {
  using room = new Room();
  const withdrawn = new Promise<void>((resolve) => {
    room.attach(2, { requestPermission: true }, (_, __, signal) => {
      signal.addEventListener("abort", () => resolve());
      offered.retract();
      return never();
    });
  });
  const offered = room.participants.deliver(permission);
  await withdrawn;
  expect(room.answers).toEqual([]);
});

test("a client that fails leaves the ask to the others; when all have failed, no one can answer", async () => {
  using room = new Room();
  room.attach(2, { requestPermission: true }, fails);
  const slow = room.attach(2, { requestPermission: true }, () => ({ result: { kind: "approved" } }));
  room.participants.deliver(permission);
  await room.answered();
  expect(room.answers).toMatchObject([{ answer: { kind: "approve-once" } }]);
  room.participants.leave(slow.client);
  room.participants.deliver(permission);
  await room.answered(2);
  expect(room.answers[1]).toMatchObject({ answer: { kind: "user-not-available" } });
});

test("while a client of protocol 3 is attached, a failed request leaves the ask open for it", async () => {
  using room = new Room();
  room.attach(2, { requestPermission: true }, fails);
  room.attach(3, { requestPermission: true });
  room.attach(2, { requestUserInput: true }, fails);
  room.participants.deliver(permission);
  room.participants.deliver(question); // Asked later: once this one has failed, so has the first.
  await room.answered();
  expect(room.answers).toEqual([{ requestId: "r", answer: undefined, kind: "question" }]);
});

const shownTool = { ...tool, shown: () => ({ requestId: "r", toolName: "lookup" }) };

/** Everything that was sent to a client before has arrived. */
async function flushed({ client }: { client: Client }): Promise<void> {
  await client.call("hooks.invoke", { sessionId: "s", hookType: "x", input: {} }).catch(() => undefined);
}

test("a client that joins is offered the event of an open ask once, marked as a repeat, and the others are not", async () => {
  using room = new Room();
  const first = room.attach(3, { tools: [{ name: "lookup" }] }, fails);
  room.participants.send([{ ...event("external_tool.requested"), data: { requestId: "r" } }]);
  const offered = room.participants.deliver(shownTool);
  const late = room.attach(3, {}, fails);
  offered.again();
  offered.again();
  for (const each of [first, late]) await flushed(each);
  expect(first.received).toHaveLength(1);
  expect(late.received).toMatchObject([
    { event: { type: "external_tool.requested", data: { requestId: "r", toolName: "lookup", isRepeat: true } } },
  ]);
});

test("a client of protocol 2 that works on a tool is not asked again when others join or leave", async () => {
  using room = new Room();
  const asked: unknown[] = [];
  const config = { tools: [{ name: "lookup" }] };
  room.attach(2, config, (_, params) => {
    asked.push(params);
    return never();
  });
  const offered = room.participants.deliver(tool);
  room.attach(2, config, (_, params) => {
    asked.push(params);
    return { result: "found" };
  });
  offered.again();
  const other = room.attach(2, {}, fails);
  offered.again();
  room.participants.leave(other.client);
  offered.again();
  await room.answered();
  const call = { sessionId: "s", toolCallId: "c", toolName: "lookup", arguments: { id: 1 } };
  expect(asked).toEqual([call, { ...call, isRepeat: true, requestId: "r" }]);
});

test("a session is asked nothing by a client that has not had the answer to its opening", async () => {
  using room = new Room();
  const asked: unknown[] = [];
  const { client } = room.attach(2, { tools: [{ name: "lookup" }] }, (_, params) => {
    asked.push(params);
    return { result: "found" };
  });
  client.opening.add("s");
  const offered = room.participants.deliver(tool);
  client.opening.delete("s");
  expect(asked).toEqual([]);
  offered.again();
  await room.answered();
  expect(asked).toHaveLength(1);
});

test("a tool whose client is gone goes to another client that has it, and the one that is gone has not failed it", async () => {
  using room = new Room();
  const config = { tools: [{ name: "lookup" }] };
  const first = room.attach(2, config, never);
  const offered = room.participants.deliver(tool);
  first.peer.close();
  await expect.poll(() => first.client.isGone).toBe(true);
  expect(room.answers).toEqual([]);
  room.participants.leave(first.client);
  room.attach(2, config, () => ({ result: "found by the other" }));
  offered.again();
  await room.answered();
  expect(room.answers).toMatchObject([{ answer: { result: "found by the other" } }]);
});

describe("an ask that no attached client can answer", () => {
  const write: PermissionRequest = {
    kind: "write",
    fileName: "/x",
    diff: "",
    intention: "change",
    canOfferSessionApproval: false,
  };
  const denied = { ...permission, payload: { ...permission.payload, permissionRequest: write } };

  test.each([
    ["deny", permission, { kind: "user-not-available" }],
    ["deny", tool, { unanswered: "not_run" }],
    ["deny", question, undefined],
    ["rules", permission, { kind: "approve-once" }],
    ["rules", denied, { kind: "user-not-available" }],
    ["rules", tool, { unanswered: "not_run" }],
  ] as const)("is settled at once where the policy is %s", async (type, ask, answer) => {
    using room = new Room();
    room.policy = { type };
    room.attach(3, {});
    room.participants.deliver(ask);
    await room.answered();
    expect(room.answers).toEqual([{ requestId: "r", kind: ask.kind, answer }]);
  });

  test("waits until a client comes that can, or for as long as the policy says", () => {
    vi.useFakeTimers();
    try {
      using room = new Room();
      room.policy = { type: "wait", seconds: 5 };
      const offered = room.participants.deliver(tool);
      vi.advanceTimersByTime(4000);
      const { client } = room.attach(3, { tools: [{ name: "lookup" }] });
      offered.again();
      vi.advanceTimersByTime(60_000);
      expect(room.answers).toEqual([]);
      room.participants.leave(client);
      offered.again();
      vi.advanceTimersByTime(4000);
      offered.again(); // What the others do does not make it longer.
      vi.advanceTimersByTime(1000);
      expect(room.answers).toMatchObject([{ answer: { unanswered: "unknown" } }]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("that may wait for ninety days does not end at once", () => {
    vi.useFakeTimers();
    try {
      using room = new Room();
      const days = 24 * 60 * 60 * 1000;
      room.policy = { type: "wait", seconds: (90 * days) / 1000 };
      room.participants.deliver(tool);
      vi.advanceTimersByTime(89 * days);
      expect(room.answers).toEqual([]);
      vi.advanceTimersByTime(days);
      expect(room.answers).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("is left alone once it is settled", () => {
    vi.useFakeTimers();
    try {
      using room = new Room();
      room.policy = { type: "wait", seconds: 5 };
      room.participants.deliver(tool).retract();
      vi.advanceTimersByTime(60_000);
      expect([room.answers, vi.getTimerCount()]).toEqual([[], 0]);
    } finally {
      vi.useRealTimers();
    }
  });
});

test("an event is sent to all clients, except deltas of sub-agents to those that want none", async () => {
  using room = new Room();
  const all = room.attach(3, {}, fails);
  const some = room.attach(3, { includeSubAgentStreamingEvents: false }, fails);
  room.participants.send([
    event("assistant.message_delta"),
    event("assistant.message_delta", "child"),
    event("assistant.message", "child"),
  ]);
  const hook = { sessionId: "s", hookType: "x", input: {} };
  for (const { client } of [all, some]) await expect(client.call("hooks.invoke", hook)).rejects.toThrow("no idea");
  expect(all.received).toHaveLength(3);
  expect(some.received).toHaveLength(2);
});

test("the client that joined last owns the name of a tool, until it leaves", () => {
  using room = new Room();
  room.attach(3, { tools: [{ name: "lookup", description: "first" }] });
  const { client } = room.attach(3, { tools: [{ name: "lookup", description: "second" }] });
  expect(room.participants.tools).toMatchObject([{ description: "second" }]);
  expect(room.participants.leave(client)).toBe(true);
  expect(room.participants.leave(client)).toBe(false);
  expect(room.participants.tools).toMatchObject([{ description: "first" }]);
});

test("sections are rewritten by a client that asked to, and stay as they are when it cannot answer", async () => {
  using room = new Room();
  const sections = { tone: { content: "kind" } };
  expect(await room.participants.transformSections(sections)).toBe(sections);
  const { client } = room.attach(3, { systemMessage: { mode: "customize" } }, () => ({
    sections: { tone: { content: "kinder" } },
  }));
  expect(await room.participants.transformSections(sections)).toEqual({ tone: { content: "kinder" } });
  room.participants.leave(client);
  room.attach(3, { systemMessage: { mode: "customize" } }, fails);
  expect(await room.participants.transformSections(sections)).toBe(sections);
});

test("hooks run on the clients that have them, in the order in which they joined", async () => {
  using room = new Room();
  room.attach(3, { hooks: true }, () => ({ output: 1 }));
  room.attach(3, {});
  room.attach(2, { hooks: true }, () => ({ output: 2 }));
  const { signal } = new AbortController();
  using small = smallSession();
  const call = { hookType: "sessionEnd", input: {}, session: small.session } as const;
  const outputs = await Promise.all(room.participants.hookHosts().map((host) => host.invoke(call, { signal })));
  expect(outputs).toEqual([1, 2]);
});
