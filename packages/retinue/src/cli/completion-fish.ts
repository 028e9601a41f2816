/** The completion script for fish. */
import { type Completed, type Place, SESSION_IDS, type Values } from "./completion-table.ts";

export function fishScript(places: readonly Place[]): string {
  const paths = places.flatMap(({ path, commands }) => commands.map(({ name }) => `'${path} ${name}'`));
  const lines = places.flatMap(({ path, commands, options, values }) => {
    const here = `complete -c retinue -n '__retinue_at "${path}"'`;
    return [
      ...commands.map(({ name, about }) => `${here} -a ${name} -d ${quoted(about)}`),
      ...options.map((option) => `${here} ${optionWords(option)} -d ${quoted(option.about)}`),
      ...(values.type === "none" ? [] : [`${here} ${valueWords(values)}`]),
    ];
  });
  return `# Completion of retinue for fish. Save it as ~/.config/fish/completions/retinue.fish
function __retinue_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case ${paths.join(" ")}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end
function __retinue_sessions
    retinue ${SESSION_IDS}
end
complete -c retinue -f
${lines.join("\n")}
`;
}

function optionWords({ name, short, values }: Completed): string {
  const names = [`-l ${name.replace(/^--/, "")}`, ...(short ? [`-s ${short.replace(/^-/, "")}`] : [])].join(" ");
  return values ? `${names} ${values.type === "none" ? "-x" : valueWords(values)}` : names;
}

function valueWords(values: Values): string {
  if (values.type === "session") return "-x -a '(__retinue_sessions)'";
  return values.type === "words" ? `-x -a '${values.words.join(" ")}'` : "-r -F";
}

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
