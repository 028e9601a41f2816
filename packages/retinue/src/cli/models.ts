/** `retinue models`: which models there are, and which one answers when nobody names another. */
import { AppError, visible } from "@retinue/protocol";
import { homeFolder } from "../host/home.ts";
import { openCatalog } from "../models/catalog.ts";
import { readModelsConfig } from "../models/config.ts";
import { type Source, sources } from "../models/sources.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import { modelsOf, type ProviderModels } from "./provider-models.ts";

type Flags = CommonFlags & { provider?: string };

interface Listed extends Omit<ProviderModels, "models"> {
  models: { id: string; name: string; isDefault: boolean }[];
}

/** Resolves with the exit code: 1 when a provider could not be asked. */
export async function listModels(flags: Flags, { terminal, env }: CliContext): Promise<number> {
  const home = homeFolder(env, flags.home);
  const config = readModelsConfig(home);
  const all = sources({ env, config, provider: flags.provider });
  const shown = flags.provider === undefined ? all : all.slice(0, 1);
  const { signal } = new AbortController();
  const found = await Promise.all(shown.map((source) => modelsOf(source, signal)));
  const chosen = chosenModel(all, openCatalog({ env, home, provider: flags.provider }));
  const listed = found.map((each) => marked(each, chosen));
  if (flags.json) terminal.out(`${JSON.stringify(listed, null, 2)}\n`);
  else if (listed.length === 0) terminal.out(NO_PROVIDER);
  else {
    terminal.out(`${listed.map(words).join("\n\n")}\n`);
    if (!chosen) terminal.note('No model is chosen yet. Choose one: retinue config set model "<provider>/<model>"');
  }
  return listed.some(({ problem }) => problem !== undefined) ? 1 : 0;
}

const NO_PROVIDER = `* offline  answers by fixed rules; no provider is set up
Set one up: retinue init
`;

interface Chosen {
  provider: string;
  model: string;
}

/** Undefined when there are providers and no model is chosen. */
function chosenModel(all: readonly Source[], catalog: ReturnType<typeof openCatalog>): Chosen | undefined {
  try {
    const { id } = catalog.forSession({}).choose();
    const named = all.find(({ endpoint }) => id.startsWith(`${endpoint.id}/`));
    const source = named ?? all.find(({ models }) => models.some((model) => model.id === id)) ?? all[0];
    if (!source) return undefined;
    return { provider: source.endpoint.id, model: named ? id.slice(source.endpoint.id.length + 1) : id };
  } catch (error) {
    if (error instanceof AppError && error.code === "not_configured") return undefined;
    throw error;
  }
}

/** A chosen model that the endpoint does not list is there all the same. */
function marked({ models, ...about }: ProviderModels, chosen: Chosen | undefined): Listed {
  const isHere = chosen?.provider === about.provider;
  const isMissing = isHere && !models.some(({ id }) => id === chosen.model);
  const all = isMissing ? [{ id: chosen.model, name: chosen.model }, ...models] : models;
  return { ...about, models: all.map((model) => ({ ...model, isDefault: isHere && model.id === chosen.model })) };
}

function words({ provider, address, models, problem }: Listed): string {
  const lines = models.map(({ id, name, isDefault }) => {
    const more = [...(name === id ? [] : [name]), ...(isDefault ? ["default"] : [])].join(", ");
    return `${isDefault ? "*" : " "} ${id}${more === "" ? "" : `  (${more})`}`;
  });
  const trouble = problem === undefined ? [] : [`  could not be asked: ${problem}`];
  const empty = models.length === 0 && problem === undefined ? ["  it lists no models"] : [];
  return [`${provider}  ${address}`, ...lines, ...trouble, ...empty].map(visible).join("\n");
}
