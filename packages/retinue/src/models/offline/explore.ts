/** A walk through a project: list it, read what describes it, look where the code is, and report what was found. */
import type { Conversation, DoneCall } from "./conversation.ts";
import { answer, calls, counted, grep, linesOf, type Move, quote, resultsOf, view } from "./move.ts";

const MANIFESTS = [
  "package.json",
  "pyproject.toml",
  "Cargo.toml",
  "go.mod",
  "pom.xml",
  "composer.json",
  "Gemfile",
  "Makefile",
];
const CODE_FOLDERS = ["packages", "src", "lib", "app", "cmd", "internal"];
const DEFINITIONS = "^\\s*(export |pub |public )*(async )?(function|class|def|func|fn|interface|struct) ";

export function explore({ folder }: { folder: string }, { done, tool }: Conversation): Move {
  const [listing] = done;
  if (!listing)
    return calls(`I start with what is in ${folder === "." ? "the working folder" : folder}.`, view(folder));
  if (listing.failed) return answer(`I could not explore ${folder}: ${listing.text}`);
  const names = linesOf(listing);
  const toRead = [...descriptions(names), ...names.filter((name) => CODE_FOLDERS.includes(bare(name)))];
  if (done.length === 1 && toRead.length > 0) {
    return calls("I read what describes it.", ...toRead.map((name) => view(inside(folder, bare(name)))));
  }
  if (tool("grep") && resultsOf(done, "grep").length === 0) {
    const definitions = grep(DEFINITIONS, {
      output_mode: "count",
      head_limit: 200,
      ...(folder !== "." && { paths: folder }),
    });
    return calls("I look where most of the code is.", definitions);
  }
  return report(folder, names, done);
}

function descriptions(names: readonly string[]): string[] {
  const readme = names.find((name) => /^readme(\.|$)/i.test(name));
  const manifest = MANIFESTS.find((candidate) => names.includes(candidate));
  return [readme, manifest].filter((name) => name !== undefined);
}

const bare = (name: string): string => name.replace(/\/$/, "");
const inside = (folder: string, name: string): string => (folder === "." ? name : `${folder}/${name}`);

function report(folder: string, names: readonly string[], done: readonly DoneCall[]): Move {
  const read = resultsOf(done, "view")
    .slice(1)
    .filter((call) => !call.failed);
  const pathOf = (call: DoneCall) => String(call.args.path);
  const nameOf = (call: DoneCall) => pathOf(call).split("/").at(-1) ?? "";
  const readme = read.find((call) => /^readme/i.test(nameOf(call)));
  const manifest = read.find((call) => MANIFESTS.includes(nameOf(call)));
  const folders = read.filter((call) => CODE_FOLDERS.includes(nameOf(call)));
  return answer(
    `${folder === "." ? "The working folder" : `\`${folder}\``} has ${counted(names.length, "entry", "entries")}: ${names.slice(0, 30).join(", ")}${names.length > 30 ? " …" : ""}.`,
    readme && `\`${pathOf(readme)}\` says:\n\n${quote(readme.text, 8)}`,
    manifest && manifestWords(pathOf(manifest), manifest.text),
    ...folders.map((call) => `In \`${pathOf(call)}\`: ${linesOf(call).slice(0, 30).join(", ")}.`),
    densest(resultsOf(done, "grep")[0]),
  );
}

function manifestWords(path: string, text: string): string {
  const known = /package\.json$|composer\.json$/.test(path) ? packageWords(text) : undefined;
  return known ? `By \`${path}\` it is ${known}.` : `\`${path}\` begins:\n\n${quote(text, 8)}`;
}

/** From the text by patterns, because a long file may have been cut on its way here and is then no JSON. */
function packageWords(text: string): string | undefined {
  const field = (name: string) => new RegExp(`"${name}"\\s*:\\s*"([^"]*)"`).exec(text)?.[1];
  const name = field("name");
  if (!name) return undefined;
  const scripts = /"scripts"\s*:\s*\{([^}]*)/.exec(text)?.[1] ?? "";
  const commands = [...scripts.matchAll(/"([^"]+)"\s*:/g)].map(([, command]) => command);
  const description = field("description");
  return [
    `\`${name}\`${description ? ` ("${description}")` : ""}`,
    ...(commands.length > 0 ? [`with the scripts ${commands.join(", ")}`] : []),
  ].join(", ");
}

function densest(found: DoneCall | undefined): string | undefined {
  const perFile = linesOf(found).flatMap((line) => {
    const [, path, times] = /^(.+):(\d+)$/.exec(line) ?? [];
    return path && times ? [{ path, times: Number(times) }] : [];
  });
  if (perFile.length === 0) return undefined;
  const top = perFile.sort((a, b) => b.times - a.times || a.path.localeCompare(b.path)).slice(0, 5);
  return `Most definitions are in ${top.map(({ path, times }) => `\`${path}\` (${times})`).join(", ")}.`;
}
