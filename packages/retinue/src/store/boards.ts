/**
 * Context boards as a port: what agents keep for later sessions of one repository and branch, as short notes.
 *
 * A change is one transaction that also prunes, so that several processes may write at once and a board never outgrows its bounds. What may
 * be kept, and in which words, is decided by whoever writes.
 */

/** Which board: the real path that stands for a repository or a folder, and the branch; "" where there is none. */
export interface BoardPlace {
  readonly repository: string;
  readonly branch: string;
}

export interface BoardEntry {
  /** Never given to another entry, also after this one is gone. */
  readonly id: string;
  readonly text: string;
  readonly at: number;
  /** Who wrote it: an agent by name, or `user`. */
  readonly agent: string;
  /** Absent when it was not written in a session. */
  readonly sessionId?: string;
}

export interface BoardBounds {
  entries: number;
  /** Of all texts together. */
  bytes: number;
}

export interface BoardChange {
  /** Ids of entries to take away first. */
  remove?: readonly string[];
  /** In this order. A text that is there already becomes the newest entry, under its old id. */
  add?: readonly Omit<BoardEntry, "id">[];
  /** Afterwards the oldest entries go until the rest is within these. */
  bounds: BoardBounds;
}

export interface BoardChanged {
  /** Those of `remove` that were there. */
  removed: readonly BoardEntry[];
  added: readonly BoardEntry[];
  /** The oldest, which had to make room. */
  pruned: readonly BoardEntry[];
}

/** The one consolidation that may run for a board; what it means is known to whoever writes it. */
export interface BoardClaim {
  readonly id: string;
  readonly json: string;
}

export interface Boards {
  /** Oldest first. */
  read(place: BoardPlace): Promise<BoardEntry[]>;
  /** The branches of a repository that have a board, the last used first. */
  branches(repository: string): Promise<{ branch: string; entries: number }[]>;
  change(place: BoardPlace, change: BoardChange): Promise<BoardChanged>;
  /** How many entries there were. Also its claim goes. */
  clear(place: BoardPlace): Promise<number>;
  claim(place: BoardPlace): Promise<BoardClaim | undefined>;
  /** Puts a claim in the place of the one with this id, or of none. False when another is there: somebody was faster. */
  exchangeClaim(
    place: BoardPlace,
    claim: { expected: string | undefined; next: BoardClaim | undefined },
  ): Promise<boolean>;
}
