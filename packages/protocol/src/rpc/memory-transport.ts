/** Two ends of a connection in one process: texts arrive in order, each in a later microtask. */
import type { Receiver, Transport } from "./peer.ts";

export function linkedTransports(): [Transport, Transport] {
  const link: Link = { closed: false };
  const a = new MemoryEnd(link);
  const b = new MemoryEnd(link);
  a.other = b;
  b.other = a;
  return [a, b];
}

interface Link {
  closed: boolean;
}

class MemoryEnd implements Transport {
  other: MemoryEnd | undefined;
  readonly #link: Link;
  readonly #inbox: string[] = [];
  #receiver: Receiver | undefined;
  #scheduled = false;
  #hasEnded = false;

  constructor(link: Link) {
    this.#link = link;
  }

  send(text: string): void {
    if (!this.#link.closed) this.other?.take(text);
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#schedule();
  }

  close(): void {
    this.#link.closed = true;
    this.#schedule();
    this.other?.closing();
  }

  take(text: string): void {
    this.#inbox.push(text);
    this.#schedule();
  }

  closing(): void {
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || !this.#receiver) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#deliver());
  }

  /** What was sent before the close still arrives; after that the end is reported. */
  #deliver(): void {
    this.#scheduled = false;
    const texts = this.#inbox.splice(0);
    for (const text of texts) this.#receiver?.text(text);
    if (this.#inbox.length > 0) this.#schedule();
    else if (this.#link.closed && !this.#hasEnded) {
      this.#hasEnded = true;
      this.#receiver?.closed();
    }
  }
}
