/** The moves for a single question: list, find, read, count, run. */
import type { Conversation, DoneCall } from "./conversation.ts";
import type { Intent } from "./intent.ts";
import {
  answer,
  calls,
  counted,
  glob,
  grep,
  linesOf,
  literal,
  type Move,
  namesOf,
  quote,
  resultsOf,
  view,
} from "./move.ts";

type Of<Type extends Intent["type"]> = Extract<Intent, { type: Type }>;

export function list({ folder }: Of<"list">, { done }: Conversation): Move {
  const [listing] = done;
  if (!listing) return calls(`I list ${place(folder)}.`, view(folder));
  if (listing.failed) return answer(`I could not list ${place(folder)}: ${listing.text}`);
  const names = linesOf(listing);
  return answer(
    `${capital(place(folder))} holds ${counted(names.length, "entry", "entries")}:`,
    quote(names.join("\n"), 60),
  );
}

const place = (folder: string): string => (folder === "." ? "the working folder" : `the folder \`${folder}\``);
const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

export function find({ term }: Of<"find">, conversation: Conversation): Move {
  const { done } = conversation;
  if (done.length === 0) {
    const inText = grep(term.split(" ").map(literal).join(".*"), {
      output_mode: "content",
      "-n": true,
      "-i": true,
      head_limit: 40,
    });
    return calls(
      `I search for "${term}" in the files and in their names.`,
      inText,
      glob(`**/*${term.replaceAll(" ", "*")}*`),
    );
  }
  const matches = matchesOf(resultsOf(done, "grep")[0]);
  const names = namesOf(resultsOf(done, "glob")[0]);
  const [first] = matches;
  const [looked] = resultsOf(done, "view");
  if (first && !looked && conversation.tool("view")) {
    return calls(
      `I look at the first place, ${first.path}.`,
      view(first.path, [Math.max(1, first.line - 3), first.line + 12]),
    );
  }
  if (matches.length === 0 && names.length === 0)
    return answer(`I found no match for "${term}", neither in the files nor in their names.`);
  const files = new Set(matches.map((match) => match.path));
  return answer(
    matches.length > 0
      ? `"${term}" is in ${counted(matches.length, "line")} of ${counted(files.size, "file")}:`
      : `"${term}" is in no file's text.`,
    matches.length > 0 ? quote(matches.map((match) => match.text).join("\n")) : undefined,
    looked && !looked.failed && first
      ? `Around the first one, in \`${first.path}\`:\n\n${quote(looked.text)}`
      : undefined,
    names.length > 0 ? `Files whose name holds it:\n\n${quote(names.join("\n"), 10)}` : undefined,
  );
}

interface Match {
  path: string;
  line: number;
  text: string;
}

function matchesOf(call: DoneCall | undefined): Match[] {
  return linesOf(call).flatMap((text): Match[] => {
    const found = /^(.+?):(\d+):/.exec(text);
    return found?.[1] ? [{ path: found[1], line: Number(found[2]), text }] : [];
  });
}

export function read({ path }: Of<"read">, { done, tool }: Conversation): Move {
  const views = resultsOf(done, "view");
  const [first] = views;
  if (!first) return calls(`I read \`${path}\`.`, view(path));
  if (!first.failed) return answer(described(path, first.text));
  const searched = resultsOf(done, "glob")[0];
  if (!searched && tool("glob"))
    return calls(`There is no \`${path}\` here; I look for it.`, glob(`**/${path.split("/").at(-1)}*`));
  const [found] = namesOf(searched);
  const second = views[1];
  if (!found) return answer(`I could not read \`${path}\`: ${first.text}`);
  if (!second) return calls(`I found \`${found}\`.`, view(found));
  return second.failed
    ? answer(`I could not read \`${found}\`: ${second.text}`)
    : answer(described(found, second.text));
}

function described(path: string, text: string): string {
  const lines = text.trimEnd().split("\n");
  const outline = outlineOf(lines);
  const parts = outline.length > 0 ? `\n\nIts outline:\n\n${quote(outline.join("\n"), 30)}` : "";
  return `\`${path}\` has ${counted(lines.length, "line")}. It begins:\n\n${quote(text)}${parts}`;
}

const OUTLINE =
  /^(#{1,4} .+|(export |public |pub |async |default )*(function|class|interface|type|enum|struct|trait|def|func|fn|const [A-Z_a-z]\w* = (async )?\().*)/;

export function outlineOf(lines: readonly string[]): string[] {
  return lines.flatMap((line) => (OUTLINE.test(line) ? [withoutOpening(line)] : []));
}

/** `class A {` is `class A`. */
function withoutOpening(line: string): string {
  const plain = line.trimEnd();
  return plain.endsWith("{") || plain.endsWith(":") ? plain.slice(0, -1).trimEnd() : line;
}

export function count({ glob: pattern }: Of<"count">, { done }: Conversation): Move {
  const [found] = done;
  if (!found) return calls(`I count the files that match ${pattern}.`, glob(pattern));
  if (found.failed) return answer(`I could not count: ${found.text}`);
  const names = namesOf(found);
  return answer(
    `${counted(names.length, "file")} matched \`${pattern}\`.`,
    names.length > 0 ? quote(names.join("\n"), 10) : undefined,
  );
}

export function countMatches({ term }: Of<"count-matches">, { done }: Conversation): Move {
  const [found] = done;
  if (!found) return calls(`I count the lines with "${term}".`, grep(literal(term), { output_mode: "count" }));
  const perFile = linesOf(found).flatMap((line) => /^(.+):(\d+)$/.exec(line)?.slice(2).map(Number) ?? []);
  const total = perFile.reduce((sum, matches) => sum + matches, 0);
  return answer(
    `"${term}" is in ${counted(total, "line")} of ${counted(perFile.length, "file")}.`,
    total > 0 ? quote(found.text, 15) : undefined,
  );
}

export function run({ command }: Of<"run">, { done, tool }: Conversation): Move {
  const [ran] = done;
  if (!ran && !tool("bash")) return answer("No shell is offered here, so I cannot run a command.");
  if (!ran) {
    return calls(`I run \`${command}\`.`, {
      name: "bash",
      args: { command, description: "Run the command that was asked for" },
    });
  }
  return answer(ran.failed ? `\`${command}\` was not run:` : `\`${command}\` gave:`, quote(ran.text, 40));
}
