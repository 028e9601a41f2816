/**
 * The model when none is configured: a small set of rules that turns a prompt into real calls on the working folder and reports
 * the results. It never pretends to be more: every answer says what it is and how to configure a real model.
 *
 * It keeps nothing between requests. What it does next follows from the messages alone.
 */
import { type ModelRequest, NO_USAGE, type Part, type Provider } from "../provider.ts";
import { newCallId } from "../wire/wire.ts";
import { type Conversation, readConversation } from "./conversation.ts";
import { delegate } from "./delegate.ts";
import { explore } from "./explore.ts";
import help from "./help.md";
import { type Intent, intentOf } from "./intent.ts";
import { answer, calls, type Move, quote } from "./move.ts";
import { askedAgent, calledTool } from "./named.ts";
import notice from "./notice.md";
import { count, countMatches, find, list, read, run } from "./simple-moves.ts";

export function offline(): Provider {
  return {
    id: "offline",
    apiEndpoint: "offline",
    async *stream(request: ModelRequest, { signal }): AsyncGenerator<Part> {
      signal.throwIfAborted();
      const conversation = readConversation(request);
      yield* partsOf(nextMove(conversation), conversation);
    },
  };
}

function nextMove(conversation: Conversation): Move {
  if (conversation.tools.length === 0) return recap(conversation);
  if (conversation.isNotification) return onNotification(conversation);
  if (conversation.done.some((call) => call.name === "task_complete" && !call.failed)) return answer("Done.");
  const move = askedAgent(conversation) ?? moveFor(intentOf(conversation.prompt), conversation);
  if (move.type === "answer") return move;
  const offered = move.calls.filter((call) => conversation.tool(call.name));
  if (offered.length > 0) return calls(move.says, ...offered);
  const missing = move.calls.map((call) => `\`${call.name}\``).join(" and ");
  return answer(`I would need ${missing} for this, which is not offered to me here.`);
}

function moveFor(intent: Intent, conversation: Conversation): Move {
  switch (intent.type) {
    case "list":
      return list(...inFolder(intent, conversation));
    case "find":
      return find(intent, conversation);
    case "read":
      return read(intent, conversation);
    case "count":
      return count(intent, conversation);
    case "count-matches":
      return countMatches(intent, conversation);
    case "run":
      return run(intent, conversation);
    case "explore":
      return explore(...inFolder(intent, conversation));
    case "delegate":
      if (conversation.tool("task")) return delegate(intent, conversation);
      return moveFor(intent.rest.type === "unknown" ? { type: "explore", folder: "." } : intent.rest, conversation);
    case "unknown":
      return calledTool(conversation) ?? answer(help.trim());
  }
}

/** What was taken for a folder may have been an ordinary word; then the working folder is meant. */
function inFolder<Place extends { folder: string }>(place: Place, conversation: Conversation): [Place, Conversation] {
  const [first, ...rest] = conversation.done;
  if (!first?.failed || place.folder === ".") return [place, conversation];
  return [
    { ...place, folder: "." },
    { ...conversation, done: rest },
  ];
}

/** A notice about a background agent: its answer is read and passed on. */
function onNotification({ prompt, done, tool }: Conversation): Move {
  const id = /agent_id:?\s*"?([\w-]+)/.exec(prompt)?.[1];
  const [read] = done;
  if (id && !read && tool("read_agent"))
    return calls("I read what it found.", { name: "read_agent", args: { agent_id: id } });
  return read ? answer("The agent in the background reports:", quote(read.text, 60)) : answer(`Noted: ${prompt}`);
}

/** A request without tools asks for a summary of what was said so far. */
function recap({ earlier, answers, prompt }: Conversation): Move {
  if (earlier.length === 0 && answers.length === 0)
    return answer(`I have no tools here, and no words of my own on: ${prompt}`);
  const lines = (texts: readonly string[], length: number) =>
    texts.slice(-20).map((text) => `- ${text.slice(0, length)}`);
  return answer(
    `Asked so far:\n\n${lines(earlier, 300).join("\n")}`,
    answers.length > 0 ? `Answered so far:\n\n${lines(answers, 1000).join("\n")}` : undefined,
  );
}

function* partsOf(move: Move, { tool, done }: Conversation): Generator<Part> {
  if (move.type === "calls") {
    yield* pieces(move.says);
    for (const { name, args } of move.calls) yield callPart(name, args);
    return yield { type: "end", reason: "calls", usage: NO_USAGE };
  }
  yield* pieces(`${move.text}\n\n${notice.trim()}`);
  const completes = tool("task_complete") && !done.some((call) => call.name === "task_complete");
  if (completes) yield callPart("task_complete", { summary: move.text.slice(0, 2000) });
  yield { type: "end", reason: completes ? "calls" : "stop", usage: NO_USAGE };
}

function callPart(name: string, args: Readonly<Record<string, unknown>>): Part {
  return { type: "call", id: newCallId(), name, arguments: JSON.stringify(args) };
}

/** A few words at a time, as a model would stream them. */
function* pieces(text: string): Generator<Part> {
  for (const [delta] of text.matchAll(/(?:\S*\s*){1,4}/g)) if (delta) yield { type: "text", delta };
}
