/**
 * `retinue init`: the first set-up. Asks for a provider, tries it with a real request, and writes config.json at the end, in one step.
 *
 * Everything that is asked can be given as an option; with --yes nothing is asked.
 */
import { visible } from "@retinue/protocol";
import { homeFolder } from "../host/home.ts";
import { sources } from "../models/sources.ts";
import { nearest } from "../nearest.ts";
import type { CliContext } from "./cli-context.ts";
import { configPath, readConfig, writeConfig } from "./config-file.ts";
import { valueAt, withValueAt } from "./config-keys.ts";
import { type Answers, askForProvider, askYes, type InitFlags } from "./init-questions.ts";
import { Interrupts } from "./interrupts.ts";
import { modelsOf, type ProviderModels } from "./provider-models.ts";
import { UsageError } from "./usage-error.ts";

/** Resolves with the exit code. */
export async function runInit(flags: InitFlags, context: CliContext): Promise<number> {
  const { terminal, env } = context;
  if (!flags.yes && !terminal.canAsk)
    throw new UsageError(
      "there is no terminal to ask at. Give --provider (and --base-url, --api-key-env, --model) with --yes",
    );
  using interrupts = new Interrupts(() => terminal.note("\nNothing was written."));
  const asking = { ...context, isAsking: !flags.yes, signal: interrupts.signal };
  const home = homeFolder(env, flags.home);
  const config = readConfig(configPath(home));
  const chosen = await askForProvider(flags, asking);
  if (chosen === undefined) return interrupts.exitCode;
  if (chosen === "offline") {
    terminal.out(`Nothing has to be set up: without a provider an offline model answers by fixed rules.\n${NEXT}`);
    return 0;
  }
  const { name } = chosen.entry;
  const isThere = valueAt(config, `providers.${name}`) !== undefined;
  if (isThere && !(await askYes(`${name} is set up already. Replace it?`, asking)))
    return nothingWritten(terminal, interrupts);
  const tried = flags.test ? await tryOut(chosen, context, interrupts.signal) : undefined;
  if (interrupts.signal.aborted) return interrupts.exitCode;
  if (tried?.problem !== undefined) {
    terminal.note(`✗ ${visible(`${name} at ${chosen.entry.baseUrl}: ${tried.problem}`)}`);
    const goesOn = !flags.yes && (await askYes("Write it down all the same?", { ...asking, otherwise: false }));
    if (!goesOn) return nothingWritten(terminal, interrupts);
  } else if (tried)
    terminal.note(`✓ ${name} answers with ${tried.models.length} ${tried.models.length === 1 ? "model" : "models"}`);
  const model = await chooseModel(flags, { chosen, listed: tried?.models ?? [], asking });
  if (model === undefined) return nothingWritten(terminal, interrupts);
  const named = { ...chosen.entry, models: [model] };
  writeConfig(home, withValueAt(withValueAt(config, `providers.${name}`, named), "model", `${name}/${model}`));
  terminal.out(`Wrote ${configPath(home)}: the model is ${name}/${model}.\n${NEXT}`);
  for (const variable of ["RETINUE_PROVIDER_URL", "COPILOT_API_URL"])
    if (env[variable]) terminal.note(`${variable} is set and comes before config.json: unset it to use ${name}.`);
  return 0;
}

const NEXT = `Try:
  retinue -p "What is here?"
  retinue doctor
`;

function nothingWritten(terminal: CliContext["terminal"], { signal, exitCode }: Interrupts): number {
  if (signal.aborted) return exitCode;
  terminal.note("Nothing was written.");
  return 1;
}

async function tryOut({ entry, key }: Answers, { env }: CliContext, signal: AbortSignal): Promise<ProviderModels> {
  const provider = { type: "openai" as const, ...entry, apiKey: key, models: [] };
  const [source] = sources({ env: {}, config: { providers: [provider] } });
  if (!source) throw new Error(`The provider ${entry.name} cannot be used.`);
  if (entry.apiKeyEnv !== undefined && !env[entry.apiKeyEnv])
    return {
      provider: entry.name,
      address: entry.baseUrl,
      models: [],
      problem: `the variable ${entry.apiKeyEnv} is not set`,
    };
  return await modelsOf(source, signal);
}

interface ModelQuestion {
  chosen: Answers;
  listed: ProviderModels["models"];
  asking: CliContext & { isAsking: boolean; signal: AbortSignal };
}

const SHOWN = 20;

/** Undefined when there was no answer. */
async function chooseModel(
  { model }: InitFlags,
  { chosen, listed, asking }: ModelQuestion,
): Promise<string | undefined> {
  const { terminal, isAsking, signal } = asking;
  const ids = listed.map(({ id }) => id);
  const usual = ids.length === 0 || ids.includes(chosen.usualModel ?? "") ? chosen.usualModel : ids[0];
  if (model !== undefined) {
    if (ids.length > 0 && !ids.includes(model)) {
      const meant = nearest(model, ids);
      terminal.note(`The provider does not list ${model}.${meant ? ` Did you mean ${visible(meant)}?` : ""}`);
    }
    return model;
  }
  if (!isAsking) {
    if (usual !== undefined) return usual;
    throw new UsageError("name the model with --model: the provider does not say which it has");
  }
  if (ids.length > 0)
    terminal.note(`Models: ${ids.slice(0, SHOWN).map(visible).join(", ")}${ids.length > SHOWN ? ", …" : ""}`);
  for (;;) {
    const typed = await terminal.ask(`Which model?${usual ? ` [${visible(usual)}]` : ""} `, { signal });
    if (typed === undefined) return undefined;
    const answer = typed.trim() || usual;
    if (answer) return answer;
  }
}
