/** Whether closed sessions are consolidated by themselves, and within which bounds: environment first, then config.json. */
import { AppError } from "@retinue/protocol";
import { readModelsConfig } from "../models/config.ts";
import type { SessionFilter, SessionRecord, Store } from "../store/store.ts";
import type { RuntimeConfig } from "./config.ts";

export interface SubconsciousSettings {
  isOn: boolean;
  /** So many prompts of the user a session must have had since it was consolidated last. */
  minUserTurns: number;
  maxSeconds: number;
  maxTokens: number;
  /** In credits; no limit of its own when absent. */
  maxCost?: number;
}

/** Set in a process that consolidates: the run, which the store knows. Such a process never starts another one. */
export const RUN_VARIABLE = "RETINUE_CONSOLIDATION";
/** The session that it looks back on. */
export const PARENT_VARIABLE = "RETINUE_PARENT_SESSION";

const SESSION_PREFIX = "consolidation-";

/** The session of such a process. It repeats what the other one said, so it is deleted with the end of its run, and is nothing to go on with. */
export const consolidatingSession = (runId: string): string => `${SESSION_PREFIX}${runId}`;
const isConsolidating = (sessionId: string): boolean => sessionId.startsWith(SESSION_PREFIX);

/** The sessions that people and programs have; the last used first. */
export async function listedSessions({ sessions }: Store, filter?: SessionFilter): Promise<SessionRecord[]> {
  return (await sessions.list(filter)).filter(({ id }) => !isConsolidating(id));
}

export function subconsciousSettings({
  home,
  subconscious,
}: Pick<RuntimeConfig, "home" | "subconscious">): SubconsciousSettings {
  const { enabled = false, ...given } = readModelsConfig(home).subconscious ?? {};
  return { minUserTurns: 3, maxSeconds: 300, maxTokens: 400_000, ...given, isOn: subconscious ?? enabled };
}

/** Off while config.json cannot be read: whoever needs the file to work reports that. It is read once, as it is for models. */
export function subconsciousSwitch(runtime: Pick<RuntimeConfig, "home" | "subconscious">): () => boolean {
  let isOn = runtime.subconscious;
  return () => {
    try {
      isOn ??= subconsciousSettings(runtime).isOn;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
    return isOn ?? false;
  };
}
