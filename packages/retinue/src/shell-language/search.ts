/** The commands that can be found in a line that is not plain, at any depth. There may be others. */
import type { Node } from "web-tree-sitter";
import { commandOf, type Redirection, type ShellCommand } from "./command.ts";
import { readWord, type Word } from "./word.ts";

const MAX_FOUND = 50;
const COMMANDS = ["command", "declaration_command", "unset_command", "test_command"];
const NO_FILE = new Set(["/dev/null", "/dev/stdout", "/dev/stderr"]);

export function findCommands(root: Node): { commands: ShellCommand[]; redirections: Redirection[] } {
  return {
    commands: root.descendantsOfType(COMMANDS).slice(0, MAX_FOUND).flatMap(asCommand),
    redirections: root.descendantsOfType("file_redirect").slice(0, MAX_FOUND).flatMap(asRedirection),
  };
}

function asCommand(node: Node): ShellCommand[] {
  const words = node.children
    .filter((child) => child.type !== "file_redirect" && child.type !== "herestring_redirect")
    .filter((child) => child.type !== "variable_assignment" || node.type !== "command")
    .map((child) => readWord(child.text) ?? opaque(child.text));
  return words.length === 0 ? [] : [commandOf(words)];
}

const opaque = (source: string): Word => ({
  source,
  value: source,
  isLiteral: false,
  hasVariable: true,
  mayBeOption: true,
});

function asRedirection(node: Node): Redirection[] {
  const operator = node.children.find((child) => !child.isNamed)?.type ?? "";
  const target = node.childForFieldName("destination")?.text;
  if (target === undefined || (operator.endsWith("&") && /^\d+$|^-$/.test(target))) return [];
  const isWrite = operator.includes(">") && !NO_FILE.has(target);
  return [{ target: readWord(target)?.value ?? target, isWrite }];
}
