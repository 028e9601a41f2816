/** The log of a session as a file, for hooks that want to read it. Written when asked for, and only what is new. */
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../session/session.ts";
import type { Store } from "../store/store.ts";

export class Transcript {
  readonly #root: Session;
  readonly #store: Store;
  #writtenUpTo = -1;

  constructor(root: Session, store: Store) {
    this.#root = root;
    this.#store = store;
  }

  /** The log was cut: the file is written anew when it is next asked for. */
  restart(): void {
    this.#writtenUpTo = -1;
  }

  write(): string {
    const path = join(this.#root.place.folder, "events.jsonl");
    this.#root.log.flush();
    if (this.#writtenUpTo < 0) rmSync(path, { force: true });
    const events = this.#store.events(this.#root.id, { after: this.#writtenUpTo });
    const last = events.at(-1);
    if (last) {
      appendFileSync(path, events.map(({ json }) => `${json}\n`).join(""));
      this.#writtenUpTo = last.pos;
    }
    return path;
  }
}
