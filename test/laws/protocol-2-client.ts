/**
 * A program that speaks protocol 2: it opens with `ping`, is asked for host tools and permissions by requests, and answers with their
 * responses. It cannot answer what it is not asked, and no answer is acknowledged.
 */
import { LawClient } from "./law-client.ts";
import type { LawData, LawEvent } from "./law-event.ts";
import { hostResult } from "./law-host.ts";

export class Protocol2Client extends LawClient {
  override async greet(): Promise<void> {
    const { protocolVersion } = await this.call<{ protocolVersion: number }>("ping", {});
    if (protocolVersion !== 2) throw new Error(`the runtime answered with version ${protocolVersion}`);
  }

  override async answerOpen(): Promise<void> {}

  protected override async onRequest(method: string, params: Record<string, unknown>): Promise<unknown> {
    if (method === "tool.call") return await this.#runTool(askOf("external_tool.requested", params));
    if (method === "permission.request") {
      await this.mayAnswer(askOf("permission.requested", params));
      return { result: { kind: "approved" } };
    }
    return await super.onRequest(method, params);
  }

  async #runTool(ask: LawEvent): Promise<unknown> {
    await this.mayAnswer(ask);
    this.ran(ask.data.toolCallId ?? "");
    const textResultForLlm = hostResult(ask.data.arguments?.what);
    return { result: { textResultForLlm, resultType: "success", toolTelemetry: {} } };
  }
}

/** The request as the event that a client of protocol 3 would get. Requests are not recorded. */
function askOf(type: string, params: LawData): LawEvent {
  return { type, id: "", ephemeral: true, data: params };
}
