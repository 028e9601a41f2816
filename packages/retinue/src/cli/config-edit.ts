/** `retinue config edit`: a copy of config.json in an editor. It takes the place of the old one only when it can be used. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf, visible } from "@retinue/protocol";
import { homeFolder } from "../host/home.ts";
import { configProblem, configWarnings } from "../models/config.ts";
import { makePrivateFolder, writePrivateFile } from "../store/private-files.ts";
import type { CliContext } from "./cli-context.ts";
import { configPath, readIfThere, replaceConfig } from "./config-file.ts";
import { editorOf, runEditor } from "./editor.ts";
import { Interrupts } from "./interrupts.ts";
import { UsageError } from "./usage-error.ts";

const EMPTY = '{\n  "providers": []\n}\n';

/** Resolves with the exit code: 1 when nothing was changed because it could not be used. */
export async function editConfig({ home }: { home?: string }, { terminal, env }: CliContext): Promise<number> {
  const folder = homeFolder(env, home);
  const editor = editorOf(env);
  if (!editor) throw new UsageError(`set VISUAL or EDITOR to your editor, or edit ${configPath(folder)} yourself`);
  using interrupts = new Interrupts(() => undefined); // The copy is removed also after Ctrl-C.
  const before = readIfThere(configPath(folder)) ?? EMPTY;
  makePrivateFolder(folder);
  const copies = mkdtempSync(join(folder, ".edit-")); // In the home, which others cannot read: it may hold keys.
  const copy = join(copies, "config.json");
  try {
    writePrivateFile(copy, before);
    for (;;) {
      const code = await runEditor(editor, copy);
      if (interrupts.signal.aborted) return interrupts.exitCode;
      if (code !== 0) throw new UsageError(`the editor ended with code ${code}; nothing was changed`, 1);
      const text = readFileSync(copy, "utf8");
      if (text === before) {
        terminal.note("Nothing was changed.");
        return 0;
      }
      const problem = problemIn(text);
      if (problem === undefined) {
        replaceConfig(folder, text);
        terminal.note(`Changed ${configPath(folder)}.`);
        for (const warning of configWarnings(folder)) terminal.note(warning);
        return 0;
      }
      terminal.note(`This cannot be used: ${visible(problem)}`);
      const { signal } = interrupts;
      const again = terminal.canAsk
        ? await terminal.ask("Edit again? [Y = yes, n = no, then Enter] ", { signal })
        : undefined;
      if (signal.aborted) return interrupts.exitCode;
      if (again === undefined || /^n/i.test(again.trim())) {
        terminal.note("Nothing was changed.");
        return 1;
      }
    }
  } finally {
    rmSync(copies, { recursive: true, force: true });
  }
}

function problemIn(text: string): string | undefined {
  try {
    return configProblem(JSON.parse(text));
  } catch (error) {
    return messageOf(error);
  }
}
