/**
 * The diagnostic log of this process: one file per process under `logs/` of the home folder.
 *
 * Nothing is opened before there is something to write, so a healthy start pays nothing for it.
 */
import { join } from "node:path";
import type { Logger } from "pino";
import { withoutKnownValues } from "../secrets/known-values.ts";
import { redact } from "../secrets/redact.ts";
import { makePrivateFolder, PRIVATE_FILE } from "../store/private-files.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

const CLIENT_NAMES: ReadonlyMap<string, LogLevel> = new Map([
  ["none", "silent"],
  ["warning", "warn"],
  ["all", "debug"],
]);

export class Diagnostics {
  readonly #home: string;
  readonly #level: LogLevel;
  #logger: Promise<Logger | undefined> | undefined;

  constructor({ home, level = "warn" }: { home: string; level?: LogLevel }) {
    this.#home = home;
    this.#level = level;
  }

  write(level: Exclude<LogLevel, "silent">, message: string, details: object = {}): void {
    if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(this.#level)) return;
    this.#logger ??= this.#open();
    // A disk that is full when something has to be noted about it must not end the process.
    void this.#logger
      .then((logger) => logger?.[level](withoutKnownValues(details), redact(message)))
      .catch(() => undefined);
  }

  async #open(): Promise<Logger | undefined> {
    try {
      const folder = join(this.#home, "logs");
      makePrivateFolder(folder);
      const { pino } = await import("pino");
      const destination = pino.destination({
        dest: join(folder, `process-${Date.now()}-${process.pid}.log`),
        sync: true,
        mode: PRIVATE_FILE,
      });
      destination.on("error", () => undefined);
      return pino({ level: this.#level }, destination);
    } catch {
      return undefined; // A home that cannot be written to is reported by the calls that need it.
    }
  }
}

/** The level that a client's flag means: its `none`, `warning` and `all` have other names here. */
export function logLevel(text: string | undefined): LogLevel {
  return LOG_LEVELS.find((level) => level === text) ?? CLIENT_NAMES.get(text ?? "") ?? "warn";
}

export const isLogLevel = (text: string): boolean =>
  LOG_LEVELS.some((level) => level === text) || CLIENT_NAMES.has(text);
