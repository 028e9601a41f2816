/**
 * The context board in a session: the tool, and the section of the system prompt.
 *
 * Owns whether a session has a board, which one, and when its agents are shown it anew: providers reuse what they have computed for a prompt
 * only while it stays the same, so the section changes only where the conversation begins anew anyway, or with the branch.
 */
import { messageOf, type SessionConfig } from "@retinue/protocol";
import { boardSection } from "../continuity/recall/board-words.ts";
import { Board } from "../continuity/records/board.ts";
import { contextBoardTool } from "../continuity/serve/board-tool.ts";
import type { Agent } from "../loop/agent.ts";
import type { Session } from "../session/session.ts";
import type { BoardPlace } from "../store/boards.ts";
import type { Store } from "../store/store.ts";
import type { Tool } from "../tools/tool.ts";
import type { TreeParts } from "../tree/parts.ts";
import { boardPlace } from "../workspace/board-place.ts";

/** The board of a folder, for whoever looks at it outside a session. */
export function boardOfFolder(store: Store, { folder, branch }: { folder: string; branch?: string }): Board {
  const place = boardPlace(folder);
  return new Board(store, branch === undefined ? place : { ...place, branch });
}

export interface BoardOptions {
  store: Store;
  /** Whether sessions that say nothing about it have one. */
  isDefault(): boolean;
  /** In a process that consolidates a session: the board of that session, wherever the process itself works. */
  given?: () => Promise<{ place: BoardPlace; sessionId: string }>;
}

export class SessionBoards {
  readonly #options: BoardOptions;

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  /** A program whose sessions are for several people must not find notes of one in the prompt of another, unless it asks for it. */
  isOn({ memory, enableConfigDiscovery }: SessionConfig): boolean {
    return memory?.enabled ?? (enableConfigDiscovery === true || this.#options.isDefault());
  }

  /** The board of a session at this moment. */
  async of(root: Session): Promise<Board> {
    return new Board(this.#options.store, await this.#placeOf(root));
  }

  tools(agent: Agent, { configuration }: TreeParts): readonly Tool[] {
    if (!this.isOn(configuration.current)) return [];
    const { root } = agent.session;
    const place = () => this.#placeOf(root);
    return [
      contextBoardTool({ store: this.#options.store, place, author: () => this.#authorOf(agent), now: root.world.now }),
    ];
  }

  /** What the agents of a session that have the tool are shown: read when it is needed first, after a summary, and on another branch. */
  section(root: Session): () => Promise<string | undefined> {
    let key = "";
    let shown: Promise<string | undefined> = Promise.resolve(undefined);
    const read = async (place: BoardPlace) => {
      try {
        const board = new Board(this.#options.store, place);
        return boardSection({ place, entries: await board.read(), others: await board.otherBranches() });
      } catch (error) {
        const message = `The context board cannot be read, so the agents are not shown it: ${messageOf(error)}`;
        root.announce("session.warning", { warningType: "storage", message });
        return undefined;
      }
    };
    return async () => {
      const place = await this.#placeOf(root);
      const now = JSON.stringify([place.repository, place.branch, root.state.checkpoints]);
      if (now !== key) shown = read(place);
      key = now;
      return await shown;
    };
  }

  async #placeOf({ place }: Session): Promise<BoardPlace> {
    return (await this.#options.given?.())?.place ?? boardPlace(place.workingDirectory);
  }

  async #authorOf({ session, name }: Agent): Promise<{ agent: string; sessionId: string }> {
    const agent = name ?? session.root.state.selectedAgent ?? "main";
    return { agent, sessionId: (await this.#options.given?.())?.sessionId ?? session.root.id };
  }
}
