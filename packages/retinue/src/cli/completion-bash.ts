/** The completion script for bash. */
import { type Place, SESSION_IDS, type Values } from "./completion-table.ts";

export function bashScript(places: readonly Place[]): string {
  const paths = places.flatMap(({ path, commands }) => commands.map(({ name }) => `"${path} ${name}"`));
  const values = places.flatMap(({ path, options }) =>
    options.flatMap(({ name, short, values: taken }) =>
      taken
        ? [
            `    ${[name, ...(short ? [short] : [])].map((each) => `"${path}|${each}"`).join("|")}) ${bashValues(taken)}; return ;;`,
          ]
        : [],
    ),
  );
  const words = places.map(({ path, commands, options, values: taken }) => {
    const names = [
      ...commands.map(({ name }) => name),
      ...options.flatMap(({ name, short }) => [name, ...(short ? [short] : [])]),
    ];
    return `    "${path}") words="${names.join(" ")}"; ${taken.type === "none" ? "" : `[[ $cur == -* ]] || { ${bashValues(taken)}; return; }; `};;`.replace(
      "; ;;",
      " ;;",
    );
  });
  return `# Completion of retinue for bash. Add to ~/.bashrc:  eval "$(retinue completion bash)"
_retinue_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_retinue_sessions() { compopt +o default 2>/dev/null; _retinue_words "$("\${COMP_WORDS[0]}" ${SESSION_IDS})"; }
_retinue() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" at="" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
    ${paths.join("|")}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at|$prev" in
${values.join("\n")}
  esac
  case "$at" in
${words.join("\n")}
  esac
  _retinue_words "$words"
}
complete -o default -F _retinue retinue
`;
}

function bashValues(values: Values): string {
  if (values.type === "session") return "_retinue_sessions";
  return values.type === "words" ? `_retinue_words "${values.words.join(" ")}"` : ":"; // Bash then completes file names.
}
