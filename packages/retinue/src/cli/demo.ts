/**
 * `retinue demo`: a main agent with sub-agents at work on the current folder, with no key and no network.
 *
 * It is prompt mode with a fixed prompt. The home folder is removed afterwards unless one is named, so that the demo
 * leaves nothing behind.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { homeFolder } from "../host/home.ts";
import type { CliContext } from "./cli-context.ts";
import { noteOldNode } from "./old-node.ts";
import { pacedCatalog } from "./paced-models.ts";
import { runPrompt } from "./prompt.ts";

const PROMPT = "Explore this project with three sub-agents.";

export async function runDemo(
  flags: { home?: string; provider?: string; model?: string },
  context: CliContext,
): Promise<number> {
  const { terminal, env, cwd } = context;
  const { provider = "offline", model } = flags;
  const kept = homeFolder(env, flags.home);
  noteOldNode(terminal, { home: existsSync(kept) ? kept : undefined });
  const home = flags.home ?? throwAwayHome();
  terminal.note(`A main agent explores ${cwd} with three sub-agents: two that it waits for, and one in the background`);
  terminal.note("that gets one more question. Nothing is changed. The answer is at the end.\n");
  const isPaced = provider === "offline" && terminal.isScreen;
  const code = await runPrompt(
    { text: PROMPT },
    {
      home,
      provider,
      model,
      allowTool: [],
      denyTool: ["write", "shell"],
      allowAllTools: false,
      addDir: [],
      continue: false,
      stream: true,
      quiet: false,
      outputFormat: "text",
      showsTree: true,
      isThrownAway: flags.home === undefined,
      ...(isPaced
        ? { catalog: (env) => pacedCatalog({ env, home, provider }, { beforeAnswerMs: 500, betweenPartsMs: 5 }) }
        : {}),
    },
    context,
  );
  terminal.note(
    '\nNext: retinue -p "…" asks what you want to know; retinue doctor says how to configure a real model.',
  );
  return code;
}

function throwAwayHome(): string {
  const home = mkdtempSync(join(tmpdir(), "retinue-demo-"));
  process.once("exit", () => rmSync(home, { recursive: true, force: true }));
  return home;
}
