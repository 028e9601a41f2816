/**
 * A control group (cgroup v2) for the processes of one family, where the system lets this user make one.
 *
 * No process can leave it by itself, not even by clearing its environment. It is made below the group that this process is in, so that
 * limits of the system hold as before. Where that fails, once and for all, there is none, and the mark has to be enough.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isProcessAlive, thisProcess } from "../store/holder.ts";

const NAME = /^retinue-(\d+)-(\d+)-[0-9a-f]+$/;
/** Where groups are made; null where they cannot be. */
let parent: string | null | undefined;

export interface ControlGroup {
  readonly folder: string;
  /** A process that writes its pid into this file joins. */
  readonly door: string;
}

export function makeControlGroup(mark: string): ControlGroup | undefined {
  parent ??= divisibleGroup();
  if (parent === null) return undefined;
  const { pid, startedAt } = thisProcess();
  const folder = path.join(parent, `retinue-${pid}-${startedAt}-${mark}`);
  try {
    mkdirSync(folder);
  } catch {
    parent = null; // Not ours to divide. It is not tried again.
    return undefined;
  }
  const door = path.join(folder, "cgroup.procs");
  if (existsSync(door)) return { folder, door };
  removeControlGroup(folder);
  parent = null;
  return undefined;
}

/** Also of the groups below it. Empty when it is gone. */
export function membersOf(folder: string): number[] {
  if (!isOurs(folder)) return [];
  return foldersOf(folder).flatMap((each) => readLines(path.join(each, "cgroup.procs")).map(Number));
}

/** Ends all members at once, including those that are being forked at this moment. Older kernels cannot do it. */
export function killMembers(folder: string): void {
  const file = path.join(folder, "cgroup.kill");
  if (!isOurs(folder) || !existsSync(file)) return;
  try {
    writeFileSync(file, "1");
  } catch {
    return; // It is gone; what is left is killed one by one.
  }
}

/** False while anything is in it. True when there is none. */
export function removeControlGroup(folder: string): boolean {
  if (!isOurs(folder)) return true;
  for (const each of foldersOf(folder).reverse()) {
    try {
      rmdirSync(each);
    } catch {
      return !existsSync(folder); // A killed member that nobody has waited for still counts for a moment.
    }
  }
  return true;
}

/** The path comes from the store as well, so it is looked at before anything in it is killed. */
const isOurs = (folder: string): boolean => NAME.test(path.basename(folder)) && existsSync(folder);

/** The folder and those in it, outer ones first. */
function foldersOf(folder: string): string[] {
  return [folder, ...foldersIn(folder).flatMap(foldersOf)];
}

function foldersIn(folder: string): string[] {
  try {
    const inner = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
    return inner.map(({ name }) => path.join(folder, name));
  } catch {
    return []; // Removed meanwhile.
  }
}

/** What killed runtimes of other homes have left empty is removed on the way; what still has members is the business of their next runtime. */
function divisibleGroup(): string | null {
  const own = ownGroup();
  if (own === undefined) return null;
  for (const folder of foldersIn(own)) {
    const [, pid, startedAt] = NAME.exec(path.basename(folder)) ?? [];
    const isLeft = pid !== undefined && !isProcessAlive({ pid: Number(pid), startedAt: Number(startedAt) });
    if (isLeft && membersOf(folder).length === 0) removeControlGroup(folder);
  }
  return own;
}

/** The folder of the group that this process is in, where cgroup v2 is mounted. */
function ownGroup(): string | undefined {
  if (process.platform !== "linux" || process.env.RETINUE_CGROUPS === "off") return undefined;
  const own = readLines("/proc/self/cgroup").find((line) => line.startsWith("0::"));
  // id parent device root mountpoint options … - type source options
  const mount = readLines("/proc/self/mountinfo")
    .map((line) => line.split(" "))
    .find((fields) => fields[fields.indexOf("-") + 1] === "cgroup2");
  const [root, at] = [mount?.[3], mount?.[4]];
  if (own === undefined || root === undefined || at === undefined) return undefined;
  const relative = path.relative(root, own.slice(3));
  return relative.startsWith("..") ? undefined : path.join(at, relative);
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}
