/** The log of a session as a file, for hooks that want to read it. Each write appends only new events. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "@retinue/protocol";
import type { Session } from "../session/session.ts";
import { appendPrivateFile } from "../store/private-files.ts";
import type { Store } from "../store/store.ts";

export class Transcript {
  readonly #root: Session;
  readonly #store: Store;
  #writtenUpTo = -1;
  #last: Promise<unknown> = Promise.resolve();

  constructor(root: Session, store: Store) {
    this.#root = root;
    this.#store = store;
  }

  get path(): string {
    return join(this.#root.place.folder, "events.jsonl");
  }

  /** Called after the log was cut: the next write rewrites the file. */
  restart(): void {
    this.#writtenUpTo = -1;
  }

  /** Writes run one after the other, because two at the same time would write the same events. */
  write(): Promise<string> {
    const written = this.#last.then(() => this.#append());
    this.#last = written.catch(() => undefined); // The caller gets the error.
    return written;
  }

  /** The file is a courtesy: when it cannot be written, hooks find what was written before. */
  async #append(): Promise<string> {
    const { path } = this;
    try {
      await this.#appendTo(path);
    } catch (error) {
      this.#writtenUpTo = -1; // A part of it may be in the file.
      const message = `The transcript ${path} is not up to date: ${messageOf(error)}`;
      this.#root.announce("session.warning", { warningType: "storage", message });
    }
    return path;
  }

  async #appendTo(path: string): Promise<void> {
    await this.#root.log.committed();
    const events = await this.#store.events.read(this.#root.id, { after: this.#writtenUpTo });
    if (this.#writtenUpTo < 0) rmSync(path, { force: true });
    const last = events.at(-1);
    if (last) {
      appendPrivateFile(path, events.map(({ json }) => `${json}\n`).join(""));
      this.#writtenUpTo = last.pos;
    }
  }
}
