/**
 * A line that a person typed: a command when it begins with a slash, and otherwise a prompt.
 *
 * Owns what a slash means. Two slashes or a space before it stand for the words themselves, and a path is no command. Which commands there are
 * is in run-command.ts.
 */
import { existsSync } from "node:fs";
import { AppError, type CommandOutcome, type Params } from "@retinue/protocol";
import { enqueue } from "../host/enqueue.ts";
import type { HostedSession } from "../host/hosted-session.ts";
import { followTrust } from "../host/project-trust.ts";
import { nearest } from "../nearest.ts";
import { commandQueue } from "./command-queue.ts";
import { handOver } from "./hand-over.ts";
import { allCommands, findCommand, runCommand } from "./run-command.ts";

type Message = Omit<Params<"session.send">, "sessionId" | "mode" | "prepend" | "commands">;

interface Sending {
  isImmediate?: boolean;
  prepend?: boolean;
  signal: AbortSignal;
}

/** Sends a prompt, or runs the command that it is. */
export async function sendTyped(
  target: HostedSession,
  message: Message,
  { signal, ...order }: Sending,
): Promise<{ messageId: string; command?: CommandOutcome }> {
  await followTrust(target); // What the project brings as commands counts only while it is trusted.
  const line = readTyped(target, message.prompt);
  if (line.type === "prompt") {
    const [messageId = ""] = await enqueue(target, [{ ...message, prompt: line.text }], order);
    return { messageId };
  }
  const { name, input } = line;
  const { runner, session } = target;
  const nothingSent = { messageId: session.world.newId() };
  if (runner.isRunning && !findCommand(target.tree, name)?.allowDuringAgentExecution) {
    commandQueue(target).add(message.prompt, { message });
    const waits = `/${name} waits until the agent has ended what it does now.`;
    return { ...nothingSent, command: { kind: "completed", message: waits } };
  }
  const command = await runCommand(name, { target, input, signal, sent: message });
  const messageId = await handOver(target, command, message);
  // Whoever waits for the end of what they sent has it: there is nothing to do.
  if (messageId === undefined && !runner.isRunning && !runner.owesIdle) session.announce("session.idle", {});
  return { messageId: messageId ?? nothingSent.messageId, command };
}

type TypedLine = { type: "prompt"; text: string } | { type: "command"; name: string; input: string };

function readTyped({ tree }: HostedSession, text: string): TypedLine {
  if (text.startsWith("//")) return { type: "prompt", text: text.slice(1) };
  const [, name, input = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined) return { type: "prompt", text };
  const found = findCommand(tree, name);
  if (found) return { type: "command", name, input: input.trim() };
  if (isPath(name)) return { type: "prompt", text };
  throw unknownCommand(tree, name);
}

/** `/etc/hosts`, `/notes.txt`, and whatever is at the root of this machine. */
const isPath = (name: string): boolean => name !== "" && (/[/\\.]/.test(name) || existsSync(`/${name}`));

function unknownCommand(tree: HostedSession["tree"], name: string): AppError {
  const help = 'Try /help. A prompt that should begin with a slash is typed with two of them ("//…").';
  if (name === "") return new AppError("invalid_params", `A slash alone is no command. ${help}`);
  const names = allCommands(tree).flatMap((each) => [each.name, ...(each.aliases ?? [])]);
  const meant = nearest(name.toLowerCase(), names);
  return new AppError(
    "invalid_params",
    `Unknown slash command: /${name}. ${meant ? `Did you mean /${meant}? ` : ""}${help}`,
  );
}
