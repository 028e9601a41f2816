/** The folders that a server may look at, as it asks for them: those of the session. */
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { Client } from "@modelcontextprotocol/client";

export type Roots = () => readonly string[];

export function serveRoots(client: Client, roots: Roots): void {
  client.setRequestHandler("roots/list", async () => listedRoots(roots));
}

export const listedRoots = (roots: Roots): { roots: { uri: string; name: string }[] } => ({
  roots: roots().map((path) => ({ uri: pathToFileURL(path).href, name: basename(path) || path })),
});

/** Looked at before a call, so that nobody has to report a change. */
export class RootsNews {
  readonly #roots: Roots;
  #told: string;

  constructor(roots: Roots) {
    this.#roots = roots;
    this.#told = roots().join("\0");
  }

  async send(client: Client): Promise<void> {
    const now = this.#roots().join("\0");
    if (now === this.#told) return;
    this.#told = now;
    // Servers of the newer protocol ask when they need them, and are not told.
    await client.sendRootsListChanged().catch(() => undefined);
  }
}
