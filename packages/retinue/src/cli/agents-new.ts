/** `retinue agents new`: writes an agent file to begin with. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { visible } from "@retinue/protocol";
import { AgentCatalog, agentFolders } from "../agents/catalog.ts";
import { homeFolder } from "../host/home.ts";
import { ProjectGate } from "../project/gate.ts";
import type { CliContext } from "./cli-context.ts";
import { openOwnRuntime } from "./own-runtime.ts";
import { trustOf } from "./trust.ts";
import { UsageError } from "./usage-error.ts";

export interface NewAgentOptions {
  description?: string;
  tools?: string;
  user: boolean;
  home?: string;
}

/** Resolves with the exit code: 1 when there is such a file already. */
export async function newAgent(name: string, options: NewAgentOptions, context: CliContext): Promise<number> {
  const { terminal, env, cwd } = context;
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/i.test(name))
    throw new UsageError(`agents new: a name has letters, digits, dashes and underscores, not ${JSON.stringify(name)}`);
  const home = homeFolder(env, options.home);
  const folder = options.user ? join(home, "agents") : join(cwd, ".retinue", "agents");
  const taken = new AgentCatalog({ folders: agentFolders({ home }) }).find(name);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.agent.md`);
  try {
    writeFileSync(file, textOf(name, options), { flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    terminal.note(`retinue: ${visible(file)} is there already, and was left as it is`);
    return 1;
  }
  terminal.out(`${visible(file)}\n`);
  if (taken && !options.user)
    terminal.note(`retinue: ${taken.name} is the name of another agent, so this one is called project:${name}`);
  if (!options.user && !(await isTrusted(options, context)))
    terminal.note("retinue: it counts once the folder is trusted: retinue trust add");
  return 0;
}

async function isTrusted({ home }: NewAgentOptions, context: CliContext): Promise<boolean> {
  await using own = openOwnRuntime({ env: context.env, home });
  const gate = new ProjectGate(context.cwd, trustOf(own, context));
  await gate.refresh();
  return gate.isTrusted;
}

function textOf(name: string, { description, tools }: NewAgentOptions): string {
  const names = tools
    ?.split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  return [
    "---",
    `name: ${name}`,
    `description: ${JSON.stringify(description ?? "What it does, and when to use it.")}`,
    ...(names === undefined ? [] : [`tools: ${JSON.stringify(names)}`]),
    "---",
    `You are ${name}. Say here what it does, how it works, and what it returns.`,
    "",
  ].join("\n");
}
