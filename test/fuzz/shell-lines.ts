/**
 * Command lines for the fuzz of shell rules: from a grammar that mixes every construct of the language with commands that rules allow, and
 * from a corpus of tries to get around the rules, changed at random. `evil` is what no rule ever names.
 */
import type { Random } from "./random.ts";

const PROGRAMS = [
  ...[
    "echo",
    "ls",
    "cat",
    "git status",
    "git log",
    "find",
    "sort",
    "printf",
    "test",
    "grep",
    "npm run build",
    "make",
    "sed",
    "touch",
    "cd",
  ],
  ...["true", "env", "xargs", "python3 ok.py", "tar", "rg", "[", "uniq", "date", "head"],
];
const WORDS = [
  ...[
    "a",
    "in.txt",
    "'a b'",
    '"c d"',
    "a\\ b",
    "-n",
    "--",
    "-",
    "x=1",
    "a#b",
    "{}",
    "stash@{0}",
    "sub",
    "./a",
    "^",
    "%s",
    "!",
    "+",
    ",",
    ".",
  ],
  ...[
    "$X",
    '"$X"',
    "$" + "{X}",
    "$Y",
    '"$Z"',
    "a$X",
    "$?",
    "*",
    "./*",
    "*.txt",
    "?n.txt",
    "[a-z]*",
    "~",
    "~/a",
    "'$(evil)'",
    "'; evil'",
  ],
  ...[
    "-f",
    "-v",
    "-l",
    "-o",
    "=",
    "';'",
    "\\;",
    "&&a",
    "1p",
    "s/a/b/",
    '"it\'s"',
    "'say \"x\"'",
    "$",
    "a$",
    "é",
    "\\$(evil)",
  ],
];
const ODD_WORDS = [
  ...[
    "$(evil)",
    "`evil`",
    '"$(evil)"',
    '"`evil`"',
    "$" + "{X:-$(evil)}",
    "$" + "{Y@P}",
    "$((a[$(evil)]))",
    "$[a[`evil`]]",
    "$'\\x24(evil)'",
  ],
  ...[
    "<(evil)",
    ">(evil)",
    "{a,b}",
    "{-exec,evil}",
    "{1..3}",
    "~root",
    '$"x"',
    "$" + "{!X}",
    "a\\\nb",
    "\\\n",
    "$" + "{X/a/$(evil)}",
    "'a[$(evil)]'",
  ],
  ...[
    "-exec evil {} +",
    "-delete",
    "-oout1",
    "--output=out1",
    "--outp=out1",
    "-c core.pager=evil",
    "--to-command=evil",
    "--pre=evil",
    "-I evil",
  ],
  ...[
    "1e\\ evil",
    "'1w out1'",
    "SHELL=evil",
    "evil",
    "-v 'a[$(evil)]'",
    "\u00a0evil",
    "\revil",
    "--compress-program=evil -S1",
    "\u202e",
    "@(a)",
  ],
];
const REDIRECTIONS = ["2>/dev/null", ">/dev/null", "2>&1", "< in.txt", ">&2", "&>/dev/null"];
const ODD_REDIRECTIONS = [
  ...[
    "> out1",
    ">> out1",
    "&> out1",
    ">| out1",
    "<> out1",
    "2> out1",
    "<<< x",
    "<<< $(evil)",
    ">& out1",
    "> $X",
    "3> out1",
    "{fd}> out1",
  ],
  ...[
    "<<E\n$(evil)\nE\n",
    "<<'E'\nx\nE\n",
    "<<-E\n\tx\n\tE\n",
    "<<E\n",
    "< <(evil)",
    "> >(evil)",
    "2>&1evil",
    ">/dev/null\\\nout1",
  ],
];
const PREFIXES = [
  "X=1 ",
  "PATH=./evilbin ",
  "PATH=./evilbin; ",
  "export PATH=./evilbin; ",
  "a=(1 $(evil)) ",
  "X+=1 ",
  "IFS=/ ",
  "GIT_PAGER=evil ",
];
const SEPARATORS = ["; ", " && ", " || ", " | ", " & ", "\n", ";", "|", "&&", "\n\n", " # c\n", " |\n", " &&\n"];
const ODD_SEPARATORS = [
  " |& ",
  ";;",
  ";&",
  " \\\n",
  "\\\n",
  "\r\n",
  "\u2028",
  " #\\\n",
  "#",
  " ! ",
  "\t",
  "\v",
  "\f",
  "\u0000",
  " ;\\\n",
];
const ODD_COMMANDS = [
  ...[
    "evil",
    "eval evil",
    "time evil",
    "coproc evil",
    "command evil",
    "exec evil",
    ". ./evil.sh",
    "source ./evil.sh",
    "trap evil EXIT",
    "env evil",
  ],
  ...[
    "alias ls=evil",
    "ls() { evil; }",
    "function ls { evil; }",
    "hash -p ./evilbin/ls ls",
    "enable -n echo",
    "shopt -s expand_aliases",
    "set -- evil",
  ],
  ...[
    "sh -c evil",
    "xargs evil",
    "nohup evil",
    "timeout 1 evil",
    "./evil.sh",
    "$(echo evil)",
    "$W",
    "'evil'",
    "e''vil",
    "ev\\il",
    "{evil,a}",
    "./ev*",
  ],
  ...[
    "case a in a) evil;; esac",
    "[[ -v a[$(evil)] ]]",
    "((a[$(evil)]))",
    "let 'a[$(evil)]'",
    "select i in a; do evil; done",
    "[ -v 'a[$(evil)]' ]",
  ],
  ...[
    "for PATH in ./evilbin; do ls; done",
    "read W < in.txt",
    "printf -v 'a[$(evil)]' x",
    "unset 'a[$(evil)]'",
    "declare -x PATH=./evilbin",
    "then evil",
  ],
];

