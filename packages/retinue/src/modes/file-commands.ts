/** The slash commands that files of the user and of the project bring to a session. They are read when somebody looks for a command. */
import { type FileCommand, readCommandFiles } from "../skills/command-file.ts";
import type { TreeParts } from "../tree/parts.ts";

export interface SessionCommand extends FileCommand {
  source: "user" | "project";
}

const told = new WeakMap<TreeParts, Set<string>>();

/** The first of two with the same name wins. What cannot be read is a warning, once. */
export function fileCommands(tree: TreeParts): SessionCommand[] {
  const problems: string[] = [];
  const all = tree.configuration.skills.commands.flatMap(({ path, source, ...place }) => {
    const owner = source === "user" ? "your commands" : "the project's commands";
    return readCommandFiles(path, { ...place, owner, problems }).map((command) => ({ ...command, source }));
  });
  warn(tree, problems);
  const isFirst = ({ name }: SessionCommand, at: number) => all.findIndex((each) => each.name === name) === at;
  return all.filter(isFirst);
}

function warn(tree: TreeParts, problems: readonly string[]): void {
  const known = told.get(tree) ?? new Set();
  told.set(tree, known);
  for (const message of problems) {
    if (known.has(message)) continue;
    known.add(message);
    tree.root.append("session.warning", { warningType: "command", message });
  }
}
