/**
 * One connected client: its peer, the protocol style it opened with, and typed calls to it.
 */
import { CLIENT_CALLS, type ClientCallName, type ParamsInput, type Result } from "@retinue/protocol";
import type { Peer } from "@retinue/protocol/peer";
import { Backlog } from "./backlog.ts";

export type ProtocolStyle = 2 | 3;
export type TaskKind = "agent" | "client" | "shell";

export class Client {
  readonly id: string;
  style: ProtocolStyle = 3;
  taskKinds: readonly TaskKind[] = ["agent", "shell"];
  /** Sessions whose opening was not answered yet: some clients know a session only from then on. */
  readonly opening = new Set<string>();
  readonly backlog = new Backlog(() => this.queuedBytes);
  #peer: Peer | undefined;

  constructor(id: string) {
    this.id = id;
  }

  use(peer: Peer): void {
    this.#peer = peer;
  }

  /** Bytes that were sent to it and that it has not read. */
  get queuedBytes(): number {
    return this.#peer?.queuedBytes ?? 0;
  }

  get isGone(): boolean {
    return this.#peer === undefined || this.#peer.closed;
  }

  /** Calls the client. Rejects when it is not connected, answers with an error, or answers something that cannot be parsed. */
  async call<M extends ClientCallName>(
    method: M,
    params: ParamsInput<M>,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<Result<M>> {
    if (!this.#peer) throw new Error("the client is not connected");
    const answer = await this.#peer.request(method, params, { signal });
    return CLIENT_CALLS[method].result().parse(answer) as Result<M>;
  }

  /** Sends a whole notification, which the caller has serialised once for all clients. */
  send(text: string): void {
    this.#peer?.sendText(text);
  }

  notify(method: string, params: object): void {
    this.#peer?.notify(method, params);
  }
}
