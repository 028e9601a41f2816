/** The boards of a runtime's sessions, and who may consolidate into them, put together from its configuration. */
import type { Store } from "../store/store.ts";
import type { World } from "../world.ts";
import { findRun } from "./background-runs.ts";
import { type BoardOptions, SessionBoards } from "./board.ts";
import type { RuntimeConfig } from "./config.ts";
import { Consolidations } from "./consolidation.ts";
import { RUN_VARIABLE, subconsciousSwitch } from "./subconscious.ts";

export function boardsOf(
  store: Store,
  runtime: RuntimeConfig,
  { now }: World,
): { boards: SessionBoards; consolidations: Consolidations } {
  const boards = new SessionBoards({ store, isDefault: subconsciousSwitch(runtime), given: givenBy(store, runtime) });
  return { boards, consolidations: new Consolidations({ store, boards, now }) };
}

/** A process that consolidates works on the board of that session, also when another branch is checked out by now. */
function givenBy({ documents }: Store, { env }: RuntimeConfig): BoardOptions["given"] {
  const id = env[RUN_VARIABLE];
  if (!id) return undefined;
  return async () => {
    const run = await findRun(documents, id);
    if (!run) throw new Error(`There is no consolidation ${id}`);
    return run;
  };
}
