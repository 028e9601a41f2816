/**
 * A connection to the runtime over HTTP, for a page: one request whose answer never ends brings messages, and posts send them.
 *
 * Each message is a line. It needs nothing but `fetch`, so it runs in a browser and in Node.
 */
import type { Transport } from "@retinue/sdk";

type Receiver = Parameters<Transport["start"]>[0];

/** `base` is the address of the server, without a slash at its end. */
export async function openLink(base: string, token: string): Promise<Transport> {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${base}/link`, { method: "POST", headers, signal: stop.signal });
  if (!response.ok || !response.body) throw new Error(`the chat server answered: ${await response.text()}`);
  const lines = linesOf(response.body);
  const id = (await lines.next()).value ?? "";
  return new HttpLink({ url: `${base}/link/${id}`, headers, lines, stop });
}

interface HttpLinkOptions {
  url: string;
  headers: Record<string, string>;
  lines: AsyncGenerator<string, void, undefined>;
  stop: AbortController;
}

class HttpLink implements Transport {
  readonly #options: HttpLinkOptions;
  #waiting: string[] = [];
  #isSending = false;

  constructor(options: HttpLinkOptions) {
    this.#options = options;
  }

  send(text: string): void {
    this.#waiting.push(text);
    if (!this.#isSending) void this.#flush();
  }

  start(receiver: Receiver): void {
    void this.#receive(receiver);
  }

  close(): void {
    this.#options.stop.abort();
  }

  /** One post at a time, so that messages arrive in order. */
  async #flush(): Promise<void> {
    const { url, headers, stop } = this.#options;
    this.#isSending = true;
    try {
      while (this.#waiting.length > 0) {
        const body = this.#waiting.join("\n");
        this.#waiting = [];
        const { ok } = await fetch(url, { method: "POST", headers, body, signal: stop.signal });
        if (!ok) this.close();
      }
    } catch {
      this.close(); // The receiver is told that the connection is gone.
    } finally {
      this.#isSending = false;
    }
  }

  async #receive(receiver: Receiver): Promise<void> {
    let reason: string | undefined;
    try {
      for await (const line of this.#options.lines) receiver.text(line);
    } catch (error) {
      reason = this.#options.stop.signal.aborted ? undefined : String(error);
    }
    receiver.closed(reason);
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const [...parts] = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
