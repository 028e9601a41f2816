/**
 * Work for somebody or something that the prompt names: an agent ("ask the clerk to …"), or a tool that takes one text ("look up order A-17"
 * for `look_up_order`). So a first program with tools and agents of its own does something before a model is configured.
 */
import type { ToolSpec } from "../provider.ts";
import type { Conversation } from "./conversation.ts";
import { answer, calls, type Move, quote, resultsOf } from "./move.ts";
import notice from "./notice.md";
import { turnsOf } from "./report.ts";

const ASK = /^ask\s+(?:the\s+)?(?:agent\s+)?([\w-]{1,60})(?:\s+agent)?(?:\s*[:,]\s*|\s+)(?:to\s+)?/i;
const QUOTED = /["'`\u201c]([^"'`\u201d]+)["'`\u201d]/;
const SMALL = /^\s*(?:(?:for|with|of|on|number|the)\s+){0,3}/i;
const MAX_CHARACTERS = 1000;

export function askedAgent({ prompt, done, tool }: Conversation): Move | undefined {
  const [words = "", name = ""] = ASK.exec(prompt) ?? [];
  const errand = prompt.slice(words.length).trim();
  const type = agentTypes(tool("task")?.parameters).find((known) => known.toLowerCase() === name.toLowerCase());
  if (!type || errand === "") return undefined;
  const [asked] = resultsOf(done, "task");
  if (asked) return answer(asked.failed ? `${type} failed:` : `${type} says:`, turnsOf(asked.text, notice.trim()));
  const args = { name: type, agent_type: type, description: errand.slice(0, 60), prompt: errand, mode: "sync" };
  return calls(`I ask ${type}.`, { name: "task", args });
}

/** The types that the tool `task` offers. */
export function agentTypes(parameters: Readonly<Record<string, unknown>> | undefined): string[] {
  const names = JSON.stringify(parameters ?? {}).match(/"agent_type":\{[^}]*?"enum":\[([^\]]*)\]/)?.[1] ?? "";
  return [...names.matchAll(/"([^"]+)"/g)].map(([, type = ""]) => type);
}

/** Only for a prompt that says nothing else to the rules: "where is session_search" is a question about files. */
export function calledTool({ prompt, done, tools }: Conversation): Move | undefined {
  const text = prompt.slice(0, MAX_CHARACTERS);
  for (const tool of tools) {
    const [field, after] = [onlyText(tool), afterName(text, tool.name)];
    if (field === undefined || after === undefined) continue;
    const [result] = resultsOf(done, tool.name);
    if (result) return answer(`\`${tool.name}\` ${result.failed ? "failed" : "gave"}:`, quote(result.text));
    const value =
      QUOTED.exec(after)?.[1] ??
      after
        .replace(SMALL, "")
        .match(/\w[\w./-]*/)?.[0]
        .replace(/[.-]+$/, "");
    if (value) return calls(`I call ${tool.name}.`, { name: tool.name, args: { [field]: value } });
  }
  return undefined;
}

/** What follows the words of a name that has at least two: a single word such as "view" is ordinary language. */
function afterName(text: string, name: string): string | undefined {
  const spoken = name.toLowerCase().replaceAll(/[_-]/g, " ");
  if (!spoken.includes(" ")) return undefined;
  const plain = text.toLowerCase().replaceAll("_", " ");
  const at = plain.indexOf(spoken);
  return at < 0 ? undefined : text.slice(at + spoken.length);
}

/** The name of the one field that a tool requires, when that is a text. */
function onlyText({ parameters }: ToolSpec): string | undefined {
  const { required, properties } = parameters as { required?: unknown; properties?: Record<string, unknown> };
  if (!Array.isArray(required) || required.length !== 1) return undefined;
  const [field] = required as unknown[];
  if (typeof field !== "string") return undefined;
  return JSON.stringify(properties?.[field] ?? {}).includes('"type":"string"') ? field : undefined;
}
