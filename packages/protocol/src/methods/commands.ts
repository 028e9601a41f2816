/** Calls about slash commands: the runtime's own, skills, and those of clients. */
import * as z from "zod";
import { byName, method, ofSession, success } from "../method.ts";
import { PromptTerms } from "../prompt-terms.ts";
import { flag, lazy, Mode, type Of, strings, text } from "../schema.ts";

export const CommandInfo = lazy(() =>
  z.object({
    name: z.string(),
    aliases: strings().optional(),
    description: z.string(),
    kind: z.enum(["builtin", "skill", "client"]),
    input: z.object({ hint: z.string(), required: flag() }).optional(),
    allowDuringAgentExecution: z.boolean(),
    experimental: flag(),
    schedulable: flag(),
  }),
);
export type CommandInfo = Of<typeof CommandInfo>;

/** What a command did, or what the client should do next. */
export const CommandOutcome = lazy(() =>
  z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("text"), text: z.string(), markdown: flag(), preserveAnsi: flag() }),
    z.object({
      kind: z.literal("agent-prompt"),
      prompt: z.string(),
      displayPrompt: z.string(),
      mode: Mode().optional(),
      notice: text(),
      /** What the prompt demands of its interaction. It holds for this prompt also when the client does not send it back. Ours. */
      terms: PromptTerms().optional(),
    }),
    z.object({ kind: z.literal("completed"), message: text(), mode: Mode().optional() }),
    z.object({
      kind: z.literal("select-subcommand"),
      command: z.string(),
      title: z.string(),
      options: z.array(z.object({ name: z.string(), description: z.string(), group: text() })),
    }),
    z.object({ kind: z.literal("set-model"), model: z.string(), reasoningEffort: text(), warning: text() }),
  ]),
);
export type CommandOutcome = Of<typeof CommandOutcome>;

export const COMMAND_METHODS = byName(
  method("session.commands.list", {
    summary: "Slash commands of the session.",
    params: () => ofSession({ includeBuiltins: flag(), includeSkills: flag(), includeClientCommands: flag() }),
    result: () => z.object({ commands: z.array(CommandInfo()) }),
  }),
  method("session.commands.invoke", {
    summary: "Runs a command by name, whoever it belongs to.",
    params: () => ofSession({ name: z.string(), input: text(), origin: text() }),
    result: CommandOutcome,
  }),
  method("session.commands.execute", {
    summary: "Runs a command of a client and waits for its end.",
    params: () => ofSession({ commandName: z.string(), args: z.string().default("") }),
    result: () => z.object({ error: text() }),
  }),
  method("session.commands.enqueue", {
    summary: "Puts a command into the queue of prompts.",
    params: () => ofSession({ command: z.string(), displayText: text() }),
    result: () => z.object({ queued: z.boolean() }),
  }),
  method("session.commands.handlePendingCommand", {
    summary: "Answers `command.execute`.",
    params: () => ofSession({ requestId: z.string(), error: text() }),
    result: success,
  }),
  method("session.commands.respondToQueuedCommand", {
    summary: "Answers `command.queued`.",
    params: () =>
      ofSession({
        requestId: z.string(),
        result: z.object({ handled: z.boolean(), stopProcessingQueue: flag() }),
      }),
    result: success,
  }),
);
