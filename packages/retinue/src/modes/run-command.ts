/**
 * Runs a slash command by name: one of the runtime, a skill, one of a client, of a server or of a file.
 *
 * Owns which command wins when two have the same name. The runtime's own commands are in slash-commands.ts.
 */
import { AppError, type CommandInfo, type CommandOutcome } from "@retinue/protocol";
import { ask } from "../asks/ask.ts";
import { giveTerms } from "../host/given-terms.ts";
import type { HostedSession } from "../host/hosted-session.ts";
import { followTrust } from "../host/project-trust.ts";
import { argumentsOf, hintOf, promptText, type ServerPrompt } from "../mcp/prompts.ts";
import { type FileCommand, promptOf, unusedWords } from "../skills/command-file.ts";
import { invoked, skillContext } from "../skills/skill.ts";
import type { TreeParts } from "../tree/parts.ts";
import { type CommandCall, typed } from "./command.ts";
import { fileCommands } from "./file-commands.ts";
import { findSlashCommand, slashCommandInfos } from "./slash-commands.ts";

export function builtinCommands(): CommandInfo[] {
  return slashCommandInfos();
}

export function skillCommands({ configuration: { skills } }: TreeParts): CommandInfo[] {
  const usable = skills.list().filter(({ userInvocable, enabled }) => userInvocable && enabled);
  return usable.map(({ name, description, argumentHint }) => ({
    name,
    description,
    kind: "skill",
    ...(argumentHint ? { input: { hint: argumentHint } } : {}),
    allowDuringAgentExecution: false,
  }));
}

/** Prompts of MCP servers that are connected or were. */
export function serverCommands({ servers }: TreeParts): CommandInfo[] {
  return servers.prompts().map((prompt) => ({
    name: prompt.name,
    description: prompt.description,
    kind: "skill",
    ...(prompt.arguments.length > 0 ? { input: { hint: hintOf(prompt) } } : {}),
    allowDuringAgentExecution: false,
  }));
}

const lowered = (name: string): string => name.toLowerCase();

/** One that comes from a file, with what it is. */
export interface WrittenCommand extends CommandInfo {
  command: FileCommand;
}

/**
 * Commands of the user, of the project and of plugins. A name that something else has already is preceded by whose it is (`project:review`); so
 * it may always be typed.
 */
export function writtenCommands(tree: TreeParts): WrittenCommand[] {
  const taken = new Set(
    [...builtinCommands(), ...skillCommands(tree), ...serverCommands(tree), ...clientCommands(tree)].flatMap(
      ({ name, aliases = [] }) => [name, ...aliases].map(lowered),
    ),
  );
  const all = [
    ...fileCommands(tree).map((command) => ({ command, owner: command.source as string })),
    ...tree.plugins.current.commands.map((command) => ({ command, owner: command.plugin })),
  ];
  return all.map(({ command, owner }): WrittenCommand => {
    const { name: own, description, argumentHint } = command;
    const whole = `${owner}:${own}`;
    const isTaken = taken.has(lowered(own)); // Or `/Help` would be no more what `/help` is.
    taken.add(lowered(isTaken ? whole : own));
    return {
      command,
      name: isTaken ? whole : own,
      description,
      kind: "skill",
      ...(isTaken ? {} : { aliases: [whole] }),
      ...(argumentHint ? { input: { hint: argumentHint } } : {}),
      allowDuringAgentExecution: false,
    };
  });
}

export function clientCommands({ participants }: TreeParts): CommandInfo[] {
  const all = participants.all.flatMap(({ config }) => config.commands ?? []);
  const byName = new Map(all.map((command) => [command.name, command]));
  return [...byName.values()].map(({ name, description = "" }) => ({
    name,
    description,
    kind: "client",
    allowDuringAgentExecution: false,
  }));
}

