/** `retinue permissions`: the answers that were kept for a folder, or for good, and forgetting them. */
import { resolve } from "node:path";
import { type Approval, visible } from "@retinue/protocol";
import { ALLOWED_DOMAIN, FOLDER_APPROVAL, FOLDER_RULE, folderOf } from "../permissions/kept-rules.ts";
import { ruleText } from "../permissions/policy.ts";
import type { DocumentKind } from "../store/document.ts";
import type { DocumentChange } from "../store/store.ts";
import { gitContext } from "../workspace/git-context.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { type OwnRuntime, openOwnRuntime } from "./own-runtime.ts";

interface KeptAnswer {
  /** Undefined for an address, which counts everywhere. */
  folder?: string;
  allows: string;
  forget: DocumentChange;
}

export async function listKept(flags: CommonFlags, context: CliContext): Promise<void> {
  const { terminal } = context;
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const all = await keptAnswers(own, context);
  if (flags.json) {
    const shown = all.map(({ folder, allows }) => ({ folder: folder ?? null, allows }));
    return terminal.out(`${JSON.stringify(shown, null, 2)}\n`);
  }
  if (all.length === 0) return terminal.out('No answers are kept. "in this folder" at a question keeps one.\n');
  for (const [folder, answers] of grouped(all)) {
    terminal.out(`${visible(folder)}\n`);
    for (const { allows } of answers) terminal.out(`  ${visible(allows)}\n`);
  }
}

/** Resolves with the exit code. */
export async function forgetKept(
  what: "addresses" | { named?: string },
  flags: CommonFlags,
  context: CliContext,
): Promise<number> {
  const { terminal, cwd } = context;
  await using own = openOwnRuntime({ env: context.env, home: flags.home });
  const folder = what === "addresses" ? undefined : await locationOf(resolve(cwd, what.named ?? "."));
  const found = (await keptAnswers(own, context)).filter((answer) => answer.folder === folder);
  await own.runtime.sessions.store.documents.write(found.map(({ forget }) => forget));
  const where = folder === undefined ? "addresses" : visible(folder);
  if (flags.json) terminal.out(`${JSON.stringify({ folder: folder ?? null, forgotten: found.length }, null, 2)}\n`);
  else if (found.length > 0)
    terminal.out(`Forgot ${found.map(({ allows }) => visible(allows)).join(", ")} (${where}).\n`);
  else terminal.note(`retinue: no answers are kept for ${where}. To see those that are: retinue permissions list`);
  return found.length === 0 ? 1 : 0;
}

async function locationOf(folder: string): Promise<string> {
  return (await gitContext(folder)).gitRoot ?? folder;
}

async function keptAnswers({ runtime }: OwnRuntime, { terminal }: CliContext): Promise<KeptAnswer[]> {
  const { documents } = runtime.sessions.store;
  const read = async <T>(kind: DocumentKind<T>, describe: (value: T, key: string) => Omit<KeptAnswer, "forget">) => {
    const { found, problems } = await kind.list(documents, "");
    for (const { message } of problems) terminal.note(`retinue: ${message}`);
    return found.map(({ key, value }) => ({ ...describe(value, key), forget: kind.remove(key) }));
  };
  return [
    ...(await read(FOLDER_APPROVAL, (approval, key) => ({ folder: folderOf(key), allows: approvalText(approval) }))),
    ...(await read(FOLDER_RULE, (rule, key) => ({ folder: folderOf(key), allows: ruleText(rule) }))),
    ...(await read(ALLOWED_DOMAIN, ({ domain }) => ({ allows: `url(${domain})` }))),
  ];
}

/** As rules of the command line are written. */
function approvalText(approval: Approval): string {
  switch (approval.kind) {
    case "commands":
      return approval.commandIdentifiers.map((command) => `shell(${command})`).join(", ");
    case "mcp":
      return `${approval.serverName}(${approval.toolName ?? "*"})`;
    case "custom-tool":
      return approval.toolName;
    default:
      return approval.kind;
  }
}

function grouped(all: readonly KeptAnswer[]): Map<string, KeptAnswer[]> {
  const groups = new Map<string, KeptAnswer[]>();
  for (const answer of all) {
    const folder = answer.folder ?? "everywhere";
    groups.set(folder, [...(groups.get(folder) ?? []), answer]);
  }
  return groups;
}
