/**
 * The plugins of one session: those that its host names, and the installed ones where it looks for files.
 *
 * Read when the session opens, at `reload`, and when the host names others. What is handed out stays the same object until then, and
 * nothing is loaded where there is no plugin.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SessionConfig } from "@retinue/protocol";
import type { PluginSet } from "./plugin-set.ts";

const NONE: PluginSet = { plugins: [], agents: [], skills: [], hooks: [], servers: [], commands: [], problems: [] };

export class SessionPlugins {
  readonly #home: string;
  readonly #folder: string;
  #current = NONE;
  #key = "";

  /** What a host names may be relative to the folder in which its session began. */
  constructor(home: string, folder: string) {
    this.#home = home;
    this.#folder = folder;
  }

  get current(): PluginSet {
    return this.#current;
  }

  /** Reads them again if the host names others, or if `isForced`. */
  async refresh(
    { pluginDirectories: named = [], enableConfigDiscovery: isDiscovering = false }: SessionConfig,
    { isForced = false } = {},
  ): Promise<void> {
    const home = this.#home;
    const directories = named.map((each) => resolve(this.#folder, each));
    const hasInstalled = isDiscovering && existsSync(join(home, "plugins"));
    const key = JSON.stringify([directories, hasInstalled]);
    if (key === this.#key && !isForced) return;
    this.#key = key;
    if (directories.length === 0 && !hasInstalled) this.#current = NONE;
    else this.#current = (await import("./plugin-set.ts")).readPluginSet({ home, directories, isDiscovering });
  }
}
