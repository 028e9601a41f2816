/** Asking the person in front of whichever client can show a form. */
import { AppError } from "@retinue/protocol";
import type { ElicitationResult, ElicitationSchema } from "./questions.ts";
import type { SessionRpc } from "./rpc.ts";

export interface UiInputOptions {
  title?: string;
  description?: string;
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  default?: string;
}

export class SessionUi {
  readonly #rpc: SessionRpc;
  readonly #canAsk: () => boolean;

  constructor(rpc: SessionRpc, canAsk: () => boolean) {
    this.#rpc = rpc;
    this.#canAsk = canAsk;
  }

  async elicitation(form: { message: string; requestedSchema: ElicitationSchema }): Promise<ElicitationResult> {
    if (!this.#canAsk()) throw new AppError("not_configured", "no client of this session can show a form");
    const { message, requestedSchema } = form;
    const { action, content } = await this.#rpc.ui.elicitation({ message, requestedSchema: { ...requestedSchema } });
    return content ? { action, content: fieldValues(content) } : { action };
  }

  async confirm(message: string): Promise<boolean> {
    return (await this.#field(message, { type: "boolean", default: true })) === true;
  }

  async select(message: string, options: string[]): Promise<string | null> {
    const chosen = await this.#field(message, { type: "string", enum: options });
    return typeof chosen === "string" ? chosen : null;
  }

  async input(message: string, options: UiInputOptions = {}): Promise<string | null> {
    const typed = await this.#field(message, { type: "string", ...options });
    return typeof typed === "string" ? typed : null;
  }

  async #field(message: string, field: Record<string, unknown>): Promise<unknown> {
    const requestedSchema: ElicitationSchema = { type: "object", properties: { value: field }, required: ["value"] };
    const { action, content } = await this.elicitation({ message, requestedSchema });
    return action === "accept" ? content?.value : undefined;
  }
}

function fieldValues(content: Record<string, unknown>): NonNullable<ElicitationResult["content"]> {
  return Object.fromEntries(
    Object.entries(content).flatMap(([name, value]) => (isValue(value) ? [[name, value]] : [])),
  );
}

function isValue(value: unknown): value is string | number | boolean | string[] {
  if (Array.isArray(value)) return value.every((item) => typeof item === "string");
  return ["string", "number", "boolean"].includes(typeof value);
}
