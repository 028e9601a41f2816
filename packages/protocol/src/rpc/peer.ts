/**
 * A JSON-RPC 2.0 peer: both sides of one connection, over any transport that carries whole texts.
 *
 * Owns ids, pending requests, error envelopes and cancellation. Framing is in frames.ts; what a method means is
 * given as `dispatch`. Requests start in the order in which they arrive and run at the same time.
 */
import { AppError, ERRORS, type ErrorCode, messageOf } from "../errors.ts";

/** What a transport reports to its peer. */
export interface Receiver {
  text(text: string): void;
  /** Something came that is not a message. */
  bad(reason: string): void;
  /** The reason is given when this side had one. */
  closed(reason?: string): void;
}

export interface Transport {
  /** Bytes that were sent and are still held here, because the other side does not read them. Absent where nothing is held. */
  readonly queuedBytes?: number;
  send(text: string): void;
  start(receiver: Receiver): void;
  close(): void;
}

export interface Dispatch {
  /** Undefined when there is no such method. */
  request(method: string, params: unknown, options: { readonly signal: AbortSignal }): Promise<unknown> | undefined;
  notification?(method: string, params: unknown): void;
  /** A notification handler threw; nobody waits for its answer, so this is the only trace of it. */
  failed?(error: unknown, method: string): void;
  closed?(reason?: string): void;
}

type Id = number | string;
interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** Answered or lost: stop listening for the abort. */
  settled(): void;
}

/** The number that most errors share. */
const SHARED = -32603;

/** An error answer of the other side, with its number and data as they came. */
export class RemoteError extends AppError {
  override readonly name: string = "RemoteError";
  readonly rpcCode: number;
  constructor(rpcCode: number, message: string, data?: unknown) {
    super(codeOf(rpcCode, data), message, { data });
    this.rpcCode = rpcCode;
  }
}

export class Peer {
  readonly #transport: Transport;
  readonly #dispatch: Dispatch;
  readonly #pending = new Map<Id, Pending>();
  readonly #running = new Map<Id, Cancellation>();
  readonly #maxQueuedBytes: number;
  #nextId: number;
  #closed = false;

  /** A connection that holds more than `maxQueuedBytes` is closed with the next message: the other side does not read. */
  constructor(
    transport: Transport,
    dispatch: Dispatch,
    { firstId = 0, maxQueuedBytes = Number.POSITIVE_INFINITY }: { firstId?: number; maxQueuedBytes?: number } = {},
  ) {
    this.#transport = transport;
    this.#maxQueuedBytes = maxQueuedBytes;
    this.#dispatch = dispatch;
    this.#nextId = firstId;
    transport.start({
      text: (text) => this.#receive(text),
      bad: (reason) => this.#sendError(null, "parse_error", reason),
      closed: (reason) => this.#onClosed(reason),
    });
  }

  get closed(): boolean {
    return this.#closed;
  }
  get queuedBytes(): number {
    return this.#transport.queuedBytes ?? 0;
  }

