/**
 * Runs a slash command by name: one of the runtime, a skill, or one of a client.
 *
 * Owns which command wins when two have the same name. The runtime's own commands are in slash-commands.ts.
 */
import { AppError, type CommandInfo, type CommandOutcome } from "@retinue/protocol";
import { ask } from "../asks/ask.ts";
import type { HostedSession } from "../host/hosted-session.ts";
import { followTrust } from "../host/project-trust.ts";
import { argumentsOf, hintOf, promptText, type ServerPrompt } from "../mcp/prompts.ts";
import { type PluginCommand, promptOf } from "../plugins/plugin-commands.ts";
import { invoked, skillContext } from "../skills/skill.ts";
import type { TreeParts } from "../tree/parts.ts";
import { type CommandCall, findSlashCommand, slashCommandInfos, typed } from "./slash-commands.ts";

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

/** A name that something else has already is preceded by the name of the plugin; so it may always be typed. */
export function pluginCommands(tree: TreeParts): (CommandInfo & { command: PluginCommand })[] {
  const taken = new Set(
    [...builtinCommands(), ...skillCommands(tree), ...serverCommands(tree), ...clientCommands(tree)].map(
      ({ name }) => name,
    ),
  );
  return tree.plugins.current.commands.map((command) => {
    const { name: own, plugin, description, argumentHint } = command;
    const [name, alias] = taken.has(own) ? [`${plugin}:${own}`] : [own, `${plugin}:${own}`];
    taken.add(name ?? own);
    return {
      command,
      name: name ?? own,
      description,
      kind: "skill",
      ...(alias === undefined ? {} : { aliases: [alias] }),
      ...(argumentHint ? { input: { hint: argumentHint } } : {}),
      allowDuringAgentExecution: false,
    };
  });
}

function findPluginCommand(tree: TreeParts, name: string): PluginCommand | undefined {
  return pluginCommands(tree).find((each) => each.name === name || each.aliases?.includes(name))?.command;
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

export function isCommand(target: HostedSession, name: string): boolean {
  const { tree } = target;
  const all = [...skillCommands(tree), ...serverCommands(tree), ...clientCommands(tree)];
  const known = all.some((each) => each.name === name);
  return known || findSlashCommand(name) !== undefined || findPluginCommand(tree, name) !== undefined;
}

/** A client's command replaces one of ours with the same name, since the host chose that name. */
export async function runCommand(name: string, call: CommandCall): Promise<CommandOutcome> {
  const { target, input, signal } = call;
  await followTrust(target); // A skill of the project is a command only while the project is trusted.
  if (clientCommands(target.tree).some((each) => each.name === name)) {
    const error = await runClientCommand(target, { name, args: input, signal });
    if (error !== undefined) throw new AppError("internal", error);
    return { kind: "completed" };
  }
  const own = findSlashCommand(name);
  if (own) return await own.run(call);
  if (skillCommands(target.tree).some((each) => each.name === name)) return useSkill(target, name, input);
  const prompt = target.tree.servers.prompts().find((each) => each.name === name);
  if (prompt) return await useServerPrompt(target, prompt, call);
  const ofPlugin = findPluginCommand(target.tree, name);
  if (ofPlugin) return { kind: "agent-prompt", prompt: promptOf(ofPlugin, input), displayPrompt: typed(name, input) };
  throw new AppError("invalid_params", `Unknown slash command: /${name}`);
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
