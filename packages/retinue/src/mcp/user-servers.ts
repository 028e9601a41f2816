/** Changes of the user's own MCP servers: `mcp-config.json` in the home folder. What else the file has stays. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AppError, type McpServerConfig, messageOf, visible } from "@retinue/protocol";
import { didYouMean } from "../nearest.ts";
import { withFileLock } from "../store/locked-file.ts";
import { makePrivateFolder, writePrivateFile } from "../store/private-files.ts";
import { contentOf, type ServerFileContent, serverOf } from "./config-files.ts";
import { USER_FILE } from "./configured-servers.ts";
import { forgetSignIn } from "./oauth/sign-in-at-home.ts";

type Config = Readonly<Record<string, unknown>>;

export class UserServers {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  get path(): string {
    return join(this.#home, USER_FILE);
  }

  /** As they are written, without those that make no sense. */
  list(): Record<string, Config> {
    return Object.fromEntries(
      Object.entries(this.#read().mcpServers ?? {}).flatMap(([name, value]) => {
        const config = asConfig(name, value);
        return config ? [[name, config]] : [];
      }),
    );
  }

  async add(name: string, config: Config): Promise<void> {
    await this.#change((servers) => {
      if (Object.hasOwn(servers, name))
        throw new AppError("invalid_params", `There is an MCP server ${visible(name)} already.`);
      return { ...servers, [name]: checked(name, config) };
    });
  }

  async update(name: string, config: Config): Promise<void> {
    await this.#change((servers) => {
      refuseUnknown(name, servers);
      return { ...servers, [name]: checked(name, config) };
    });
  }

  /** The sign-in to it goes too. */
  async remove(name: string): Promise<void> {
    let removed: unknown;
    await this.#change((servers) => {
      refuseUnknown(name, servers);
      const { [name]: server, ...others } = servers;
      removed = server;
      return others;
    });
    const config = configOf(name, removed);
    if (config) await forgetSignIn(this.#home, name, config);
  }

  /** For new sessions. A name need not be that of a server of this file. */
  async setDisabled(names: readonly string[], isDisabled: boolean): Promise<void> {
    await this.#alone(() => {
      const content = this.#read();
      const before = content.disabledMcpServers ?? [];
      const others = before.filter((each) => !names.includes(each));
      this.#write({ ...content, disabledMcpServers: isDisabled ? [...others, ...new Set(names)] : others });
    });
  }

  async #change(change: (servers: Readonly<Record<string, unknown>>) => Record<string, unknown>): Promise<void> {
    await this.#alone(() => {
      const content = this.#read();
      this.#write({ ...content, mcpServers: change({ ...content.mcpServers }) });
    });
  }

  /** Two changes at once would each be written over the file as it was before, and one of them would be lost. */
  async #alone(work: () => void): Promise<void> {
    await withFileLock({ path: `${this.path}.lock`, what: USER_FILE }, work);
  }

  #read(): ServerFileContent {
    if (!existsSync(this.path)) return {};
    try {
      return contentOf(readFileSync(this.path, "utf8"));
    } catch (error) {
      throw new AppError("invalid_params", `${this.path} cannot be read, so nothing was changed: ${messageOf(error)}`);
    }
  }

  /** Whoever reads meanwhile sees the old file or the new one. */
  #write(content: ServerFileContent): void {
    makePrivateFolder(this.#home);
    const next = `${this.path}.${randomUUID()}`;
    try {
      writePrivateFile(next, `${JSON.stringify(content, null, 2)}\n`);
      renameSync(next, this.path);
    } finally {
      rmSync(next, { force: true });
    }
  }
}

function checked(name: string, config: Config): Config {
  try {
    serverOf(name, config);
    return config;
  } catch (error) {
    throw new AppError("invalid_params", `The MCP server ${visible(name)}: ${messageOf(error)}.`);
  }
}

function asConfig(name: string, value: unknown): Config | undefined {
  const config = configOf(name, value);
  return config && { ...config };
}

function configOf(name: string, value: unknown): McpServerConfig | undefined {
  try {
    return serverOf(name, value).config;
  } catch {
    return undefined; // Whoever opens a session is told.
  }
}

function refuseUnknown(name: string, servers: Readonly<Record<string, unknown>>): void {
  if (Object.hasOwn(servers, name)) return;
  const names = Object.keys(servers);
  throw new AppError("invalid_params", `There is no MCP server ${visible(name)}${didYouMean(name, names) || "."}`);
}