  /** Resolves with the result as it came; the caller parses it. */
  request(method: string, params: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> {
    if (this.#closed) return Promise.reject(closedError(method));
    if (signal?.aborted) return Promise.reject(cancelledError(method));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const cancel = () => {
        this.#pending.delete(id);
        this.notify("$/cancelRequest", { id });
        reject(cancelledError(method));
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.#pending.set(id, { resolve, reject, settled: () => signal?.removeEventListener("abort", cancel) });
      this.sendText(text);
    });
  }

  notify(method: string, params: unknown): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  /** A whole message that the caller has serialised already: one event is serialised once for all clients. */
  sendText(text: string): void {
    if (this.#closed) return;
    if (this.queuedBytes <= this.#maxQueuedBytes) this.#transport.send(text);
    else this.#giveUp();
  }

  /** These are the last words: whoever begins to read again finds them at the end. */
  #giveUp(): void {
    const message = `The connection is closed, because more than ${Math.round(this.#maxQueuedBytes / 2 ** 20)} MB were sent that nobody read. Connect again, resume, and read the events from your cursor.`;
    this.#transport.send(
      JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: ERRORS.connection_closed.rpc, message } }),
    );
    this.close();
  }

  close(): void {
    this.#transport.close();
    this.#onClosed();
  }

  #send(message: object): void {
    this.sendText(JSON.stringify(message));
  }

  #receive(text: string): void {
    if (this.#closed) return;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch (error) {
      this.#sendError(null, "parse_error", messageOf(error));
      return;
    }
    if (!isObject(message)) {
      const reason = Array.isArray(message) ? "batches are not supported" : "a message is an object";
      this.#sendError(null, "invalid_request", reason);
    } else if (typeof message.method !== "string" && ("result" in message || "error" in message)) {
      // Answers are never answered, however odd they are: two peers would complain to each other for ever.
      if (isId(message.id)) this.#onAnswer(message.id, message);
    } else if (message.jsonrpc !== "2.0") {
      this.#sendError(null, "invalid_request", 'missing "jsonrpc": "2.0"');
    } else if (typeof message.method !== "string") {
      this.#sendError(null, "invalid_request", "neither a request nor an answer");
    } else if (message.id === undefined) {
      this.#onNotification(message.method, message.params);
    } else if (isId(message.id)) {
      this.#onRequest(message.id, message.method, message.params);
    } else {
      this.#sendError(null, "invalid_request", "id must be a number or a string");
    }
  }

  #onRequest(id: Id, method: string, params: unknown): void {
    const cancellation = new Cancellation();
    let answer: Promise<unknown> | undefined;
    try {
      answer = this.#dispatch.request(method, named(params), cancellation);
    } catch (error) {
      answer = Promise.reject(error);
    }
    if (!answer) {
      this.#sendError(id, "method_not_found", `Unhandled method ${method}`);
      return;
    }
    this.#running.set(id, cancellation);
    answer.then(
      (result) => this.#answer(id, cancellation, { result: result ?? null }),
      (error: unknown) => this.#answer(id, cancellation, { error: failure(method, error) }),
    );
  }

  #answer(id: Id, cancellation: Cancellation, outcome: { result: unknown } | { error: Failure }): void {
    if (this.#running.get(id) === cancellation) this.#running.delete(id);
    let text: string;
    try {
      text = JSON.stringify({ jsonrpc: "2.0", id, ...outcome });
    } catch (error) {
      text = JSON.stringify({ jsonrpc: "2.0", id, error: failure("answer", new Error(messageOf(error))) });
    }
    this.sendText(text);
  }

  #onNotification(method: string, params: unknown): void {
    if (method === "$/cancelRequest") {
      const id = isObject(params) ? params.id : undefined;
      if (isId(id)) this.#running.get(id)?.abort();
      return;
    }
    try {
      this.#dispatch.notification?.(method, named(params));
    } catch (error) {
      this.#dispatch.failed?.(error, method);
    }
  }

  #onAnswer(id: Id, message: Record<string, unknown>): void {
    const pending = this.#pending.get(id);
    if (!pending) return; // Cancelled, or answered already.
    this.#pending.delete(id);
    pending.settled();
    const { error } = message;
    if (error === undefined || error === null) {
      pending.resolve(message.result);
    } else {
      const { code, message: text, data } = isObject(error) ? error : { code: 0, message: error, data: undefined };
      pending.reject(new RemoteError(typeof code === "number" ? code : 0, plain(String(text)), data));
    }
  }

  #sendError(id: Id | null, code: ErrorCode, message: string): void {
    this.#send({ jsonrpc: "2.0", id, error: { code: ERRORS[code].rpc, message } });
  }

  #onClosed(reason?: string): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const cancellation of this.#running.values()) cancellation.abort();
    for (const pending of this.#pending.values()) {
      pending.settled();
      pending.reject(closedError("request"));
    }
    this.#running.clear();
    this.#pending.clear();
    this.#dispatch.closed?.(reason);
  }
}

/** Most requests never look at their signal, so it is made when they do. */
class Cancellation {
  #controller: AbortController | undefined;
  #aborted = false;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}

interface Failure {
  code: number;
  message: string;
  data?: unknown;
}

function failure(method: string, error: unknown): Failure {
  const code = error instanceof AppError ? error.code : "internal";
  const { rpc } = ERRORS[code];
  const text = messageOf(error);
  const data = error instanceof AppError ? error.data : undefined;
  if (rpc !== SHARED) return { code: rpc, message: text, data };
  return { code: rpc, message: `Request ${method} failed with message: ${text}`, data: withWord(data, code) };
}

/** Most errors share a number; the word goes along in `data`, where clients of other makers do not look. */
function withWord(data: unknown, code: ErrorCode): unknown {
  if (code === "internal") return data;
  if (data === undefined) return { errorCode: code };
  return isObject(data) ? { errorCode: code, ...data } : data;
}

/** Runtimes put the name of the method before what happened; whoever called it knows that, and a person need not. */
const plain = (text: string): string => text.replace(/^Request \S+ failed with message: (?=\S)/, "");

/** Some clients send `[null]` or nothing where they mean an empty object. */
function named(params: unknown): unknown {
  if (params === undefined || params === null) return {};
  if (!Array.isArray(params)) return params;
  return params[0] ?? {};
}

function closedError(what: string): AppError {
  return new AppError("connection_closed", `Connection is closed (${what})`);
}

function cancelledError(method: string): AppError {
  return new AppError("cancelled", `${method} was cancelled`);
}

function codeOf(rpc: number, data: unknown): ErrorCode {
  if (rpc === SHARED) return wordIn(data) ?? "internal";
  const known = Object.entries(ERRORS).find(([, error]) => error.rpc === rpc);
  return known ? (known[0] as ErrorCode) : "internal";
}

function wordIn(data: unknown): ErrorCode | undefined {
  if (!isObject(data) || typeof data.errorCode !== "string") return undefined;
  return Object.hasOwn(ERRORS, data.errorCode) ? (data.errorCode as ErrorCode) : undefined;
}

function isId(value: unknown): value is Id {
  return typeof value === "number" || typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
