/**
 * A process that consolidates a session: it enters itself into its run, gets the board, and records how it ended.
 *
 * Owns what such a process may do. It has the board and reading tools whatever its options and its agent's file say, loads nothing of the
 * project, and its budget and its time are bounded.
 */
import type { SessionConfig } from "@retinue/protocol";
import { inheritBlock } from "../continuity/recall/inherit.ts";
import { thisProcess } from "../store/holder.ts";
import type { Store } from "../store/store.ts";
import { OWN_HARNESS } from "../store/transcript-records.ts";
import { type BackgroundRun, findRun, saveRun, stateOf } from "./background-runs.ts";
import { SessionBoards } from "./board.ts";
import type { RuntimeConfig } from "./config.ts";
import { Consolidations } from "./consolidation.ts";
import { consolidatingSession, PARENT_VARIABLE, RUN_VARIABLE, subconsciousSettings } from "./subconscious.ts";

const TOOLS = ["context_board", "session_search", "view", "grep", "glob"];
const MAX_TURNS = 40;
/** What of the session stands in the prompt; the rest can be searched. */
const BLOCK_CHARS = 60_000;
/** So that the agent ends before its process is ended. */
const MARGIN_SECONDS = 5;

export interface ConsolidatingProcess {
  /** What the agent reads of the session. */
  block: string;
  /** What bounds its session. */
  config: Pick<SessionConfig, "availableTools" | "budget" | "enableConfigDiscovery" | "memory"> & { sessionId: string };
  until: number;
}

/** The words say why there is nothing to do here. */
export async function beginConsolidation(
  store: Store,
  runtime: RuntimeConfig,
  now: number,
): Promise<ConsolidatingProcess | { refusal: string }> {
  const id = runtime.env[RUN_VARIABLE] ?? "";
  const run = await findRun(store.documents, id);
  const isTied = run?.sessionId === runtime.env[PARENT_VARIABLE];
  if (!run || !isTied || stateOf(run, now) !== "starting")
    return { refusal: `there is no consolidation ${id} that waits for its process` };
  const holder = thisProcess();
  const held = { ...run, holder };
  await saveRun(store.documents, id, held);
  const refuse = async (words: string) => {
    await endConsolidation(store, runtime, { how: "stopped", words, at: now });
    return { refusal: words };
  };
  const boards = new SessionBoards({ store, isDefault: () => true });
  const consolidations = new Consolidations({ store, boards, now: () => now });
  const refusal = await consolidations.claimFor(run.place, { holder, until: run.until });
  if (refusal !== undefined) return await refuse(refusal);
  const [session] = await store.transcripts.sessions.byKey(run.sessionId, OWN_HARNESS);
  const block =
    session && (await inheritBlock(store.transcripts, session, { tailChars: BLOCK_CHARS, maxChars: BLOCK_CHARS }));
  if (!block) return await refuse("Nothing was said in the session, so there is nothing to consolidate.");
  const config = { ...boundsOf(run, { runtime, now }), sessionId: consolidatingSession(id) };
  return { block, config, until: run.until };
}

function boundsOf(
  run: BackgroundRun,
  { runtime, now }: { runtime: RuntimeConfig; now: number },
): Omit<ConsolidatingProcess["config"], "sessionId"> {
  const { maxTokens, maxCost } = subconsciousSettings(runtime);
  const maxSeconds = Math.max(1, Math.floor((run.until - now) / 1000) - MARGIN_SECONDS);
  return {
    availableTools: TOOLS,
    enableConfigDiscovery: false,
    memory: { enabled: true },
    budget: { maxTurns: MAX_TURNS, maxTokens, maxSeconds, ...(maxCost === undefined ? {} : { maxCost }) },
  };
}

export async function endConsolidation(
  store: Store,
  { env }: Pick<RuntimeConfig, "env">,
  end: NonNullable<BackgroundRun["end"]>,
): Promise<void> {
  const id = env[RUN_VARIABLE] ?? "";
  const run = await findRun(store.documents, id);
  if (run && !run.end) await saveRun(store.documents, id, { ...run, end });
}