/** Each of them once ran, or could run, something that a rule for its first command does not name. */
const TRIES = [
  ...[
    "echo $(evil)",
    "echo `evil`",
    'echo "`evil`"',
    "echo a; evil",
    "echo a\nevil",
    "echo a & evil",
    "echo a | evil",
    "ls || evil",
    "ls && evil",
  ],
  ...[
    "echo a # b\nevil",
    "echo 'a' #'\nevil",
    "echo \\\nevil",
    "echo a \\\n; evil",
    "ls\\\n;evil",
    'echo "\\"; evil #"',
    "echo '\\'; evil #'",
  ],
  ...[
    'echo "a\\\\"; evil #"',
    "echo $'\\''; evil #'",
    "echo $'a\\'; evil; echo \\'b'",
    "cat <<E\n$(evil)\nE",
    "cat <<'E'\na\nE\nevil",
    "cat <<E; evil\nE",
  ],
  ...[
    "cat << \\E\na\nE\nevil",
    "cat <<E\\\nF\na\nEF\nevil",
    'cat <<"E F"\na\nE F\nevil',
    "cat <<-E\n\tE\nevil\nE",
    "cat <<A <<B\nA\nB\nevil",
  ],
  ...[
    "echo $((a[$(evil)]))",
    "echo $((`evil`))",
    "echo $[$(evil)]",
    "echo $" + "{X:=$(evil)}",
    "echo $" + "{Y@P}",
    'echo "$' + '{Y@P}"',
    "echo $" + "{a[$(evil)]}",
  ],
  ...[
    "echo $" + "{X//a/$(evil)}",
    "echo $" + "{X:$(evil)}",
    "echo $" + "{#a[$(evil)]}",
    "[[ a -eq a[$(evil)] ]] && ls",
    "test -v 'a[$(evil)]'",
    "[ -v 'a[$(evil)]' ]",
  ],
  ...[
    "for i in -v; do test $i 'a[$(evil)]'; done",
    "for i in -v; do [ $i 'a[$(evil)]' ]; done",
    "for i in -v; do printf $i 'a[$(evil)]' x; done",
  ],
  ...[
    "for i in -exec; do find . $i evil {} +; done",
    "for X in -exec; do find . $X evil \\; ; done",
    "for PATH in ./evilbin; do ls; done",
  ],
  ...[
    "PATH=./evilbin ls",
    "PATH=./evilbin; ls",
    "export PATH=./evilbin; ls",
    "declare -x PATH=./evilbin; ls",
    "ls() { evil; }; ls",
    "function ls { evil; }\nls",
  ],
  ...[
    "ls () (evil)\nls",
    "alias ls=evil\nls",
    "shopt -s expand_aliases\nalias ls=evil\nls",
    "trap evil EXIT; ls",
    "trap evil DEBUG\nls",
    "hash -p ./evilbin/ls ls; ls",
  ],
  ...[
    "coproc evil",
    "coproc N { evil; }",
    "time evil",
    "! evil",
    "{ evil; }",
    "(evil)",
    "if evil; then ls; fi",
    "while evil; do break; done",
    "case a in a) evil;; esac",
  ],
  ...[
    "case $(evil) in a) ls;; esac",
    "select i in a; do evil; break; done < in.txt",
    "ls > out1",
    "ls >> out1",
    "ls &> out1",
    "ls >| out1",
    "ls <> out1",
    "> out1 ls",
  ],
  ...[
    "ls 2>out1",
    "ls >&out1",
    "{ ls; } > out1",
    "(ls) > out1",
    "for i in a; do ls; done > out1",
    "if ls; then ls; fi > out1",
    "ls > $X",
    "ls {fd}>out1",
  ],
  ...[
    "cat <(evil)",
    "cat >(evil)",
    "cat < <(evil)",
    "ls <<< $(evil)",
    "find . -exec evil {} +",
    "find . -exec evil {} ';'",
    "find . -ok evil ';'",
    "find $X",
    "find *",
  ],
  ...[
    "sort -oout1 in.txt",
    "sort --output=out1 in.txt",
    "sort --outp=out1 in.txt",
    "sort -uo out1 in.txt",
    "sort *",
    "sort -- in.txt -oout1",
    "sort $V in.txt",
  ],
  ...[
    "sed '1e evil' in.txt",
    "sed 's/a/evil/e' in.txt",
    "sed 'w out1' in.txt",
    "sed -n '1p;1e evil' in.txt",
    "sed -f script in.txt",
    "sed --expr='1e evil' in.txt",
  ],
  ...[
    "env evil",
    "env -S 'evil'",
    "xargs evil < in.txt",
    "echo a | xargs evil",
    "git -c core.pager=evil log",
    "git --exec-path=evil status",
    "git log --ext-diff",
  ],
  ...[
    "git log --output=out1",
    "git status; evil",
    "tar --to-command=evil",
    "tar xIevil",
    "rg --pre=evil a",
    "make SHELL=evil",
    "make -f evil",
    "python3 -c evil",
  ],
  ...[
    "eval evil",
    ". ./evil.sh",
    "source ./evil.sh",
    "exec evil",
    "command evil",
    "builtin eval evil",
    "sh -c evil",
    "bash -c 'evil'",
    "'ls' $(evil)",
    "l\\s; evil",
  ],
  ...[
    "ls\revil",
    "ls\r\nevil",
    "ls\u00a0; evil",
    "ls \u2028evil",
    "ls\u0000evil",
    "ls ;\\\nevil",
    "ls;\\\n\\\nevil",
    "ls #\\\nevil",
    "ls #a\\\n\nevil",
    "echo a#b; evil",
  ],
  ...[
    "echo {a,$(evil)}",
    "{ls,;evil}",
    "{evil,a}",
    "ls;{ evil; }",
    "echo a;(evil)",
    "ls|evil",
    "ls|&evil",
    "ls&evil",
    "ls&&evil",
    "ls||evil",
    "ls;;evil",
    "$W",
    "$" + "{W}",
  ],
  ...[
    '"$W"',
    "./ev*",
    "e''vil",
    "ev\\il",
    "echo !!; evil",
    "!evil",
    "echo a>out1",
    "echo a>/dev/null>out1",
    "ls 2>&1>out1",
    "ls 2>& 1 >out1",
    "ls -l >/dev/null/../../out1",
  ],
  ...[
    "uniq in.txt out1",
    "uniq $X",
    "date; evil",
    "cd sub && ls",
    "cd sub; git status",
    "ls & wait; evil",
    "echo a |\nevil",
    "echo a &&\nevil",
    "echo ) evil",
    "echo ( evil",
  ],
];