/** In the order in which a name is looked for: the host chose the names of its commands, so they come first. */
export function allCommands(tree: TreeParts): CommandInfo[] {
  return [
    ...clientCommands(tree),
    ...builtinCommands(),
    ...skillCommands(tree),
    ...serverCommands(tree),
    ...writtenCommands(tree).map(({ command: _, ...info }) => info),
  ];
}

/** By its name or an alias, whether typed in capitals or not. */
export function findCommand(tree: TreeParts, typedName: string): CommandInfo | undefined {
  const all = allCommands(tree);
  const named = (fits: (name: string) => boolean) =>
    all.find(({ name, aliases = [] }) => [name, ...aliases].some(fits));
  const lower = typedName.toLowerCase();
  return named((name) => name === typedName) ?? named((name) => name.toLowerCase() === lower);
}

/** Whatever a command hands out for somebody to send, its terms are known when it is sent. */
export async function runCommand(typedName: string, call: Omit<CommandCall, "all">): Promise<CommandOutcome> {
  const { target } = call;
  await followTrust(target); // What the project brings is a command only while the project is trusted.
  const found = findCommand(target.tree, typedName);
  if (!found) throw new AppError("invalid_params", `Unknown slash command: /${typedName}`);
  const outcome = await run(found, { ...call, all: () => allCommands(target.tree) });
  if (outcome.kind === "agent-prompt" && outcome.terms) giveTerms(target, outcome.prompt, outcome.terms);
  return outcome;
}

async function run({ name, kind }: CommandInfo, call: CommandCall): Promise<CommandOutcome> {
  const { target, input, signal } = call;
  if (kind === "client") {
    const error = await runClientCommand(target, { name, args: input, signal });
    if (error !== undefined) throw new AppError("internal", error);
    return { kind: "completed" };
  }
  const own = kind === "builtin" ? findSlashCommand(name) : undefined;
  if (own) return await own.run(call);
  if (skillCommands(target.tree).some((each) => each.name === name)) return useSkill(target, name, input);
  const prompt = target.tree.servers.prompts().find((each) => each.name === name);
  if (prompt) return await useServerPrompt(target, prompt, call);
  const written = writtenCommands(target.tree).find((each) => each.name === name);
  if (!written) throw new AppError("invalid_params", `Unknown slash command: /${name}`); // Its file has gone just now.
  const { command } = written;
  const notice = unusedWords(command);
  return { kind: "agent-prompt", prompt: promptOf(command, input), displayPrompt: typed(name, input), notice };
}

/** The client's error, if it had one. */
export async function runClientCommand(
  { session, tree, main }: HostedSession,
  { name, args, signal }: { name: string; args: string; signal: AbortSignal },
): Promise<string | undefined> {
  if (!clientCommands(tree).some((each) => each.name === name)) {
    session.announce("command.completed", { requestId: session.world.newId() }); // Clients expect an end event of every command.
    await session.log.committed();
    return `No client found for command: ${name}`;
  }
  const payload = { command: typed(name, args), commandName: name, args };
  return (await ask(main, "command", { payload, signal })).error;
}

/** What a server answers is sent by the user, who sees that it came from there. */
async function useServerPrompt(
  { tree }: HostedSession,
  prompt: ServerPrompt,
  { input, signal }: CommandCall,
): Promise<CommandOutcome> {
  const given = argumentsOf(prompt, input);
  const host = await tree.servers.host();
  const found = await host.with(prompt.server, (client) =>
    client.getPrompt({ name: prompt.prompt, arguments: given }, { signal }),
  );
  return { kind: "agent-prompt", prompt: promptText(found), displayPrompt: typed(prompt.name, input) };
}

function useSkill({ session, tree }: HostedSession, name: string, input: string): CommandOutcome {
  const skill = tree.configuration.skills.load(name);
  session.append("skill.invoked", invoked(skill, "user-invoked"));
  const prompt = input === "" ? `Use the skill ${name}.` : input;
  return { kind: "agent-prompt", prompt: `${skillContext(skill)}\n\n${prompt}`, displayPrompt: typed(name, input) };
}
