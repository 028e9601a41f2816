/**
 * The folder in which a plugin is put together, and what an install leaves that was killed: what it had fetched goes, and the plugin that it
 * was about to replace comes back.
 *
 * The name of the folder says which process works in it.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isProcessAlive, thisProcess } from "../store/holder.ts";

const NAME = /^\.new-(\d+)-(\d+)-/;

/** In the folder of plugins. */
export function newStage(folder: string): string {
  const { pid, startedAt } = thisProcess();
  return mkdtempSync(join(folder, `.new-${pid}-${startedAt}-`));
}

/** Moves a plugin aside, so that another can take its place. Until the stage is removed it can come back. */
export function moveAside(stage: string, place: { folder: string; name: string }): void {
  const plugin = join(place.folder, place.name);
  if (!existsSync(plugin)) return;
  mkdirSync(aside(stage));
  renameSync(plugin, join(aside(stage), place.name));
}

export function settleCutOff(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const [, pid, startedAt] = NAME.exec(name) ?? [];
    if (pid === undefined || isProcessAlive({ pid: Number(pid), startedAt: Number(startedAt) })) continue;
    const stage = join(folder, name);
    const moved = existsSync(aside(stage)) ? readdirSync(aside(stage)) : [];
    for (const each of moved)
      if (!existsSync(join(folder, each))) renameSync(join(aside(stage), each), join(folder, each));
    rmSync(stage, { recursive: true, force: true });
  }
}

const aside = (stage: string): string => join(stage, "before");
