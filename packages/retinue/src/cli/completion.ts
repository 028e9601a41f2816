/** `retinue completion`: a script for a shell. */
import type { Command, Group } from "./commands/command.ts";
import { bashScript } from "./completion-bash.ts";
import { fishScript } from "./completion-fish.ts";
import { allPlaces } from "./completion-table.ts";
import { zshScript } from "./completion-zsh.ts";

export function completionScript(shell: "bash" | "zsh" | "fish", commands: readonly (Command | Group)[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](allPlaces(commands));
}
