/** Slash commands of plugins: Markdown files whose text becomes the prompt, with what was typed behind the name put in. */
import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { lazy, messageOf, visible } from "@retinue/protocol";
import * as z from "zod";
import { parseFrontMatter } from "../agents/front-matter.ts";
import { checkFolder, readWholeTextFile } from "../project/text-file.ts";
import type { Plugin } from "./manifest.ts";

export interface PluginCommand {
  name: string;
  plugin: string;
  description: string;
  argumentHint?: string;
  text: string;
}

const MAX_COMMANDS = 100;
const MAX_BYTES = 64 * 1024;

const Head = lazy(() =>
  z.looseObject({
    description: z.string().optional(),
    "argument-hint": z.union([z.string(), z.array(z.string())]).optional(),
  }),
);

export function readCommands({ name: plugin, root, commands }: Plugin, problems: string[]): PluginCommand[] {
  const files = commands.flatMap((path) => markdownIn(path, root, problems));
  if (files.length > MAX_COMMANDS)
    problems.push(visible(`plugin ${plugin}: only the first ${MAX_COMMANDS} of ${files.length} commands are read`));
  return files.slice(0, MAX_COMMANDS).flatMap((file) => {
    try {
      const text = readWholeTextFile(file, { maxBytes: MAX_BYTES, within: root }) ?? "";
      const { head, body } = parseFrontMatter(text, Head(), { file });
      const hint = [head["argument-hint"] ?? []].flat().join(" ");
      const name = basename(file, ".md");
      const description = head.description ?? body.split("\n")[0]?.slice(0, 200) ?? "";
      return [{ name, plugin, description, text: body, ...(hint === "" ? {} : { argumentHint: hint }) }];
    } catch (error) {
      problems.push(visible(messageOf(error)));
      return [];
    }
  });
}

function markdownIn(path: string, root: string, problems: string[]): string[] {
  try {
    checkFolder(path, root);
    if (!statSync(path).isDirectory()) return path.endsWith(".md") ? [path] : [];
    const names = readdirSync(path).filter((name) => name.endsWith(".md") && !/^readme\.md$/i.test(name));
    return names.sort().map((name) => join(path, name));
  } catch (error) {
    problems.push(visible(messageOf(error))); // It has gone meanwhile, or must not be read.
    return [];
  }
}

/** `$ARGUMENTS` is all that was typed, `$1` the first word. What a text has no place for stands behind it. */
export function promptOf({ text }: PluginCommand, typed: string): string {
  const words = typed.split(/\s+/).filter(Boolean);
  const hasPlace = /\$(?:ARGUMENTS|[1-9])/.test(text);
  const filled = text.replaceAll(/\$(?:ARGUMENTS|([1-9]))/g, (_, place) =>
    place === undefined ? typed : (words[Number(place) - 1] ?? ""),
  );
  return hasPlace || typed === "" ? filled : `${filled}\n\n${typed}`;
}
