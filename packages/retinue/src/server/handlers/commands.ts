/** Slash commands: the runtime's own, skills, and those of clients. */
import { commandQueue } from "../../modes/command-queue.ts";
import {
  builtinCommands,
  clientCommands,
  runClientCommand,
  runCommand,
  serverCommands,
  skillCommands,
  writtenCommands,
} from "../../modes/run-command.ts";
import { type Handlers, hosted } from "../handler.ts";

export const commandHandlers: Handlers = {
  "session.commands.list": (params, scope) => {
    const { tree } = hosted(params, scope);
    const { includeBuiltins = true, includeSkills = true, includeClientCommands = true } = params;
    const groups = [
      includeBuiltins ? builtinCommands() : [],
      includeSkills ? [...skillCommands(tree), ...serverCommands(tree)] : [],
      includeSkills ? writtenCommands(tree).map(({ command: _, ...info }) => info) : [],
      includeClientCommands ? clientCommands(tree) : [],
    ];
    return { commands: groups.flat() };
  },
  "session.commands.invoke": async (params, scope) => {
    const { name, input = "" } = params;
    return await runCommand(name.replace(/^\//, ""), {
      target: hosted(params, scope),
      input: input.trim(),
      signal: scope.signal,
    });
  },
  "session.commands.execute": async (params, scope) => {
    const { commandName: name, args } = params;
    const error = await runClientCommand(hosted(params, scope), { name, args, signal: scope.signal });
    return error === undefined ? {} : { error };
  },
  "session.commands.enqueue": (params, scope) => {
    commandQueue(hosted(params, scope)).add(params.command, { displayText: params.displayText });
    return { queued: true };
  },
};
