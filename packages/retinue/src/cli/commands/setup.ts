/** `retinue init`, `models`, `config`, `completion` and `update`: setting up and looking after an installation. */
import { choice } from "./checked-values.ts";
import { type Command, command, type Group } from "./command.ts";
import { home, json, provider } from "./shared-fields.ts";
import { flag, optional, text, unlessTurnedOff } from "./values.ts";

export const init = command({
  name: "init",
  summary: "set up a model: asks for a provider, tries it, and writes config.json",
  more: "Without a terminal everything comes from options, with --yes. Nothing is written before the provider has answered.",
  fields: {
    provider: {
      term: "--provider <name>",
      about: "openai, anthropic, ollama, offline, or a name of your own for --base-url",
      is: optional(text),
    },
    baseUrl: {
      term: "--base-url <address>",
      about: "where the provider answers, for example http://127.0.0.1:11434/v1",
      is: optional(text),
    },
    apiKeyEnv: { term: "--api-key-env <variable>", about: "the variable that holds the key", is: optional(text) },
    model: { term: "--model <name>", about: "the model to use", is: optional(text) },
    test: { term: "--no-test", about: "write without asking the provider", is: unlessTurnedOff },
    yes: { term: "-y, --yes", about: "do not ask", is: flag },
    home,
  },
  examples: [
    "retinue init",
    "retinue init --provider ollama --model qwen3 --yes",
    "retinue init --provider openai --api-key-env OPENAI_API_KEY --yes",
  ],
  async run(input, context) {
    const { runInit } = await import("../init.ts");
    return runInit(input, context);
  },
});

export const models = command({
  name: "models",
  summary: "list the models of the configured providers; the default is marked",
  more: "Endpoints are asked which models they have. The exit code is 1 when one of them could not be asked.",
  fields: {
    provider: { ...provider, about: "only this provider: a name of the config file, or an address" },
    json,
    home,
  },
  examples: ["retinue models", "retinue models --provider http://127.0.0.1:11434/v1"],
  async run(input, context) {
    const { listModels } = await import("../models.ts");
    return listModels(input, context);
  },
});

const key = {
  term: "<key>",
  about: "as in model, subagents.fastModel or providers.ollama.baseUrl",
  is: text,
};
const load = () => import("../config-file.ts");

const get = command({
  name: "get",
  summary: "print config.json, or one value of it; keys are hidden unless they are asked for",
  fields: { key: { ...key, term: "[key]", is: optional(text) }, home },
  examples: ["retinue config get", "retinue config get model"],
  async run(input, context) {
    return (await load()).getConfig(input, context);
  },
});

const set = command({
  name: "set",
  summary: "change one value of config.json",
  more: "The value is JSON, or else text. Nothing is written that could not be read again.",
  fields: { key, value: { term: "<value>", about: "the new value", is: text }, home },
  examples: [
    "retinue config set model anthropic/claude-sonnet-4-5",
    "retinue config set providers.ollama.baseUrl http://127.0.0.1:11434/v1",
  ],
  async run(input, context) {
    return (await load()).setConfig(input, context);
  },
});

const unset = command({
  name: "unset",
  summary: "take one value out of config.json",
  fields: { key, home },
  examples: ["retinue config unset subagents.fastModel"],
  async run(input, context) {
    return (await load()).unsetConfig(input, context);
  },
});

const edit = command({
  name: "edit",
  summary: "open config.json in $VISUAL or $EDITOR; it replaces the old one only if it can be read",
  fields: { home },
  examples: ["retinue config edit"],
  async run(input, context) {
    const { editConfig } = await import("../config-edit.ts");
    return editConfig(input, context);
  },
});

export const config: Group = {
  name: "config",
  summary: "read and change config.json in the home folder",
  commands: [get, set, unset, edit],
  examples: ["retinue config get", "retinue config set model anthropic/claude-sonnet-4-5"],
};

/** Of the commands that there are, itself included. */
export const completionOf = (commands: () => readonly (Command | Group)[]): Command =>
  command({
    name: "completion",
    summary: "print a script that completes commands, options and sessions in a shell",
    more: 'bash: add  eval "$(retinue completion bash)"  to ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. fish: save it as ~/.config/fish/completions/retinue.fish.',
    fields: { shell: { term: "<shell>", about: "bash, zsh or fish", is: choice("bash", "zsh", "fish") } },
    examples: ["retinue completion bash", "retinue completion fish"],
    async run({ shell }, { terminal }) {
      const { completionScript } = await import("../completion.ts");
      terminal.out(completionScript(shell, commands()));
      return 0;
    },
  });

export const update = command({
  name: "update",
  summary: "say whether there is a newer version; nothing is installed",
  more: "This is the only command that looks for new versions, and only with --check. It asks npm, with npm's own settings.",
  fields: { check: { term: "--check", about: "ask npm for the newest version", is: flag }, json },
  examples: ["retinue update --check"],
  async run(input, context) {
    const { checkForUpdate } = await import("../update.ts");
    return checkForUpdate(input, context);
  },
});
