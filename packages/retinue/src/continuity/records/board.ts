/**
 * The context board of one repository and branch: what may be kept on it, in which form, and how much.
 *
 * Every way to write goes through here: the tool, the command line. A note is one line without secrets and without anything that cannot be
 * seen, because other agents read it. A board that somebody has switched off shows nothing and keeps nothing.
 */
import { AppError, visible } from "@retinue/protocol";
import * as z from "zod";
import { redact } from "../../secrets/redact.ts";
import type { BoardChanged, BoardEntry, BoardPlace, Boards } from "../../store/boards.ts";
import { document } from "../../store/document.ts";
import type { Documents } from "../../store/store.ts";

/** Of one board. When it is full, its oldest notes make room. */
export const BOARD_BOUNDS = { entries: 100, bytes: 32 * 1024 };
/** What needs more is no note. */
export const MAX_NOTE = 1000;

/** By repository: it is for all its branches. */
const SWITCHED_OFF = document("board-off", () => z.object({ at: z.number() }));

export interface BoardStore {
  readonly boards: Boards;
  readonly documents: Documents;
}

export interface Author {
  agent: string;
  sessionId?: string;
}

export interface BoardEdit {
  remove?: readonly string[];
  add?: readonly string[];
  by: Author;
  at: number;
}

export class Board {
  readonly place: BoardPlace;
  readonly #store: BoardStore;

  constructor(store: BoardStore, place: BoardPlace) {
    this.#store = store;
    this.place = place;
  }

  /** Oldest first; empty while it is off. */
  async read(): Promise<BoardEntry[]> {
    return (await this.isOff()) ? [] : await this.#store.boards.read(this.place);
  }

  /** Other branches of the repository that have notes. */
  async otherBranches(): Promise<{ branch: string; entries: number }[]> {
    if (await this.isOff()) return [];
    const all = await this.#store.boards.branches(this.place.repository);
    return all.filter(({ branch }) => branch !== this.place.branch);
  }

  /** Rejects with `invalid_params` for a text that cannot be a note, and then nothing is changed. */
  async edit({ remove, add = [], by, at }: BoardEdit): Promise<BoardChanged> {
    if (await this.isOff()) throw new AppError("invalid_params", OFF);
    const notes = add.map((text) => ({ text: noteOf(text), at, ...by }));
    return await this.#store.boards.change(this.place, { remove, add: notes, bounds: BOARD_BOUNDS });
  }

  /** How many notes there are, also while it is off. */
  async size(): Promise<number> {
    return (await this.#store.boards.read(this.place)).length;
  }

  async clear(): Promise<number> {
    return await this.#store.boards.clear(this.place);
  }

  async isOff(): Promise<boolean> {
    return (await SWITCHED_OFF.get(this.#store.documents, this.place.repository)) !== undefined;
  }

  /** For all branches of the repository. Notes that are there stay, and are shown again when it is on. */
  async switch(to: "on" | "off", at: number): Promise<void> {
    const { repository } = this.place;
    const change = to === "off" ? SWITCHED_OFF.put(repository, { at }) : SWITCHED_OFF.remove(repository);
    await this.#store.documents.write([change]);
  }
}

const OFF = "The context board of this repository is switched off (retinue board on switches it on again).";

/** The text as it is kept. */
export function noteOf(text: string): string {
  if (text.length > 4 * MAX_NOTE) throw tooLong(text.length); // Not worth a look.
  const note = visible(withoutSecrets(text).replaceAll(/\s+/g, " ").trim());
  if (note === "") throw new AppError("invalid_params", "A note needs a text.");
  if (note.length > MAX_NOTE) throw tooLong(note.length);
  return note;
}

/** A key with something invisible inside is not found as one, and whoever reads the note can put it together again. */
function withoutSecrets(text: string): string {
  const bare = text.replaceAll(UNSEEN, "");
  const clean = redact(bare);
  return clean === bare ? redact(text) : clean;
}

const UNSEEN = /[\p{Cf}\p{Variation_Selector}]|(?!\s)\p{Cc}/gu;

function tooLong(length: number): AppError {
  return new AppError(
    "invalid_params",
    `A note has at most ${MAX_NOTE} characters, and this has ${length}. Keep the one thing that matters, or make several notes of it.`,
  );
}
