/**
 * Names of tools in files that were written for other programs, and the tools of ours that they mean.
 *
 * Only for files. A program names the tools of its session, which may be called anything.
 */
import { didYouMean } from "../nearest.ts";

/** In small letters: other programs do not mind capitals here. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  read: ["view"],
  notebookread: ["view"],
  ls: ["view"],
  write: ["create"],
  multiedit: ["edit"],
  notebookedit: ["edit"],
  editfiles: ["edit"],
  search: ["grep", "glob"],
  codebase: ["grep", "glob", "view"],
  execute: ["bash"],
  shell: ["bash"],
  powershell: ["bash"],
  runcommands: ["bash"],
  runinterminal: ["bash"],
  bashoutput: ["read_bash"],
  killshell: ["stop_bash"],
  killbash: ["stop_bash"],
  webfetch: ["web_fetch"],
  web: ["web_fetch"],
  fetch: ["web_fetch"],
  agent: ["task"],
  "custom-agent": ["task"],
  runsubagent: ["task"],
  todo: ["sql"],
  todos: ["sql"],
  todowrite: ["sql"],
  todoread: ["sql"],
  askuserquestion: ["ask_user"],
};

/** Called alike here and there, but for capitals. */
const ALIKE: ReadonlySet<string> = new Set(["bash", "edit", "view", "grep", "glob", "task", "skill", "create", "sql"]);

const MCP_TOOL = /^mcp__(.+?)(?:__(.+))?$/;

/** Ours for one entry of a file's `tools`. An entry that nobody maps is returned as it is. */
export function ownNames(entry: string, warn: (words: string) => void): readonly string[] {
  const name = entry.trim();
  if (/^[\w-]+\(.*\)$/.test(name)) {
    // Without its condition the entry would allow more than it says.
    warn(`tools cannot hold a condition, so '${name}' does not count: name the tool alone, and limit it by rules`);
    return [];
  }
  const [, server, tool = "*"] = MCP_TOOL.exec(name) ?? [];
  if (server !== undefined) return [server === "*" ? "mcp:*" : `${server}/${tool}`];
  const small = name.toLowerCase();
  if (ALIKE.has(small)) return [small];
  return (Object.hasOwn(MEANT, small) ? MEANT[small] : undefined) ?? [name];
}

interface Unknown {
  field: "tools" | "skills";
  name: string;
  words: string;
}

/** What a file names that is not there. Tools of servers and of the host program are known only to a session. */
export function unknownNames(
  given: { tools: readonly string[] | null; skills: readonly string[] },
  known: { tools: readonly string[]; skills: readonly string[] },
): Unknown[] {
  const isOurs = (name: string) => !/[-/*:]/.test(name) || name.startsWith("builtin:");
  const tools = (given.tools ?? []).filter(
    (name) => isOurs(name) && !name.includes("*") && !known.tools.includes(name.replace(/^builtin:/, "")),
  );
  const skills = given.skills.filter((name) => !known.skills.includes(name));
  const hostTool = ". A tool of the host program is written custom:<name>";
  return [
    ...tools.map((name) => complaint("tools", name, known.tools, hostTool)),
    ...skills.map((name) => complaint("skills", name, known.skills)),
  ];
}

function complaint(field: Unknown["field"], name: string, names: readonly string[], more = ""): Unknown {
  const hint = didYouMean(name, names) || `. There are: ${names.join(", ") || "none"}${more}`;
  return { field, name, words: `there is no ${field.slice(0, -1)} '${name}', so the agent starts without it${hint}` };
}
