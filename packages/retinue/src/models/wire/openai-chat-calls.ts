/**
 * Tool calls of a chat completion, put together from pieces.
 *
 * A piece names its call by index. Endpoints also send pieces with no index, all calls under index 0, no id, or the whole
 * call at once; a piece belongs to a new call when its id is new, or when a complete call would be named a second time.
 */
import * as z from "zod";
import type { Part } from "../provider.ts";
import { isJsonObject, newCallId } from "./wire.ts";

const text = z.string().nullish().catch(undefined);

export const CallPiece = z.looseObject({
  index: z.number().nullish().catch(undefined),
  id: text,
  function: z.looseObject({ name: text, arguments: z.unknown().optional() }).nullish().catch(undefined),
});
export type CallPiece = z.infer<typeof CallPiece>;

interface OpenCall {
  id: string;
  /** As the endpoint gave it; `id` is ours where it gave none. */
  wireId: string | undefined;
  name: string;
  pieces: string[];
}

type Call = Extract<Part, { type: "call" }>;

export class ToolCallPieces {
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();

  /** The part that it makes, if it brings anything. */
  add(piece: CallPiece): Part | undefined {
    const call = this.#callOf(piece);
    const delta = argumentText(piece.function?.arguments);
    if (delta) call.pieces.push(delta);
    return delta || piece.function?.name ? { type: "call_delta", id: call.id, name: call.name, delta } : undefined;
  }

  /** When an answer was cut for its length, incomplete calls are dropped and not run without arguments. */
  finished({ wasCut }: { wasCut: boolean }): Call[] {
    return this.#calls.flatMap(({ id, name, pieces }): Call[] => {
      const written = pieces.join("");
      if (wasCut && !isJsonObject(written)) return [];
      return [{ type: "call", id, name, arguments: written || "{}" }];
    });
  }

  #callOf(piece: CallPiece): OpenCall {
    const open = typeof piece.index === "number" ? this.#byIndex.get(piece.index) : this.#calls.at(-1);
    if (!open || startsAnother(open, piece)) return this.#start(piece);
    open.name ||= piece.function?.name ?? "";
    return open;
  }

  #start(piece: CallPiece): OpenCall {
    const wireId = piece.id || undefined;
    const taken = this.#calls.some((call) => call.id === wireId);
    const call = { id: wireId && !taken ? wireId : newCallId(), wireId, name: piece.function?.name ?? "", pieces: [] };
    this.#calls.push(call);
    if (typeof piece.index === "number") this.#byIndex.set(piece.index, call);
    return call;
  }
}

function startsAnother(open: OpenCall, { id, function: named }: CallPiece): boolean {
  if (id && open.wireId) return id !== open.wireId;
  return Boolean(named?.name) && open.name !== "" && isJsonObject(open.pieces.join(""));
}

/** Some endpoints send the arguments as an object instead of its text. */
function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}
