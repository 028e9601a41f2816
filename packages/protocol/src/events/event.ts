/** What an event type is: its wire name, its data, whether the log keeps it, and one sentence about it. */
import type * as z from "zod";
import { type Lazy, lazy } from "../schema.ts";

export interface EventDefinition<Type extends string = string, Data extends z.ZodType = z.ZodType> {
  readonly name: Type;
  readonly data: Lazy<Data>;
  /** False: broadcast only, never stored, and marked `ephemeral` on the wire. */
  readonly persisted: boolean;
  readonly summary: string;
}

export function event<const Type extends string, Data extends z.ZodType>(
  type: Type,
  { data, persisted, summary }: { data: () => Data; persisted: boolean; summary: string },
): EventDefinition<Type, Data> {
  return { name: type, data: lazy(data), persisted, summary };
}
