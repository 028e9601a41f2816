/**
 * The agent tree of an open session: what is stored when the session is joined, then every event that comes.
 *
 * Owns that nothing counts twice: events that come while the stored ones are read may be among them.
 */
import type { SessionEvent } from "@retinue/protocol";
import { type AgentTree, emptyTree } from "./agent-node.ts";
import { foldTree, treeOf } from "./agent-tree.ts";
import type { History } from "./history.ts";
import { restingTreeOf } from "./interrupted-tree.ts";

/** Only the end of the log can still be on its way. */
const KEPT = 1_000;

export class LiveTree {
  #tree: AgentTree = emptyTree();
  /** Events that came since the reading began. */
  #arrived: SessionEvent[] | undefined;
  #known: ReadonlySet<string> = new Set();
  #loading: Promise<AgentTree> | undefined;
  #hasBeginning = false;

  get current(): AgentTree {
    return this.#tree;
  }

  /** Whether the beginning was seen: then nothing came before it. */
  get hasBeginning(): boolean {
    return this.#hasBeginning;
  }

  follow(event: SessionEvent): void {
    if (event.type === "session.start") this.#hasBeginning = true;
    this.#arrived?.push(event);
    if (!this.#known.has(event.id)) this.#tree = foldTree(this.#tree, event);
  }

  /** Puts the stored events in the place of what is known. `held` are events that came and will be followed later. */
  load(read: () => Promise<History>, held: () => readonly SessionEvent[] = () => []): Promise<AgentTree> {
    this.#loading ??= this.#load(read, held).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(read: () => Promise<History>, held: () => readonly SessionEvent[]): Promise<AgentTree> {
    const arrived: SessionEvent[] = [];
    this.#arrived = arrived;
    try {
      const { events, isActive } = await read();
      const base = isActive ? treeOf(events) : restingTreeOf(events);
      this.#known = new Set([...toldBy(events, arrived), ...toldBy(events, held())]);
      this.#tree = treeOf(
        arrived.filter(({ id }) => !this.#known.has(id)),
        base,
      );
      return this.#tree;
    } finally {
      this.#arrived = undefined;
    }
  }
}

/**
 * The ids of what the stored events tell already: their own, and those of unstored events that came before one of them. An
 * `assistant.usage` is such an event; the stored message after it has the same numbers.
 */
function toldBy(stored: readonly SessionEvent[], arrived: readonly SessionEvent[]): string[] {
  const ids = stored.slice(-KEPT).map(({ id }) => id);
  const own = new Set(ids);
  const last = arrived.findLastIndex(({ id }) => own.has(id));
  return [...ids, ...arrived.slice(0, last + 1).map(({ id }) => id)];
}
