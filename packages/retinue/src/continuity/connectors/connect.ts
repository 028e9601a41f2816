/** Connects a harness to continuity, disconnects it, and reports what is in effect. */
import { AppError } from "@retinue/protocol";
import { makePrivateFolder } from "../../store/private-files.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { applyChanges, type Check, type Connector, type ConnectorContext, effective, showChange } from "./connector.ts";
import { openclaw } from "./openclaw.ts";
import { opencode } from "./opencode.ts";
import { readRegistry, writeRegistry } from "./registry.ts";

export const CONNECTORS: readonly Connector[] = [claudeCode, opencode, openclaw, codex];

export interface ConnectOptions extends ConnectorContext {
  harness: string;
  /** Shown the exact changes; a no leaves everything as it is. */
  confirm: (changes: string) => Promise<boolean>;
  now: number;
}

export type ConnectResult = { done: true; backup?: string } | { done: false; reason: "nothing to change" | "declined" };

export function connectorNamed(name: string): Connector {
  const found = CONNECTORS.find((each) => each.name === name);
  if (!found)
    throw new AppError(
      "invalid_params",
      `There is no connector ${name}. There are: ${CONNECTORS.map((each) => each.name).join(", ")}`,
    );
  return found;
}

export async function connect(options: ConnectOptions): Promise<ConnectResult> {
  const connector = connectorNamed(options.harness);
  const result = await change(connector, options, "connect");
  if (result.done || result.reason === "nothing to change") {
    makePrivateFolder(options.home);
    const entry = { folder: connector.folder(options), transcripts: connector.transcripts(options) };
    writeRegistry(options.home, { ...readRegistry(options.home), [connector.name]: entry });
  }
  return result;
}

export async function disconnect(options: ConnectOptions): Promise<ConnectResult> {
  const connector = connectorNamed(options.harness);
  const result = await change(connector, options, "disconnect");
  if (result.done) {
    const { [connector.name]: _, ...others } = readRegistry(options.home);
    writeRegistry(options.home, others);
  }
  return result;
}

export async function connectionStatus(
  context: ConnectorContext,
): Promise<{ harness: string; folder: string; checks: Check[] }[]> {
  return Promise.all(
    CONNECTORS.map(async (each) => ({
      harness: each.name,
      folder: each.folder(context),
      checks: await each.check(context),
    })),
  );
}

async function change(
  connector: Connector,
  { confirm, now, ...context }: ConnectOptions,
  way: "connect" | "disconnect",
): Promise<ConnectResult> {
  const changes = effective(connector[way](context));
  if (changes.length === 0) return { done: false, reason: "nothing to change" };
  if (!(await confirm(changes.map(showChange).join("\n\n")))) return { done: false, reason: "declined" };
  return { done: true, backup: applyChanges(context.home, connector.name, changes, now) };
}
