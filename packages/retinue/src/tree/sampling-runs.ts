/**
 * Model requests of MCP servers that a client has made here instead of answering by itself (`session.mcp.executeSampling`).
 *
 * They are on the bill of the agent whose call it is, as far as that is known, and end with the ask that they are for, with the client's call,
 * and with the session.
 */
import type { CreateMessageRequestParams } from "@modelcontextprotocol/client";
import { AppError, messageOf, type Params, type Result } from "@retinue/protocol";
import type { Asker } from "../asks/ask.ts";
import type { AskBroker } from "../asks/broker.ts";
import type { Agent } from "../loop/agent.ts";
import type { Session } from "../session/session.ts";
import { sampleModel } from "./sample-model.ts";
import { DENIED, isDenied } from "./sampling.ts";

export interface SamplingRunsOptions {
  root: Session;
  asks: Pick<AskBroker, "list">;
  /** The agent of a session of the tree; the main agent when the session is unknown. */
  agentOf(sessionId: string | undefined): Agent & Asker;
}

interface Run {
  /** The ask that it is for. */
  askId?: string;
  stop: AbortController;
}

type Wanted = Omit<Params<"session.mcp.executeSampling">, "sessionId">;

export class SamplingRuns {
  readonly #options: SamplingRunsOptions;
  readonly #running = new Map<string, Run>();

  constructor(options: SamplingRunsOptions) {
    this.#options = options;
    options.root.log.listen((events) => {
      for (const { type, data } of events)
        if (type === "sampling.completed" && "requestId" in data) this.#settled(data.requestId);
    });
  }

  async execute(wanted: Wanted, options: { signal: AbortSignal }): Promise<Result<"session.mcp.executeSampling">> {
    const { requestId, serverName: server, request } = wanted;
    if (this.#running.has(requestId))
      throw new AppError("invalid_params", `A sampling with the id ${requestId} is running already`);
    const ask = this.#askOf(wanted);
    const agent = this.#options.agentOf(ask?.sessionId);
    if (isDenied(agent, { server })) return { action: "failure", error: `Sampling was refused: ${DENIED}.` };
    const stop = new AbortController();
    this.#running.set(requestId, { askId: ask?.requestId, stop });
    const signal = AbortSignal.any([options.signal, stop.signal]);
    try {
      return { action: "success", result: await sampleModel(agent, await paramsOf(request), { signal }) };
    } catch (error) {
      return signal.aborted ? { action: "cancelled" } : { action: "failure", error: messageOf(error) };
    } finally {
      this.#running.delete(requestId);
    }
  }

  /** False when no such request is running. */
  cancel(requestId: string): boolean {
    const run = this.#running.get(requestId);
    const isNew = run !== undefined && !run.stop.signal.aborted;
    run?.stop.abort();
    return isNew;
  }

  close(): void {
    for (const { stop } of this.#running.values()) stop.abort();
  }

  #settled(askId: unknown): void {
    for (const run of this.#running.values()) if (run.askId === askId) run.stop.abort();
  }

  /** By its id; by the server's own id only when that means one ask. */
  #askOf({ requestId, serverName, mcpRequestId }: Wanted) {
    const open = this.#options.asks.list("sampling");
    const same = open.filter(
      ({ payload }) => payload.serverName === serverName && payload.mcpRequestId === mcpRequestId,
    );
    return open.find((ask) => ask.requestId === requestId) ?? (same.length === 1 ? same[0] : undefined);
  }
}

async function paramsOf(request: Wanted["request"]): Promise<CreateMessageRequestParams> {
  const { isSpecType } = await import("@modelcontextprotocol/client");
  if (isSpecType.CreateMessageRequestParams(request)) return request;
  throw new AppError("invalid_params", "request must be the parameters of sampling/createMessage");
}
