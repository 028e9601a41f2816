/** The completion script for zsh. */
import { type Place, SESSION_IDS, type Values } from "./completion-table.ts";

export function zshScript(places: readonly Place[]): string {
  const paths = places.flatMap(({ path, commands }) => commands.map(({ name }) => `"${path} ${name}"`));
  const values = places.flatMap(({ path, options }) =>
    options.flatMap(({ name, short, values: taken }) =>
      taken
        ? [
            `    ${[name, ...(short ? [short] : [])].map((each) => `"${path}|${each}"`).join("|")}) ${zshValues(taken)}; return ;;`,
          ]
        : [],
    ),
  );
  const lists = places.map(({ path, commands, options, values: taken }) => {
    const names = options.flatMap(({ name, short, about }) =>
      [name, ...(short ? [short] : [])].map((each) => ({ name: each, about })),
    );
    return [
      `    "${path}")`,
      `      items=(${commands.map(described).join(" ")})`,
      `      opts=(${names.map(described).join(" ")})`,
      `      [[ $PREFIX == -* ]] || ${zshValues(taken)} ;;`,
    ].join("\n");
  });
  return `#compdef retinue
# Completion of retinue for zsh. Add to ~/.zshrc, after compinit:  eval "$(retinue completion zsh)"
_retinue_sessions() { local -a ids; ids=(\${(f)"$("\${words[1]}" ${SESSION_IDS})"}); compadd -a ids; }
_retinue() {
  local at="" i
  local -a items opts
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
    ${paths.join("|")}) at="\${at:+$at }\${words[i]}" ;;
    esac
  done
  case "$at|\${words[CURRENT - 1]}" in
${values.join("\n")}
  esac
  case "$at" in
${lists.join("\n")}
  esac
  (( \${#items} )) && _describe command items
  [[ -z $PREFIX || $PREFIX == -* ]] && _describe -o option opts
}
if [[ \${funcstack[1]} == _retinue ]]; then _retinue "$@"; else compdef _retinue retinue; fi
`;
}

function zshValues(values: Values): string {
  if (values.type === "session") return "_retinue_sessions";
  if (values.type === "words") return `compadd -- ${values.words.join(" ")}`;
  return values.type === "file" ? "_files" : "true";
}

/** A colon ends the name, and the rest is its description. */
function described({ name, about }: { name: string; about: string }): string {
  return `'${name.replaceAll(":", "\\:")}:${about.replaceAll("'", "'\\''")}'`;
}
