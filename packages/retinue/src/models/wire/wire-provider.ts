/** A provider that speaks a wire format: it pushes the parts of an answer as they come. */
import type { ModelRequest, Provider, StreamOptions } from "../provider.ts";
import { PushedParts, type PushPart } from "../pushed-parts.ts";

export interface WireProvider extends Provider {
  answer(request: ModelRequest, options: StreamOptions & { push: PushPart }): Promise<void>;
}

export function wireProvider(format: Omit<WireProvider, "stream">): WireProvider {
  return {
    ...format,
    stream: (request, options) => new PushedParts((push) => format.answer(request, { ...options, push })),
  };
}
