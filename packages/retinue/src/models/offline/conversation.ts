/** What the offline model sees of a request: the prompt that it works on, and the results of its calls since then. */
import type { Message, ModelRequest, ToolSpec, UserMessage } from "../provider.ts";

export interface DoneCall {
  name: string;
  args: Readonly<Record<string, unknown>>;
  text: string;
  failed: boolean;
}

export interface Conversation {
  /** The words of the person, without what the runtime adds around them. */
  prompt: string;
  /** Whether the prompt is a message of the runtime and not of a person. */
  isNotification: boolean;
  /** Calls since the prompt, oldest first, that have a result. */
  done: readonly DoneCall[];
  /** Earlier prompts of this session. */
  earlier: readonly string[];
  /** What was answered to them. */
  answers: readonly string[];
  tools: readonly ToolSpec[];
  tool(name: string): ToolSpec | undefined;
}

export function readConversation({ messages, tools, toolChoice }: ModelRequest): Conversation {
  const start = messages.findLastIndex(
    (message, at) => message.role === "user" && startsWork(textOf(message)) && !interrupts(messages, at),
  );
  const message = messages[start];
  const raw = message?.role === "user" ? textOf(message) : "";
  const offered = toolChoice === "none" ? [] : tools;
  return {
    prompt: wordsOf(raw),
    isNotification: raw.includes("<system_notification>"),
    done: doneCalls(messages.slice(start + 1)),
    earlier: messages.slice(0, Math.max(start, 0)).flatMap(promptsOf),
    answers: messages.flatMap((said) => (said.role === "assistant" && said.calls.length === 0 ? [said.text] : [])),
    tools: offered,
    tool: (name) => offered.find((tool) => tool.name === name),
  };
}

const promptsOf = (message: Message): string[] => {
  if (message.role !== "user") return [];
  const text = textOf(message);
  return text.includes("<system_notification>") || !startsWork(text) ? [] : [wordsOf(text)];
};

function textOf({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** Skill texts and hook context come as user messages too, in tags of their own. */
function startsWork(text: string): boolean {
  return text.includes("<system_notification>") || wordsOf(text) !== "";
}

/** A notice that comes while calls are running is not a new prompt: work on the old one goes on. */
function interrupts(messages: readonly Message[], at: number): boolean {
  const message = messages[at];
  if (message?.role !== "user" || !textOf(message).includes("<system_notification>")) return false;
  const before = messages.slice(0, at).findLast(({ role }) => role === "assistant");
  return before?.role === "assistant" && before.calls.length > 0;
}

/** Everything that the runtime puts around a prompt is in tags whose names hold an underscore or a hyphen. */
const ADDED = /<([a-z]{1,40}(?:[_-][a-z]{1,40}){1,5})\b[^<>]{0,500}>/g;
/** The runtime puts a few of them; a prompt may have any number that nobody closes. */
const MAX_ADDED = 100;

function withoutAdded(text: string): string {
  const parts: string[] = [];
  const unclosed = new Set<string | undefined>();
  let [at, seen] = [0, 0];
  for (const { 0: tag, 1: name, index } of text.matchAll(ADDED)) {
    if (++seen > MAX_ADDED) break;
    if (index < at || unclosed.has(name)) continue;
    const end = text.indexOf(`</${name}>`, index + tag.length);
    if (end < 0) {
      unclosed.add(name);
      continue;
    }
    parts.push(text.slice(at, index));
    at = end + `</${name}>`.length;
  }
  return [...parts, text.slice(at)].join("");
}

/** The inherit block comes before a sub-agent's own prompt, which is the last paragraph. */
const INHERITED = /^## Inherited from Parent Session\n[\s\S]*\n\n(?=\S)/;

function wordsOf(text: string): string {
  return withoutAdded(text.replace(/<\/?system_notification>/g, ""))
    .replace(/^\s*\[\[PLAN\]\]/, "")
    .trim()
    .replace(INHERITED, "");
}

function doneCalls(messages: readonly Message[]): DoneCall[] {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const results = new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message]] : [])));
  return calls.flatMap((call): DoneCall[] => {
    const result = results.get(call.id);
    if (!result) return [];
    return [{ name: call.name, args: argumentsOf(call.arguments), text: result.text, failed: result.failed ?? false }];
  });
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {}; // A history of another model may contain anything; without arguments the answer only says less.
  }
}
