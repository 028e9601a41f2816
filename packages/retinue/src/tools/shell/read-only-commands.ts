/**
 * Which simple commands surely change nothing. A short list of well-known commands; whatever is not on it may write.
 */
interface Rule {
  /** An argument like this makes it write or run something. */
  not?: RegExp;
  /** With more arguments than this that are not options, the next one is a file to write. */
  maxOperands?: number;
}

const ANY: Rule = {};

const RULES: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(
    [
      "ls cat head tail wc pwd echo printf stat du df whoami id uname which true false cut tr diff cmp basename dirname",
      "realpath readlink seq sleep test [ [[ nl tac rev fold md5sum sha1sum sha256sum cksum uptime ps free jq comm paste",
      "od hexdump grep egrep fgrep type groups nproc exit",
    ].flatMap((names) => names.split(" ").map((name) => [name, ANY])),
  ),
  cd: { not: /^-$/ },
  rg: { not: /^(--pre|--hostname-bin|-z|--search-zip)/ },
  find: { not: /^-(delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls)$/ },
  sort: { not: /^(-[a-zA-Z]*[oTS]|--(output|compress-program|temporary-directory))/ },
  uniq: { maxOperands: 1 },
  date: { not: /^(-[a-zA-Z]*[sf]|--set|--file|[^-+])/ },
  file: { not: /^(-[a-zA-Z]*C|--compile)/ },
  tree: { not: /^(-[a-zA-Z]*o|--output)/ },
};

const GIT = new Set([
  "status",
  "log",
  "diff",
  "show",
  "rev-parse",
  "ls-files",
  "ls-tree",
  "blame",
  "describe",
  "shortlog",
]);
const GIT_NOT = /^(--output|-o|-O|--ext-diff|--textconv|--open-files-in-pager)/;

export function isReadOnlyCommand(name: string, args: readonly string[]): boolean {
  if (name === "git") return GIT.has(args[0] ?? "") && !args.some((arg) => GIT_NOT.test(arg));
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (!rule || args.some((arg) => rule.not?.test(arg))) return false;
  return args.filter((arg) => !arg.startsWith("-")).length <= (rule.maxOperands ?? Number.POSITIVE_INFINITY);
}
