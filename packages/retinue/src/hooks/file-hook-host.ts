/** A hook of a file as one of the hosts that are asked. */
import { resolve } from "node:path";
import { messageOf, timeoutSignal, visible } from "@retinue/protocol";
import type { ProcessFamily } from "../processes/family.ts";
import type { Session } from "../session/session.ts";
import { type CommandRun, commandLine, type FileHook, matchedValues, matcherOf } from "./file-hook.ts";
import { answerOf, type CommandEnd } from "./hook-answer.ts";
import { payloadOf } from "./hook-payload.ts";
import type { HookPlace } from "./hook-places.ts";
import type { FoundHook } from "./hook-reader.ts";
import type { HookCall, HookHost } from "./hooks.ts";

export interface HookWorld {
  /** It is a guard, whatever the file says. */
  isStrict: boolean;
  projectFolder: string;
  pluginRoot: string | undefined;
  family(): ProcessFamily;
  /** Aborted when the session closes. */
  closing: AbortSignal;
  trail(ending: Promise<void>): void;
}

export function fileHookHost({ hook, place }: FoundHook, world: HookWorld): HookHost {
  const matches = matcherOf(hook);
  const source = { file: place.file, command: commandLine(hook), plugin: place.plugin?.name };
  const run = async ({ input, session }: HookCall, signal: AbortSignal) => {
    const payload = payloadOf(hook, { input, session });
    return answerOf(hook, await endOf({ hook, place }, world, { payload, session, signal }), input);
  };
  return {
    source,
    limitMs: hook.limitMs,
    isGuard: world.isStrict || hook.isGuard,
    isAskedAbout: ({ hookType, input }) => {
      if (hookType !== hook.event) return false;
      const values = matchedValues(hook.event, input, hook.form);
      return values === undefined || values.some(matches);
    },
    invoke: async (call, { signal }) => {
      if (!hook.isAsync) return await run(call, signal);
      // Nobody waits for it, but whoever wrote it wants to know.
      run(call, AbortSignal.any([timeoutSignal(hook.limitMs), world.closing])).catch((error: unknown) => {
        if (world.closing.aborted) return;
        const message = `The ${hook.eventName} hook of ${place.file} failed: ${messageOf(error)}. It has no effect.`;
        call.session.root.announce("session.warning", { warningType: "hook", message: visible(message) });
      });
      return undefined;
    },
  };
}

async function endOf(
  { hook, place }: Pick<FoundHook, "hook" | "place">,
  world: HookWorld,
  { payload, session, signal }: { payload: string; session: Session; signal: AbortSignal },
): Promise<CommandEnd> {
  const { run, env, limitMs } = hook;
  if ("url" in run) {
    const { postPayload } = await import("./http-run.ts");
    return await postPayload(run, { payload, limitMs, signal });
  }
  const { runCommand } = await import("./command-run.ts");
  const own = variables(session.root.id, world);
  return await runCommand(
    { run: withFolders(run, own), env },
    {
      payload,
      cwd: folderOf(hook, place) ?? session.place.workingDirectory,
      env: own,
      family: world.family(),
      trail: world.trail,
      signal,
    },
  );
}

/** Relative paths of a project were shown as those of its folder, wherever the session works by now. */
function folderOf({ cwd }: FileHook, { origin, folder }: HookPlace): string | undefined {
  return cwd === undefined && origin !== "project" ? undefined : resolve(folder, cwd ?? ".");
}

/** No shell puts them in where there is none. Other variables stay as they are written. */
function withFolders(run: CommandRun, own: Readonly<Record<string, string>>): CommandRun {
  if ("shell" in run) return run;
  const filled = (text: string) => text.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => own[name] ?? whole);
  return { program: filled(run.program), args: run.args.map(filled) };
}

/** The names that other programs use are there too: their hooks ask for them. */
function variables(sessionId: string, { projectFolder, pluginRoot }: HookWorld): Record<string, string> {
  const project = { RETINUE_PROJECT_DIR: projectFolder, CLAUDE_PROJECT_DIR: projectFolder };
  const plugin = { RETINUE_PLUGIN_ROOT: pluginRoot, CLAUDE_PLUGIN_ROOT: pluginRoot, COPILOT_PLUGIN_ROOT: pluginRoot };
  return {
    RETINUE_SESSION_ID: sessionId,
    ...project,
    ...Object.fromEntries(
      Object.entries(plugin).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
  };
}
