/** What a line of a transcript file brings. */
import type { NewTurn } from "../../../store/transcript-records.ts";

export type Read = { type: "turn"; turn: NewTurn } | { type: "checkpoint"; summary: string };
