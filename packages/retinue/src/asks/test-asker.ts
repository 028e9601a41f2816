/** For tests: an asker on a real log, and for each kind of ask a payload, two answers and the data of its events. */
import { answerKeeper } from "../session/inbox.ts";
import type { LoggedEvent } from "../session/log.ts";
import type { Session } from "../session/session.ts";
import { type SmallSession, smallSession } from "../session/small-session.ts";
import type { StopType } from "../session/stop.ts";
import { type Asker, type AskOptions, ask } from "./ask.ts";
import { AskBroker } from "./broker.ts";
import { type Answer, type AskKind, KINDS, type Payload } from "./kinds.ts";

interface Sample<K extends AskKind> {
  payload: Payload<K>;
  answer: Answer<K>;
  another: Answer<K>;
  /** The data of the end event besides the id. */
  end: object;
  /** The data of the end event when the asker is stopped; undefined when there is none. */
  stopped: Partial<Record<StopType, object>>;
}

const cancelled = (reason: string) => ({ result: { kind: "cancelled", reason } });
const toTheEnd = { abort: {}, interrupt: {}, cancel: {}, suspend: {}, shutdown: {} };

export const SAMPLES: { readonly [K in AskKind]: Sample<K> } = {
  permission: {
    payload: {
      permissionRequest: { kind: "read", path: "/x", intention: "look", toolCallId: "c" },
      promptRequest: { kind: "read", path: "/x", intention: "look" },
    },
    answer: { kind: "reject", feedback: "not that" },
    another: { kind: "approve-once" },
    end: { toolCallId: "c", result: { kind: "denied-interactively-by-user", feedback: "not that" } },
    stopped: {
      abort: cancelled("because"),
      interrupt: cancelled("because"),
      cancel: cancelled("because"),
      suspend: cancelled("Session suspended"),
    },
  },
  tool: {
    payload: { toolCallId: "c", toolName: "probe", arguments: { what: 1 } },
    answer: { result: "found" },
    another: { error: "lost" },
    end: {},
    stopped: toTheEnd,
  },
  question: {
    payload: { question: "Which?", choices: ["a", "b"], allowFreeform: true },
    answer: { answer: "a", wasFreeform: false },
    another: undefined,
    end: { answer: "a", wasFreeform: false },
    stopped: {},
  },
  elicitation: {
    payload: { message: "Fill in", requestedSchema: { type: "object" } },
    answer: { action: "accept", content: { name: "x" } },
    another: { action: "decline" },
    end: { action: "accept", content: { name: "x" } },
    stopped: {},
  },
  sampling: {
    payload: { serverName: "s", mcpRequestId: 1, request: { messages: [], maxTokens: 1 }, message: "May it?" },
    answer: { allow: "once" },
    another: { isRefused: true },
    end: {},
    stopped: toTheEnd,
  },
  exit_plan: {
    payload: { summary: "s", planContent: "p", actions: ["interactive"], recommendedAction: "interactive" },
    answer: { approved: true, selectedAction: "interactive" },
    another: { approved: false },
    end: { approved: true, selectedAction: "interactive" },
    stopped: {},
  },
  command: {
    payload: { command: "/deploy prod", commandName: "deploy", args: "prod" },
    answer: {},
    another: { error: "no" },
    end: {},
    stopped: toTheEnd,
  },
  queued_command: {
    payload: { command: "/wave" },
    answer: { handled: true },
    another: { handled: false },
    end: {},
    stopped: {},
  },
};

/** An asker on a real log. `story` has what was seen from outside, in order. */
export class SmallAsker implements Disposable {
  readonly small: SmallSession = smallSession();
  readonly story: string[] = [];
  readonly sent: LoggedEvent[] = [];
  readonly retracted: string[] = [];
  readonly warnings: string[] = [];
  readonly asks = new AskBroker({
    answerers: {
      deliver: ({ requestId }) => {
        const again = () => this.story.push("offered");
        again();
        this.#onOffer();
        return { again, retract: () => this.retracted.push(requestId) };
      },
    },
    keeper: answerKeeper(this.small.log),
    warn: (message) => this.warnings.push(message),
  });
  #onOffer: () => void = () => undefined;

  constructor() {
    this.small.log.listen((events) => {
      this.sent.push(...events);
      this.story.push(...events.map(({ type }) => type));
    });
  }

  async stored(): Promise<string[]> {
    return (await this.small.store.events.read("root")).map(({ type }) => type);
  }
  /** Answers that are in the store. */
  async kept(): Promise<unknown[]> {
    return (await this.small.store.inbox("root")).map(({ json }) => JSON.parse(json).answer);
  }

  as(session: Session, pathNames: readonly string[] = []): Asker {
    const waiting: Asker["slot"]["waiting"] = async (work) => {
      this.story.push("slot given back");
      try {
        return await work();
      } finally {
        this.story.push("slot taken");
      }
    };
    return {
      session,
      pathNames,
      asks: this.asks,
      slot: { waiting, waitingForPerson: waiting },
    };
  }

  ask<K extends AskKind>(kind: K, options: Partial<AskOptions<K>> = {}): Promise<Answer<K>> {
    const { signal } = new AbortController();
    return ask(this.as(this.small.session), kind, { payload: SAMPLES[kind].payload, callId: "c", signal, ...options });
  }

  /** Settles when an ask was offered to the clients. */
  offered(): Promise<void> {
    return new Promise((resolve) => {
      this.#onOffer = resolve;
    });
  }

  requestId(kind: AskKind): string {
    const event = this.sent.find(({ type }) => type === KINDS[kind].requested);
    return JSON.parse(event?.json ?? "{}").data.requestId;
  }

  ends(kind: AskKind): LoggedEvent[] {
    return this.sent.filter(({ type }) => type === KINDS[kind].completed);
  }

  [Symbol.dispose](): void {
    this.small[Symbol.dispose]();
  }
}
