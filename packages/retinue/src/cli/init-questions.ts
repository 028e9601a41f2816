/** The questions of `retinue init` about a provider. Undefined means that there was no answer: Ctrl-C, or the end of input. */
import { execFileSync } from "node:child_process";
import type { CliContext } from "./cli-context.ts";
import { UsageError } from "./usage-error.ts";

export interface InitFlags {
  provider?: string;
  baseUrl?: string;
  apiKeyEnv?: string;
  model?: string;
  /** False: the provider is not asked before it is written down. */
  test: boolean;
  yes: boolean;
  home?: string;
}

export interface Answers {
  /** As it is written to config.json, without models. */
  entry: { name: string; type?: "anthropic"; baseUrl: string; apiKey?: string; apiKeyEnv?: string };
  /** For the first request. */
  key: string | undefined;
  /** What is offered when the provider lists it, or lists nothing. */
  usualModel?: string;
}

interface Asking extends CliContext {
  isAsking: boolean;
  signal: AbortSignal;
}

interface Known {
  title: string;
  baseUrl: string;
  type?: "anthropic";
  keyVariable?: string;
  usualModel?: string;
}

const KNOWN: Readonly<Record<string, Known>> = {
  openai: {
    title: "OpenAI",
    baseUrl: "https://api.openai.com/v1",
    keyVariable: "OPENAI_API_KEY",
    usualModel: "gpt-4.1",
  },
  anthropic: {
    title: "Anthropic",
    type: "anthropic",
    baseUrl: "https://api.anthropic.com",
    keyVariable: "ANTHROPIC_API_KEY",
    usualModel: "claude-sonnet-4-5",
  },
  ollama: { title: "Ollama, on this machine", baseUrl: "http://127.0.0.1:11434/v1" },
};

export async function askForProvider(flags: InitFlags, asking: Asking): Promise<Answers | "offline" | undefined> {
  const name = flags.provider ?? (await askForName(flags, asking));
  if (name === undefined || name === "offline") return name;
  if (/[/.\s]/.test(name) || name === "")
    throw new UsageError(`--provider ${JSON.stringify(name)}: a name has no slash, dot or blank`);
  const known = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
  if (!known && flags.baseUrl === undefined && !asking.isAsking)
    throw new UsageError(
      `--provider ${name} needs --base-url. Without one there are: ${Object.keys(KNOWN).join(", ")}, offline`,
    );
  const baseUrl = flags.baseUrl ?? (await askForAddress(name, known, asking));
  if (baseUrl === undefined) return undefined;
  if (!isAddress(baseUrl)) throw new UsageError(`--base-url must be an http or https address, not "${baseUrl}"`);
  const key = await askForKey(flags, known, asking);
  if (key === undefined) return undefined;
  const { apiKey, apiKeyEnv } = key;
  return {
    entry: {
      name,
      ...(known?.type ? { type: known.type } : {}),
      baseUrl,
      ...(apiKey ? { apiKey } : {}),
      ...(apiKeyEnv ? { apiKeyEnv } : {}),
    },
    key: apiKey ?? (apiKeyEnv ? asking.env[apiKeyEnv] : undefined),
    usualModel: known?.usualModel,
  };
}

const isAddress = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

/** Yes and no; without a question, yes. */
export async function askYes(
  question: string,
  { terminal, isAsking, signal, otherwise = true }: Asking & { otherwise?: boolean },
): Promise<boolean> {
  if (!isAsking) return true;
  const answer = await terminal.ask(`${question} [${otherwise ? "Y = yes, n = no" : "y = yes, N = no"}, then Enter] `, {
    signal,
  });
  if (answer === undefined) return false;
  return answer.trim() === "" ? otherwise : /^y/i.test(answer.trim());
}

async function askForName(flags: InitFlags, { terminal, isAsking, signal }: Asking): Promise<string | undefined> {
  if (flags.baseUrl !== undefined) return "custom";
  if (!isAsking)
    throw new UsageError(`give --provider: ${Object.keys(KNOWN).join(", ")}, offline, or any name with --base-url`);
  const choices = [
    ...Object.entries(KNOWN).map(([name, { title }]) => ({ name, title })),
    { name: "custom", title: "another address that speaks the OpenAI protocol" },
    { name: "offline", title: "none for now: answers by fixed rules, no key" },
  ];
  terminal.note("Where do models come from?");
  for (const [at, { title }] of choices.entries()) terminal.note(`  ${at + 1}  ${title}`);
  for (;;) {
    const typed = await terminal.ask(`[1-${choices.length}] `, { signal });
    if (typed === undefined) return undefined;
    const chosen = choices[Number(typed.trim()) - 1] ?? choices.find(({ name }) => name === typed.trim().toLowerCase());
    if (chosen) return chosen.name;
  }
}

async function askForAddress(
  name: string,
  known: Known | undefined,
  { terminal, isAsking, signal }: Asking,
): Promise<string | undefined> {
  if (known && (!isAsking || name !== "ollama")) return known.baseUrl;
  for (;;) {
    const typed = await terminal.ask(`Its address?${known ? ` [${known.baseUrl}]` : ""} `, { signal });
    if (typed === undefined) return undefined;
    const address = typed.trim() || known?.baseUrl;
    if (address && isAddress(address)) return address;
    terminal.note("It begins with http:// or https://, for example http://127.0.0.1:11434/v1");
  }
}

/** A key in a variable stays there; only a key that is typed is written down. */
async function askForKey(
  { apiKeyEnv }: InitFlags,
  known: Known | undefined,
  asking: Asking,
): Promise<{ apiKey?: string; apiKeyEnv?: string } | undefined> {
  const variable = apiKeyEnv ?? known?.keyVariable;
  if (apiKeyEnv !== undefined || (variable !== undefined && asking.env[variable])) {
    asking.terminal.note(`The key is read from ${variable}.`);
    return { apiKeyEnv: variable };
  }
  if (!asking.isAsking) return variable === undefined ? {} : { apiKeyEnv: variable };
  if (known && variable === undefined) return {};
  const otherwise = variable ? `Enter alone: it is read from ${variable}` : "Enter alone: none is needed";
  const typed = await askSecret(
    `The key? It is not shown, and kept in config.json, which only you can read. (${otherwise}) `,
    asking,
  );
  if (typed === undefined) return undefined;
  if (typed.trim() !== "") return { apiKey: typed.trim() };
  return variable === undefined ? {} : { apiKeyEnv: variable };
}

async function askSecret(question: string, { terminal, signal }: Asking): Promise<string | undefined> {
  if (!echo("-echo")) return await terminal.ask(question, { signal });
  const restore = () => echo("echo");
  process.once("exit", restore); // A second Ctrl-C does not wait for us.
  try {
    return await terminal.ask(question, { signal });
  } finally {
    process.off("exit", restore);
    restore();
    terminal.note("");
  }
}

/** The terminal shows what is typed, not we. Where it cannot be told not to, the key is seen. */
function echo(setting: "echo" | "-echo"): boolean {
  try {
    execFileSync("stty", [setting], { stdio: ["inherit", "ignore", "ignore"] });
    return true;
  } catch {
    return false;
  }
}
