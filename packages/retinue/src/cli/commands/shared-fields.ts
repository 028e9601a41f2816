/** Options that several commands have. */
import type { Field } from "./command.ts";
import { flag, folder, optional, text, words } from "./values.ts";

export const home = {
  term: "--home <folder>",
  about: "where sessions are kept (default: RETINUE_HOME, or ~/.retinue)",
  is: optional(folder),
} satisfies Field;

export const json = { term: "--json", about: "print JSON", is: flag } satisfies Field;

export const yes = { term: "-y, --yes", about: "do not ask", is: flag } satisfies Field;

export const agentId = { term: "--agent <id>", about: "act for this agent", is: optional(text) } satisfies Field;

export const provider = {
  term: "--provider <name or URL>",
  about: "where models come from: a name of the config file, openai, anthropic, offline, or an address",
  is: optional(text),
} satisfies Field;

/** The rules of permissions. */
export const rules = {
  allowTool: {
    term: "--allow-tool <rule>",
    about: "allow without asking (repeatable): write, 'shell(git status)', 'url(example.com)', a tool's name",
    is: words,
    repeats: true,
  },
  denyTool: {
    term: "--deny-tool <rule>",
    about: "never allow (repeatable); wins over --allow-tool",
    is: words,
    repeats: true,
  },
  allowAllTools: { term: "--allow-all-tools", about: "allow everything without asking", is: flag },
  yolo: {
    term: "--yolo",
    about: "allow everything without asking: every tool, every path, every address; --deny-tool still holds",
    is: flag,
  },
  addDir: {
    term: "--add-dir <path>",
    about: "a further folder whose files may be read (repeatable)",
    is: words,
    repeats: true,
  },
} satisfies Record<string, Field>;

export interface CommonFlags {
  home?: string;
  json: boolean;
}
