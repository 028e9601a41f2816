/** What a slash command of the runtime is, and the two ways to define one. The list of them is in slash-commands.ts. */
import { AppError, type CommandInfo, type CommandOutcome } from "@retinue/protocol";
import type { HostedSession } from "../host/hosted-session.ts";
import type { Mode } from "../session/state.ts";
import type { Message } from "./hand-over.ts";

export interface CommandCall {
  target: HostedSession;
  input: string;
  signal: AbortSignal;
  /** What the line was sent with. A command that sends a prompt by itself sends it with that. */
  sent?: Message;
  /** Every command of the session. */
  all(): readonly CommandInfo[];
}

export interface SlashCommand {
  info: CommandInfo;
  run(call: CommandCall): CommandOutcome | Promise<CommandOutcome>;
}

export interface Takes {
  /** What to type behind the name; without one nothing is. */
  hint?: string;
  required?: boolean;
  aliases?: string[];
  duringWork?: boolean;
}

export const typed = (name: string, input: string): string => (input === "" ? `/${name}` : `/${name} ${input}`);

export const shown = (text: string): CommandOutcome => ({ kind: "text", text });

export const completed = (message: string, mode?: Mode): CommandOutcome => ({
  kind: "completed",
  message,
  ...(mode ? { mode } : {}),
});

/** A command that only reads, so it may run while the agent works. */
export function report(
  name: string,
  description: string,
  textOf: (call: CommandCall) => string | Promise<string>,
): SlashCommand {
  return {
    info: { name, description, kind: "builtin", allowDuringAgentExecution: true },
    run: async (call) => {
      if (call.input !== "") throw new AppError("invalid_params", `/${name} takes no words, not "${call.input}"`);
      return shown(await textOf(call));
    },
  };
}

export function command(
  name: string,
  description: string,
  { hint, required, aliases, duringWork = false }: Takes,
  run: SlashCommand["run"],
): SlashCommand {
  const info: CommandInfo = {
    name,
    ...(aliases ? { aliases } : {}),
    description,
    kind: "builtin",
    ...(hint === undefined ? {} : { input: { hint, ...(required ? { required } : {}) } }),
    allowDuringAgentExecution: duringWork,
  };
  return {
    info,
    run: (call) => {
      if (required && call.input === "") throw new AppError("invalid_params", `/${name} needs ${hint}`);
      return run(call);
    },
  };
}

/** A command that returns a prepared prompt; the input replaces `{{request}}`. */
export function prompting(
  name: string,
  description: string,
  takes: Takes & { words: string; joined?: string },
): SlashCommand {
  const { words, joined = "", ...rest } = takes;
  return command(name, description, rest, ({ input }) => ({
    kind: "agent-prompt",
    prompt: words.trim().replace("{{request}}", () => (input === "" ? "" : `${joined}${input}`)),
    displayPrompt: typed(name, input),
  }));
}
