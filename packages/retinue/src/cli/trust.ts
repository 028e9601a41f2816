/** `retinue trust`: shows, gives and takes away trust in folders. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { visible } from "@retinue/protocol";
import { ProjectGate } from "../project/gate.ts";
import { FolderTrust } from "../project/trust.ts";
import { consentTo, surveyProject } from "../workspace/survey.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { type OwnRuntime, openOwnRuntime } from "./own-runtime.ts";
import { contentLines } from "./trust-words.ts";
import { UsageError } from "./usage-error.ts";

export async function listTrust(flags: CommonFlags, context: CliContext): Promise<void> {
  const { terminal } = context;
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const all = await trustOf(own, context).list();
  if (flags.json) return terminal.out(`${JSON.stringify(all, null, 2)}\n`);
  if (all.length === 0) return terminal.out("No folder is trusted yet. To trust this one: retinue trust add\n");
  for (const { folder, decision, servers } of all) {
    terminal.out(`${decision.padEnd(8)}  ${visible(folder)}${existsSync(folder) ? "" : " (gone)"}\n`);
    for (const server of servers) terminal.out(`            ${server}\n`);
  }
}

export async function addTrust(named: string | undefined, flags: CommonFlags, context: CliContext): Promise<void> {
  const { terminal, cwd } = context;
  const folder = resolve(cwd, named ?? ".");
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`trust add: there is no folder ${visible(folder)}`);
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const trust = trustOf(own, context);
  const content = surveyProject(new ProjectGate(folder, trust), own.runtime.config.home);
  const root = await trust.trust(folder, consentTo(content));
  if (flags.json)
    return terminal.out(`${JSON.stringify({ folder: root, decision: "trusted", ...content }, null, 2)}\n`);
  terminal.out(`${[`${visible(root)} is trusted. It brings:`, ...contentLines(content)].join("\n")}\n`);
}

/** Resolves with the exit code. */
export async function removeTrust(named: string | undefined, flags: CommonFlags, context: CliContext): Promise<number> {
  const { terminal, cwd } = context;
  const folder = resolve(cwd, named ?? ".");
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const root = await trustOf(own, context).forget(folder);
  if (flags.json) terminal.out(`${JSON.stringify({ folder: root ?? folder, removed: root !== undefined }, null, 2)}\n`);
  else if (root !== undefined)
    terminal.out(`What was decided about ${visible(root)} is forgotten. It is not trusted.\n`);
  else
    terminal.note(
      `retinue: nothing was decided about ${visible(folder)}. To see the trusted folders: retinue trust list`,
    );
  return root === undefined ? 1 : 0;
}

export function trustOf({ runtime }: OwnRuntime, { terminal }: CliContext): FolderTrust {
  return new FolderTrust({
    documents: runtime.sessions.store.documents,
    warn: (message) => terminal.note(`retinue: ${message}`),
  });
}
