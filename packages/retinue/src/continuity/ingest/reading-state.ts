/** How far a session of another harness has been read, as stored with the session between two hooks. */
import { createHash } from "node:crypto";
import { AppError } from "@retinue/protocol";
import * as z from "zod";
import type { NewTurn } from "../../store/transcript-records.ts";

const Reading = z.object({
  path: z.string().optional(),
  inode: z.number().optional(),
  /** In the file: bytes consumed, and whether that is inside a line which is too long. */
  position: z.object({ offset: z.number(), skipping: z.boolean().optional() }),
  /** Marks of turns that a hook brought before the file: when the file has them, they are not stored again. */
  awaited: z.array(z.string()),
  /** For a transcript that comes whole each time: how many turns were seen, and the mark of the last one. */
  inline: z.object({ count: z.number(), last: z.string() }).optional(),
});
export type Reading = z.output<typeof Reading>;

export function parseReading(stored: string | undefined): Reading {
  if (stored === undefined) return { position: { offset: 0 }, awaited: [] };
  try {
    return Reading.parse(JSON.parse(stored));
  } catch (error) {
    const message = "Where the reader of a transcript stands is stored in a form that is not known";
    throw new AppError("store_unavailable", message, { cause: error });
  }
}

/** The same turn has the same mark, whether a hook or the file brings it. */
export function markOf({ role, text }: Pick<NewTurn, "role" | "text">): string {
  return createHash("sha1")
    .update(`${role}\n${text.replace(/\s{2,}|[^\S ]/g, " ").trim()}`)
    .digest("base64url")
    .slice(0, 16);
}