/** One line. */
export function anyLine(random: Random): string {
  const kind = random.next();
  if (kind < 0.15) return random.pick(TRIES);
  if (kind < 0.4) return mutated(random, random.next() < 0.5 ? random.pick(TRIES) : statement(random, 2));
  return statement(random, 2);
}

/** How odd a line is, is decided once for each: in most lines at most one thing is. */
function statement(random: Random, depth: number): string {
  const oddity = random.pick([0, 0, 0.05, 0.15]);
  return list(random, { depth, oddity });
}

interface How {
  depth: number;
  oddity: number;
}

function list(random: Random, how: How): string {
  const count = 1 + random.below(3);
  let line = part(random, how);
  for (let i = 1; i < count; i++) {
    line += random.next() < how.oddity ? random.pick(ODD_SEPARATORS) : random.pick(SEPARATORS);
    line += part(random, how);
  }
  return line;
}

function part(random: Random, how: How): string {
  if (how.depth === 0 || random.next() < 0.75) return command(random, how);
  const inner = () => list(random, { ...how, depth: how.depth - 1 });
  return random.pick([
    () => `(${inner()})`,
    () => `{ ${inner()}; }`,
    () => `! ${command(random, how)}`,
    () => `if ${inner()}; then ${inner()}; fi`,
    () => `if ${inner()}\nthen ${inner()}\nelse ${inner()}\nfi`,
    () => `for i in ${word(random, how)} ${word(random, how)}; do ${inner()}; done`,
    () => `until true; do ${inner()}; done`,
    () => `while false; do ${inner()}; done`,
  ])();
}

