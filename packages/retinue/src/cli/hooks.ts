/** `retinue hooks list`: which commands files name, for which events, and whether they run. */
import { relative, resolve } from "node:path";
import { visible } from "@retinue/protocol";
import { hookLine } from "../hooks/file-hook.ts";
import { hookPlaces } from "../hooks/hook-places.ts";
import { type FoundHook, readHooks } from "../hooks/hook-reader.ts";
import { readInstalledSet } from "../plugins/plugin-set.ts";
import { ProjectGate } from "../project/gate.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { trustOf } from "./trust.ts";

const STATES: Readonly<Record<FoundHook["state"], string>> = {
  runs: "runs",
  untrusted: "does not run: the folder is not trusted (retinue trust add)",
  unallowed: "does not run: new or changed since the folder was trusted (retinue trust add)",
  off: "does not run: disableAllHooks",
};

/** Resolves with the exit code. */
export async function listHooks(named: string | undefined, flags: CommonFlags, context: CliContext): Promise<number> {
  const { terminal, cwd, env } = context;
  const folder = resolve(cwd, named ?? ".");
  await using own = openOwnRuntime({ env, home: flags.home });
  const gate = new ProjectGate(folder, trustOf(own, context));
  await gate.refresh();
  const { home } = own.runtime.config;
  const { hooks: plugins } = readInstalledSet(home);
  const places = hookPlaces({ home, userFolder: env.HOME, project: gate, plugins });
  const { hooks, problems } = readHooks(places, gate);
  if (flags.json) terminal.out(`${JSON.stringify({ hooks: hooks.map(rowOf), problems }, null, 2)}\n`);
  else {
    if (hooks.length === 0) terminal.out("No file names a hook. How to write one: docs/hooks.md\n");
    for (const found of hooks) for (const line of linesOf(found, folder)) terminal.out(`${line}\n`);
    for (const problem of problems) terminal.note(`! ${problem}`);
  }
  return problems.length === 0 ? 0 : 1;
}

function rowOf({ hook, place, state }: FoundHook): object {
  const { event, eventName, matcher, run, cwd, env, limitMs, isGuard, isAsync } = hook;
  const { origin, file, plugin } = place;
  const said = { event, eventName, matcher, run, cwd, env, timeoutSec: limitMs / 1000, isGuard, isAsync };
  return { origin, file, plugin: plugin?.name, ...said, state };
}

function linesOf({ hook, place, state }: FoundHook, folder: string): string[] {
  const file = place.origin === "project" ? relative(folder, place.file) : place.file;
  const whose = place.plugin ? `plugin ${place.plugin.name}` : place.origin;
  return [hookLine(hook), `  ${visible(file)} (${visible(whose)}) ${STATES[state]}`];
}
