/**
 * The connections of a TCP server that are not let in yet: how many there may be, how long each may stay, and how much it may send.
 *
 * Whoever can reach the port can be here, so all of it is bounded. Nothing is explained to them: a client of ours never comes near
 * these limits.
 */
import type { Socket } from "node:net";
import type { Receiver, Transport } from "@retinue/protocol/peer";

export interface VisitorLimits {
  /** With one more, the oldest has to go: strangers who hold every place cannot keep a client out. */
  connections: number;
  stayMs: number;
  /** Of everything that a connection sends before it is let in. */
  bytes: number;
  messages: number;
}

const LIMITS: VisitorLimits = { connections: 128, stayMs: 30_000, bytes: 64 * 1024, messages: 32 };

export class Visitors {
  readonly #limits: VisitorLimits;
  /** In the order in which they came. */
  readonly #all = new Set<Visitor>();

  constructor(limits: Partial<VisitorLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  get count(): number {
    return this.#all.size;
  }

  receive(socket: Socket): Visitor {
    const [oldest] = this.#all;
    if (oldest && this.#all.size >= this.#limits.connections) oldest.turnAway();
    const visitor = new Visitor(socket, { limits: this.#limits, onGone: () => this.#all.delete(visitor) });
    this.#all.add(visitor);
    return visitor;
  }
}

export class Visitor {
  readonly #socket: Socket;
  readonly #limits: VisitorLimits;
  readonly #onGone: () => void;
  readonly #deadline: NodeJS.Timeout;
  #isAdmitted = false;
  #bytes = 0;
  #messages = 0;

  constructor(socket: Socket, { limits, onGone }: { limits: VisitorLimits; onGone: () => void }) {
    this.#socket = socket;
    this.#limits = limits;
    this.#onGone = onGone;
    this.#deadline = setTimeout(() => this.turnAway(), limits.stayMs).unref();
    socket.once("close", () => this.#gone());
  }

  /** The largest frame that is read now, when it is not the ordinary limit. */
  get maxFrameBytes(): number | undefined {
    return this.#isAdmitted ? undefined : this.#limits.bytes - this.#bytes;
  }

  admit(): void {
    this.#isAdmitted = true;
    this.#gone();
  }

  turnAway(): void {
    this.#gone();
    this.#socket.destroy();
  }

  /** The transport with these limits on what comes in. */
  watch(transport: Transport): Transport {
    return {
      send: (text) => transport.send(text),
      close: () => transport.close(),
      start: (receiver) => transport.start(this.#watched(receiver)),
    };
  }

  #watched(receiver: Receiver): Receiver {
    return {
      text: (text) => {
        if (this.#isAdmitted || this.#mayPass(text)) receiver.text(text);
        else this.turnAway();
      },
      bad: (reason) => {
        if (this.#isAdmitted) receiver.bad(reason);
        else this.turnAway();
      },
      closed: () => receiver.closed(),
    };
  }

  #mayPass(text: string): boolean {
    this.#bytes += Buffer.byteLength(text);
    this.#messages++;
    return this.#bytes <= this.#limits.bytes && this.#messages <= this.#limits.messages;
  }

  #gone(): void {
    clearTimeout(this.#deadline);
    this.#onGone();
  }
}