function command(random: Random, how: How): string {
  if (random.next() < how.oddity) return random.pick(ODD_COMMANDS);
  const program = random.pick(PROGRAMS);
  const prefix = random.next() < how.oddity ? random.pick(PREFIXES) : "";
  const words = Array.from({ length: random.below(4) }, () => word(random, how));
  if (random.next() < 0.15) words.push(random.pick(REDIRECTIONS));
  if (random.next() < how.oddity) words.push(random.pick(ODD_REDIRECTIONS));
  if (program === "[") words.push("]");
  return `${prefix}${[program, ...words].join(random.next() < 0.9 ? " " : "  ")}`;
}

function word(random: Random, { oddity }: How): string {
  return random.next() < oddity ? random.pick(ODD_WORDS) : random.pick(WORDS);
}

const PIECES = [
  ...[
    "'",
    '"',
    "`",
    "$",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "&",
    "|",
    ";",
    "\n",
    " ",
    "\\",
    "#",
    "=",
    "!",
    "[",
    "]",
    "*",
    "~",
    "\t",
    "\r",
    "\\\n",
    "$(",
    "$((",
    "$" + "{",
  ],
  ...[
    "evil",
    " evil ",
    ";evil;",
    "$(evil)",
    "`evil`",
    "\nevil\n",
    "E",
    "<<E",
    "[[",
    "]]",
    "((",
    "))",
    "do",
    "done",
    "if",
    "fi",
    "then",
    "in",
    "case",
    "esac",
    "$'",
    '$"',
  ],
  ...[
    "-exec evil {} +",
    "> out1",
    " && ",
    " || ",
    " | ",
    "2>&1",
    "X=1 ",
    "PATH=./evilbin ",
    "\u00a0",
    "\u0000",
    "$[",
    "a[",
    "@P}",
    "''",
    '""',
  ],
];

function mutated(random: Random, line: string): string {
  let text = line;
  for (let i = 0; i <= random.below(3); i++) {
    const at = random.below(text.length + 1);
    const to = at + random.below(4);
    text = random.pick([
      () => text.slice(0, at) + random.pick(PIECES) + text.slice(at),
      () => text.slice(0, at) + text.slice(to),
      () => text.slice(0, to) + text.slice(at),
      () => `${text}${random.pick(SEPARATORS)}${random.pick(TRIES)}`,
      () => text.slice(0, at) + random.pick(ODD_WORDS) + text.slice(to),
    ])();
  }
  return text;
}
