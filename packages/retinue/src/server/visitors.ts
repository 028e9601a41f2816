/**
 * The connections of a TCP server that are not let in yet: how many there may be, how long each may stay, and how much it may send.
 *
 * Whoever can reach the port can be here, so all of it is bounded. Nothing is explained to them: a client of ours never comes near
 * these limits.
 */
import type { Socket } from "node:net";
import type { Receiver, Transport } from "@retinue/protocol/peer";

export interface VisitorLimits {
  /** Connections that have sent no whole message. With one more, the oldest has to go: strangers who hold every place keep nobody out. */
  silent: number;
  /** Connections that have. They are more, because a client must be able to wait among those who guess tokens (token-check.ts). */
  speaking: number;
  stayMs: number;
  /** Of everything that a connection sends before it is let in. */
  bytes: number;
  messages: number;
}

const LIMITS: VisitorLimits = { silent: 128, speaking: 512, stayMs: 30_000, bytes: 64 * 1024, messages: 32 };

export class Visitors {
  readonly #limits: VisitorLimits;
  /** Both in the order in which they came. */
  readonly #silent = new Set<Visitor>();
  readonly #speaking = new Set<Visitor>();

  constructor(limits: Partial<VisitorLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  get count(): number {
    return this.#silent.size + this.#speaking.size;
  }

  receive(socket: Socket): Visitor {
    const visitor = new Visitor(socket, {
      limits: this.#limits,
      onSpeaking: () => {
        this.#silent.delete(visitor);
        addTo(this.#speaking, visitor, this.#limits.speaking);
      },
      onGone: () => {
        this.#silent.delete(visitor);
        this.#speaking.delete(visitor);
      },
    });
    addTo(this.#silent, visitor, this.#limits.silent);
    return visitor;
  }
}

function addTo(room: Set<Visitor>, visitor: Visitor, places: number): void {
  const [oldest] = room;
  if (oldest && room.size >= places) oldest.turnAway();
  room.add(visitor);
}

interface VisitorOptions {
  limits: VisitorLimits;
  /** With its first whole message. */
  onSpeaking(): void;
  onGone(): void;
}

export class Visitor {
  readonly #socket: Socket;
  readonly #options: VisitorOptions;
  readonly #deadline: NodeJS.Timeout;
  #isAdmitted = false;
  #bytes = 0;
  #messages = 0;

  constructor(socket: Socket, options: VisitorOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#deadline = setTimeout(() => this.turnAway(), options.limits.stayMs).unref();
    socket.once("close", () => this.#gone());
  }

  /** The largest frame that is read now, when it is not the ordinary limit. */
  get maxFrameBytes(): number | undefined {
    return this.#isAdmitted ? undefined : this.#options.limits.bytes - this.#bytes;
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
      get queuedBytes() {
        return transport.queuedBytes;
      },
      send: (text) => transport.send(text),
      close: () => transport.close(),
      start: (receiver) => transport.start(this.#watched(receiver)),
    };
  }

  #watched(receiver: Receiver): Receiver {
    return {
      text: (text) => {
        if (this.#socket.destroyed) return; // Turned away by an earlier message of the same packet.
        if (this.#isAdmitted || this.#mayPass(text)) receiver.text(text);
        else this.turnAway();
      },
      bad: (reason) => {
        if (this.#isAdmitted) receiver.bad(reason);
        else this.turnAway();
      },
      closed: (reason) => receiver.closed(reason),
    };
  }

  #mayPass(text: string): boolean {
    const { limits, onSpeaking } = this.#options;
    if (this.#messages === 0) onSpeaking();
    this.#bytes += Buffer.byteLength(text);
    this.#messages++;
    return this.#bytes <= limits.bytes && this.#messages <= limits.messages;
  }

  #gone(): void {
    clearTimeout(this.#deadline);
    this.#options.onGone();
  }
}
