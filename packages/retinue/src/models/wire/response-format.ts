/** The form that an answer must have: as clients of this protocol name it, and as endpoints do. */
import * as z from "zod";

const OfClients = z.object({ type: z.literal("json_schema"), jsonSchema: z.record(z.string(), z.unknown()) });

/** What `response_format` of a chat completion takes; a format in that form already stays as it is. */
export function responseFormatForWire(format: unknown): unknown {
  const named = OfClients.safeParse(format);
  return named.success ? { type: "json_schema", json_schema: named.data.jsonSchema } : format;
}
