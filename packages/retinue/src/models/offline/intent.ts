/** What a prompt asks for, as far as rules can tell. */
export type Intent =
  | { type: "list"; folder: string }
  | { type: "find"; term: string }
  | { type: "read"; path: string }
  | { type: "count"; glob: string }
  | { type: "count-matches"; term: string }
  | { type: "run"; command: string }
  | { type: "explore"; folder: string }
  | { type: "delegate"; agents: number; rest: Intent }
  | { type: "unknown" };

const DELEGATE = /\b(sub-?agents?|delegat\w*|(explore|research|general-purpose|task) agents?|in parallel)\b/i;
const RUN = /^(?:please\s+)?(?:run|execute)\s+(?:the\s+)?(?:(?:shell )?command\b[:\s]*)?[:`"']*/i;
/** What is asked for is said at the beginning. The rules below look at each word several times. */
const MAX_CHARACTERS = 1000;
const COUNT = /\b(how many|count|number of)\b/i;
const FIND =
  /\b(find|search(?:\s+for)?|grep(?:\s+for)?|look\s+for|where(?:'s|\s+is|\s+are|\s+do(?:es)?)?|locate|who\s+uses)\b/i;
const READ = /\b(read|show|open|view|cat|print|display|explain|what\s+is\s+in|what's\s+in)\b/i;
const LIST = /\b(list|ls|what(?:'s|\s+is|\s+do\s+(?:we|you)\s+have)\s+here|which\s+files|what\s+files|files\s+are)\b/i;
const EXPLORE =
  /\b(explore|summari[sz]e|describe|overview|understand|analy[sz]e|what\s+does|what\s+is\s+this|tell\s+me\s+about|look\s+around|explain)\b/i;
const FILE =
  /(?:^|[\s"'`(])((?:[\w@.-]+\/)*[\w@-]*\.?[\w-]*\.[a-z]\w{0,9}|(?:[\w@.-]+\/)+[\w@.-]+|README|LICENSE|Makefile|Dockerfile|CHANGELOG)(?=$|[\s"'`),.:;?!])/;
const GLOB = /(?:^|[\s"'`(])([\w./-]*\*[\w.*{},/-]*)/;
const FOLDER =
  /(?:\b(?:in|of|under|inside|folder|directory|list|explore)\s+)(?:the\s+)?(?:folder\s+|directory\s+)?[`"']?((?:\.{0,2}\/)?[\w@.-]+(?:\/[\w@.-]+)*)\/?[`"']?(?=$|[\s`"',.:;?!])/gi;
const QUOTED = /["'`\u201c]([^"'`\u201d]+)["'`\u201d]/;
const COUNTS: Readonly<Record<string, number>> = { a: 1, an: 1, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6 };

export function intentOf(prompt: string): Intent {
  const beginning = prompt.slice(0, MAX_CHARACTERS);
  if (DELEGATE.test(beginning))
    return { type: "delegate", agents: agentsIn(beginning), rest: plainIntent(prompt.replace(DELEGATE, " ")) };
  return plainIntent(prompt);
}

/** All that follows the verb, without the quotes around it and the point at the end. */
function commandIn(prompt: string): string | undefined {
  const verb = RUN.exec(prompt)?.[0];
  if (verb === undefined) return undefined;
  let end = prompt.endsWith(".") ? prompt.length - 1 : prompt.length;
  while (end > verb.length + 1 && "`\"'".includes(prompt.charAt(end - 1))) end--;
  return prompt.slice(verb.length, end) || undefined;
}

function plainIntent(whole: string): Intent {
  const run = commandIn(whole);
  if (run) return { type: "run", command: run };
  const prompt = whole.slice(0, MAX_CHARACTERS);
  if (COUNT.test(prompt)) return countIntent(prompt);
  const path = FILE.exec(prompt)?.[1];
  if (READ.test(prompt) && path) return { type: "read", path };
  if (FIND.test(prompt)) return findIntent(prompt);
  if (LIST.test(prompt)) return { type: "list", folder: folderIn(prompt) };
  if (EXPLORE.test(prompt)) return { type: "explore", folder: folderIn(prompt) };
  return path ? { type: "read", path } : { type: "unknown" };
}

function countIntent(prompt: string): Intent {
  const glob = GLOB.exec(prompt)?.[1];
  if (glob) return { type: "count", glob: glob.includes("/") ? glob : `**/${glob}` };
  const term = QUOTED.exec(prompt)?.[1];
  if (term) return { type: "count-matches", term };
  const extension = /\.(\w+)\s+files|\b(md|ts|js|py|json|go|rs|css|html)\b\s+files/i.exec(prompt);
  const suffix = extension?.[1] ?? extension?.[2];
  return { type: "count", glob: suffix ? `**/*.${suffix}` : "**/*" };
}

/** A quoted term, else what follows the verb without the small words. */
function findIntent(prompt: string): Intent {
  const quoted = QUOTED.exec(prompt)?.[1];
  if (quoted) return { type: "find", term: quoted };
  const after = prompt.slice(FIND.exec(prompt)?.index ?? 0).replace(FIND, "");
  const [sentence = ""] = after.split(/[?!\n]|\.\s|\.$/);
  const words = sentence.split(/\s+/).filter((word) => word !== "" && !SMALL.has(word.toLowerCase()));
  return words.length > 0 ? { type: "find", term: words.slice(0, 3).join(" ") } : { type: "unknown" };
}

const SMALL = new Set(
  "a all an and any are by called class code constant contains current defined directory do does everything file files folder for from function handled here i implemented in is it me method named of on out please project repo repository that the this to type used uses variable we what which with working written you".split(
    " ",
  ),
);

function folderIn(prompt: string): string {
  const named = [...prompt.matchAll(FOLDER)].map(([, folder = "."]) => folder);
  return named.find((folder) => !SMALL.has(folder.toLowerCase())) ?? ".";
}

function agentsIn(prompt: string): number {
  const word = /\b(\d|one|two|three|four|five|six|an?)\s+(?:\w+\s+)?(?:sub-?)?agents?\b/i
    .exec(prompt)?.[1]
    ?.toLowerCase();
  const count = word === undefined ? 3 : (COUNTS[word] ?? Number(word));
  return Math.min(Math.max(count, 1), 6);
}
