/**
 * The hooks that files name, for one session: which there are, and asking them.
 *
 * Owns their processes. Files are read when the session opens and when trust in its folder or its plugins change; reading and running
 * are loaded only where there is a file.
 */
import type { SessionConfig } from "@retinue/protocol";
import type { ProcessFamily } from "../processes/family.ts";
import type { ProjectGate } from "../project/gate.ts";
import type { HookPlace, PluginHooks } from "./hook-places.ts";
import { hookPlaces } from "./hook-places.ts";
import type { FoundHook } from "./hook-reader.ts";
import type { HookHost } from "./hooks.ts";

export interface FileHooksOptions {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  gate: ProjectGate;
  /** Every hook that is asked before a call is a guard, whatever its file says. */
  isStrict: boolean;
  family(): ProcessFamily;
}

const LEAVE_MS = 500;

export class FileHooks {
  readonly #options: FileHooksOptions;
  readonly #endings = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #family: ProcessFamily | undefined;
  #hosts: readonly HookHost[] = [];
  #problems: readonly string[] = [];
  #key = "";

  constructor(options: FileHooksOptions) {
    this.#options = options;
  }

  /** In the order in which they are asked: the user's, the project's, those of plugins. */
  hosts(): readonly HookHost[] {
    return this.#hosts;
  }

  /** Files and entries that cannot be used. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Reads the files if something has changed that decides about them, or if `isForced`. */
  async refresh(config: SessionConfig, plugins: readonly PluginHooks[], { isForced = false } = {}): Promise<void> {
    const { gate } = this.#options;
    const places = this.#places(config, plugins);
    const isProject = places.some(({ origin }) => origin === "project");
    if (isProject && gate.version === 0) await gate.refresh();
    const key = JSON.stringify([gate.version, places]);
    if (key === this.#key && !isForced) return;
    this.#key = key;
    if (places.length === 0) {
      this.#hosts = [];
      this.#problems = [];
      return;
    }
    const [{ readHooks }, { fileHookHost }] = await Promise.all([
      import("./hook-reader.ts"),
      import("./file-hook-host.ts"),
    ]);
    const { hooks, problems } = readHooks(places, gate);
    // Replaced in one step: a guard must not be missing for a moment.
    this.#problems = problems;
    this.#hosts = hooks.filter(({ state }) => state === "runs").map((found) => fileHookHost(found, this.#world(found)));
  }

  /** Ends what hooks have left running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled([...this.#endings]);
    await this.#family?.end({ graceMs: LEAVE_MS });
  }

  /**
   * None in a runtime that a hook has started: one that starts an agent would start itself for ever. A program that names a plugin has
   * agreed to its hooks, so those need no second word, and only a plain no takes them away.
   */
  #places({ enableFileHooks, enableConfigDiscovery }: SessionConfig, plugins: readonly PluginHooks[]): HookPlace[] {
    const { home, env, gate } = this.#options;
    if (env.RETINUE_IN_HOOK || enableFileHooks === false) return [];
    const isLooking = enableFileHooks ?? enableConfigDiscovery ?? false;
    const places = hookPlaces({ home, userFolder: env.HOME, project: gate, plugins });
    return isLooking ? places : places.filter(({ origin }) => origin === "plugin");
  }

  #world({ place: { plugin } }: FoundHook) {
    const { isStrict, gate } = this.#options;
    return {
      isStrict,
      projectFolder: gate.folder,
      pluginRoot: plugin?.root,
      closing: this.#closing.signal,
      family: () => {
        this.#family ??= this.#options.family();
        return this.#family;
      },
      trail: (ending: Promise<void>) => {
        this.#endings.add(ending);
        const forget = () => this.#endings.delete(ending);
        ending.then(forget, forget);
      },
    };
  }
}
