/** Prompts of servers as slash commands, named `<server>:<prompt>`. */
import type { ContentBlock, GetPromptResult, Prompt } from "@modelcontextprotocol/client";
import { AppError } from "@retinue/protocol";

export interface ServerPrompt {
  server: string;
  /** As the server calls it. */
  prompt: string;
  /** As a command. */
  name: string;
  description: string;
  arguments: readonly PromptArgument[];
}

interface PromptArgument {
  name: string;
  required: boolean;
}

export function serverPrompt(
  server: string,
  { name, title, description, arguments: given = [] }: Prompt,
): ServerPrompt {
  return {
    server,
    prompt: name,
    name: `${server}:${name}`,
    description: description ?? title ?? name,
    arguments: given.map((argument) => ({ name: argument.name, required: argument.required === true })),
  };
}

/** What is typed after the command: `<first> [second]`. */
export const hintOf = ({ arguments: all }: ServerPrompt): string =>
  all.map(({ name, required }) => (required ? `<${name}>` : `[${name}]`)).join(" ");

/** Words in the order of the arguments, or `name=value`; the last argument takes all that is left. Throws when one is missing. */
export function argumentsOf(prompt: ServerPrompt, input: string): Record<string, string> {
  const values: Record<string, string> = {};
  const words = [...input.matchAll(/"((?:\\.|[^"\\])*)"|\S+/g)].map(
    ([word, quoted]) => quoted?.replaceAll(/\\(.)/g, "$1") ?? word,
  );
  const open = () => prompt.arguments.filter(({ name }) => !Object.hasOwn(values, name));
  for (const [at, word] of words.entries()) {
    const [, named, value = ""] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    const known = prompt.arguments.find(({ name }) => name === named);
    const [next, ...after] = open();
    if (known) values[known.name] = value;
    else if (next && after.length === 0) {
      values[next.name] = words.slice(at).join(" ");
      break;
    } else if (next) values[next.name] = word;
    else throw wrong(prompt, `takes ${prompt.arguments.length === 0 ? "nothing" : `no more than ${hintOf(prompt)}`}`);
  }
  const missing = open().filter(({ required }) => required);
  if (missing.length > 0) throw wrong(prompt, `needs ${missing.map(({ name }) => name).join(", ")}`);
  return values;
}

const wrong = (prompt: ServerPrompt, words: string): AppError =>
  new AppError(
    "invalid_params",
    `/${prompt.name} ${words}. It is used like this: /${prompt.name} ${hintOf(prompt)}`.trimEnd(),
  );

/** One prompt for the model, with the roles where there are several messages. */
export function promptText({ messages }: GetPromptResult): string {
  const isAlone = messages.every(({ role }) => role === "user");
  return messages.map(({ role, content }) => (isAlone ? "" : `${role}: `) + lineOf(content)).join("\n\n");
}

function lineOf(block: ContentBlock): string {
  if (block.type === "text") return block.text;
  if (block.type === "resource_link") return `[${block.title ?? block.name}](${block.uri})`;
  if (block.type === "resource")
    return "text" in block.resource ? block.resource.text : `[resource: ${block.resource.uri}]`;
  return `[${block.type}: ${block.mimeType}]`;
}
