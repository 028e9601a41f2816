/**
 * The consolidation of a session that was closed: a process of its own, which outlives this one for a bounded time.
 *
 * Owns when one is started and how. What the process does is the command line's (`--agent rem-agent -p …`); the variables tie it to the session.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { messageOf } from "@retinue/protocol";
import { withoutMarks } from "../processes/mark.ts";
import type { Store } from "../store/store.ts";
import { saveRun } from "./background-runs.ts";
import type { SessionBoards } from "./board.ts";
import type { RuntimeConfig } from "./config.ts";
import words from "./consolidate.md";
import {
  CONSOLIDATED,
  CONSOLIDATING_AGENT,
  type Consolidations,
  consolidatedUntil,
  saidBefore,
} from "./consolidation.ts";
import type { HostedSession } from "./hosted-session.ts";
import { PARENT_VARIABLE, RUN_VARIABLE, subconsciousSettings } from "./subconscious.ts";

export interface DetachedOptions {
  store: Store;
  runtime: RuntimeConfig;
  boards: SessionBoards;
  consolidations: Consolidations;
  /** How to run this program again. A program that embeds the runtime has none, and then nothing is started. */
  program?: readonly string[];
  /** `--provider` of this process. */
  provider?: string;
  now(): number;
  note(message: string): void;
}

/** Starts one for a session that has just been closed, if it is due. Never throws. */
export async function consolidateClosed(hosted: HostedSession, options: DetachedOptions): Promise<void> {
  try {
    const reason = await reasonAgainst(hosted, options);
    if (reason === undefined) await start(hosted, options);
    else if (reason !== "") options.note(`did not consolidate session ${hosted.session.id}: ${reason}`);
  } catch (error) {
    options.note(`could not consolidate session ${hosted.session.id}: ${messageOf(error)}`);
  }
}

/** Empty when there is nothing to say: nobody wants it. Undefined when nothing is against it. */
async function reasonAgainst(hosted: HostedSession, options: DetachedOptions): Promise<string | undefined> {
  const { runtime, boards, consolidations, store, program } = options;
  const { session, tree, main } = hosted;
  const settings = subconsciousSettings(runtime);
  if (!settings.isOn || runtime.env[RUN_VARIABLE]) return ""; // One that consolidates is not consolidated.
  if (session.state.selectedAgent === CONSOLIDATING_AGENT) return "";
  if (!boards.isOn(tree.configuration.current)) return "";
  const prompts = saidBefore(session);
  const before = await consolidatedUntil(store, session.id);
  if (prompts - before < settings.minUserTurns) return "";
  if (program === undefined) return "this program does not know how to start a runtime";
  if (main.model().provider.id === "offline") return "no model is set up";
  const { provider, providers } = tree.configuration.current;
  if (provider || providers) return "its provider is known to its client alone";
  if (!existsSync(session.place.workingDirectory)) return "its folder is gone";
  return await consolidations.refusal(session, tree.configuration.current);
}

/** Recorded first: the process finds its run by the id, and a run whose process never comes is seen as lost. */
async function start({ session, main }: HostedSession, options: DetachedOptions): Promise<void> {
  const { store, runtime, boards, program = [], provider, now } = options;
  const { maxSeconds } = subconsciousSettings(runtime);
  const { workingDirectory } = session.place;
  const startedAt = now();
  const id = `${String(startedAt).padStart(15, "0")}-${session.world.newId()}`;
  const { place } = await boards.of(session);
  const run = { kind: "consolidation" as const, place, sessionId: session.id, workingDirectory, startedAt };
  await saveRun(store.documents, id, { ...run, until: startedAt + maxSeconds * 1000 });
  await store.documents.write([CONSOLIDATED.put(session.id, { prompts: saidBefore(session) })]);
  const [command = "", ...first] = program;
  const args = [
    ...first,
    ...["--agent", CONSOLIDATING_AGENT, "-p", words.trim(), "--yolo", "--silent", "--home", runtime.home],
    ...["--model", main.model().id],
    ...(provider === undefined ? [] : ["--provider", provider]),
  ];
  const env = withoutMarks({ ...runtime.env, [RUN_VARIABLE]: id, [PARENT_VARIABLE]: session.id });
  const child = spawn(command, args, { cwd: workingDirectory, env, detached: true, stdio: "ignore" });
  child.on("error", (error) => options.note(`could not consolidate session ${session.id}: ${messageOf(error)}`));
  child.unref();
}
