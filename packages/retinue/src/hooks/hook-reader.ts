/** The hooks of files as they are now, and which of them may run. */
import { dirname } from "node:path";
import { messageOf, visible } from "@retinue/protocol";
import type { ProjectGate } from "../project/gate.ts";
import { readWholeTextFile } from "../project/text-file.ts";
import { commandLine, type FileHook, hookIdentity } from "./file-hook.ts";
import { parseHookFile } from "./hook-file.ts";
import { type HookPlace, MAX_FILES } from "./hook-places.ts";

export interface FoundHook {
  hook: FileHook;
  place: HookPlace;
  identity: string;
  /** `untrusted`: so is its folder. `unallowed`: nobody has allowed this command. `off`: `disableAllHooks`. */
  state: "runs" | "untrusted" | "unallowed" | "off";
}

export interface FoundHooks {
  hooks: readonly FoundHook[];
  problems: readonly string[];
}

const MAX_FILE_BYTES = 256 * 1024;

export function readHooks(places: readonly HookPlace[], gate: Pick<ProjectGate, "isTrusted" | "mayStart">): FoundHooks {
  const problems: string[] = [];
  const files = places.map((place) => ({ place, ...parsed(place, problems) }));
  const isOff = (origin: HookPlace["origin"]) =>
    files.some(
      (file) => file.isOff && file.place.isSettings && (file.place.origin === "user" || file.place.origin === origin),
    );
  const hooks = files.flatMap(({ place, hooks: found, isOff: isFileOff }) =>
    found.map((hook): FoundHook => {
      const identity = hookIdentity(hook);
      const state = isFileOff || isOff(place.origin) ? "off" : permitted(place, identity, gate);
      return { hook, place, identity, state };
    }),
  );
  return { hooks, problems };
}

function parsed(place: HookPlace, problems: string[]): { hooks: readonly FileHook[]; isOff: boolean } {
  const { file, within, ofFiles } = place;
  if (ofFiles !== undefined)
    problems.push(visible(`${dirname(file)}: only the first ${MAX_FILES} of ${ofFiles} files count`));
  try {
    const text = place.content ?? readWholeTextFile(file, { maxBytes: MAX_FILE_BYTES, within });
    if (text === undefined) return { hooks: [], isOff: false };
    const { hooks, isOff, problems: own } = parseHookFile(text, file);
    problems.push(...own);
    return { hooks: hooks.filter((hook) => !isOurs(hook)), isOff };
  } catch (error) {
    problems.push(visible(messageOf(error)));
    return { hooks: [], isOff: false };
  }
}

function permitted(
  { origin }: HookPlace,
  identity: string,
  gate: Pick<ProjectGate, "isTrusted" | "mayStart">,
): FoundHook["state"] {
  if (origin !== "project") return "runs";
  if (!gate.isTrusted) return "untrusted";
  return gate.mayStart(identity) ? "runs" : "unallowed";
}

/** What `retinue connect` has put into the settings of Claude Code tells us of its sessions; of our own we know. */
const isOurs = (hook: FileHook): boolean => /\bretinue(\.js)?["']? hook claude-code\b/.test(commandLine(hook));
