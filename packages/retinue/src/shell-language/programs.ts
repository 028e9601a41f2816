/**
 * What is known of programs: which of them run others, which have subcommands, and which options make them run or write something
 * that their name does not say.
 *
 * An identifier is what an approval is remembered by, so it must not cover more than a person would think. A command that may run something
 * else has only its whole text as its identifier.
 */
import { commandOf, type ShellCommand } from "./command.ts";
import { type RiskyOptions, riskOf } from "./options.ts";
import { isPlainSed } from "./sed.ts";
import type { Word } from "./word.ts";

const names = (...lines: string[]): ReadonlySet<string> => new Set(lines.flatMap((line) => line.split(" ")));

/** They run the program that their arguments name. */
export const WRAPPERS = names(
  "sudo doas su env nohup nice ionice chrt taskset timeout stdbuf setsid command builtin exec time xargs parallel watch chroot unshare",
  "nsenter flock strace ltrace valgrind busybox toybox runuser pkexec systemd-run setpriv prlimit unbuffer xvfb-run catchsegv torsocks",
  "proxychains firejail bwrap script entr run-parts start-stop-daemon dbus-run-session ssh-agent faketime rlwrap numactl caffeinate",
  "setarch linux32 linux64 i386 x86_64 uname26 sg cgexec chpst softlimit setuidgid gosu su-exec tini dumb-init daemonize capsh perf dtach",
);
export const SHELLS = names("bash sh zsh dash ksh mksh ash fish rbash csh tcsh pwsh");
/** They run a program that is written in their arguments, in a file or on their input. */
export const INTERPRETERS = names(
  "python python2 python3 pypy pypy3 node nodejs deno bun tsx ts-node perl ruby php lua luajit osascript tclsh wish expect julia R Rscript",
  "java jshell scala groovy guile racket ghci runghc ocaml elixir iex erl swift irb ipython",
);
/** Their input can make them run anything, or they change what later commands of the line mean. */
const RUN_ANYTHING = names(
  "ssh scp sftp slogin rsh mosh telnet ftp nc ncat netcat socat awk gawk mawk nawk bc dc gdb lldb vi vim nvim view ex ed emacs nano pico",
  "less more most man info screen tmux at batch crontab sqlite3 psql mysql mariadb mongo mongosh redis-cli m4 cpan gem ctags",
  "eval source . trap alias unalias enable hash set shopt export declare typeset local readonly read mapfile readarray let unset getopts",
  "compgen complete compopt bind fc history jobs pushd popd suspend logout exec coproc wait",
);
export const SUBCOMMANDS = names(
  "git npm yarn pnpm npx bunx uvx uv docker podman kubectl helm cargo go gh pip pip3 apt apt-get brew systemctl dotnet terraform aws gcloud az",
);
/** Well-known programs that write and delete. */
const CHANGE_FILES = names(
  "rm rmdir mv cp ln mkdir touch chmod chown chgrp kill killall pkill shred dd mkfs tee truncate sed shutdown reboot",
);
/** Their first argument may be a program of a package. */
const RUN_PACKAGES = names("npx bunx uvx yarn pnpm");

const NODE_PACKAGES: RiskyOptions = {
  long: "script-shell node-options userconfig globalconfig editor viewer browser shell git init-module call prefix dir cwd",
  short: "cC",
  subcommands: "exec x explore dlx create init config set edit pkg",
};
const CONTAINERS: RiskyOptions = {
  long: "config host context",
  subcommands: "run exec compose buildx context plugin cp",
};
const PYTHON_PACKAGES: RiskyOptions = { long: "python config-settings global-option", subcommands: "config" };
const COMPILER: RiskyOptions = { word: /^(-wrapper|-fplugin|-B|-specs|@)/ };

/** By program. A program that is not here does what its name says, whatever its arguments are. */
const RISKY: Readonly<Record<string, RiskyOptions>> = {
  find: { word: /^-(delete|exec|execdir|ok|okdir|fprint|fprint0|fprintf|fls)$/ },
  fd: { long: "exec exec-batch", short: "xX" },
  sort: { long: "compress-program output temporary-directory", short: "oT" },
  rg: { long: "pre hostname-bin search-zip", short: "z" },
  diff: { long: "paginate", short: "l" },
  file: { long: "compile uncompress uncompress-noreport", short: "CzZ" },
  tree: { long: "output", short: "oR" },
  date: { long: "set", short: "s" },
  printf: { word: /^-v/, isFirst: true },
  test: { word: /^-[vR]$/ },
  tar: {
    long: "to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script",
    short: "IF",
    word: /^[a-zA-Z]*[IF][a-zA-Z]*$/,
  },
  rsync: { long: "rsh rsync-path remote-option", short: "eM" },
  zip: { long: "unzip-command test", short: "T" },
  split: { long: "filter" },
  install: { long: "strip-program" },
  cpio: { long: "rsh-command" },
  tcpdump: { long: "postrotate-command", short: "z" },
  curl: { long: "config engine", short: "K" },
  wget: { long: "execute config use-askpass", short: "e" },
  openssl: { word: /^-(engine|provider|provider-path)$/ },
  make: { long: "file makefile directory eval include-dir environment-overrides", short: "fCIe", word: /=/ },
  cmake: { short: "PE", word: /=/ },
  gcc: COMPILER,
  "g++": COMPILER,
  cc: COMPILER,
  clang: COMPILER,
  git: {
    long:
      "upload-pack receive-pack exec ext-diff textconv open-files-in-pager output config template extcmd tool run show-signature gpg-sign " +
      "edit edit-description editor exec-path git-dir work-tree config-env",
    short: "xO",
    word: /^(ext|fd)::|%G/,
    subcommands:
      "bisect submodule filter-branch difftool mergetool config for-each-repo hook send-email credential daemon instaweb help shell upload-pack " +
      "receive-pack web--browse p4 svn cvsserver citool gui alias",
  },
  "git clone": { short: "uc" },
  npm: NODE_PACKAGES,
  yarn: NODE_PACKAGES,
  pnpm: NODE_PACKAGES,
  docker: CONTAINERS,
  podman: CONTAINERS,
  kubectl: { long: "kubeconfig", subcommands: "exec run debug cp plugin edit config" },
  helm: { long: "post-renderer kubeconfig", subcommands: "plugin" },
  cargo: { long: "config", word: /^\+/ },
  go: { word: /^--?(exec|toolexec|vettool)/, subcommands: "run generate tool env" },
  gh: { subcommands: "alias extension config codespace" },
  pip: PYTHON_PACKAGES,
  pip3: PYTHON_PACKAGES,
  uv: { long: "python config-file", subcommands: "tool" },
  apt: { long: "option config-file", short: "oc" },
  "apt-get": { long: "option config-file", short: "oc" },
  brew: { subcommands: "sh irb bundle ruby edit" },
  systemctl: { subcommands: "edit" },
  dotnet: { subcommands: "exec tool run" },
};

/** Options of `git` before the subcommand that change nothing about what runs. */
const HARMLESS_BEFORE = names("--no-pager -P --no-optional-locks --literal-pathspecs");

/** It is on one of the lists here. */
export const isKnownProgram = (name: string): boolean =>
  [WRAPPERS, SHELLS, RUN_ANYTHING, SUBCOMMANDS].some((list) => list.has(name)) ||
  isInterpreter(name) ||
  Object.hasOwn(RISKY, name) ||
  CHANGE_FILES.has(name);

export const nameOf = ({ words }: ShellCommand): string => words[0]?.value ?? "";
/** The name without its folder: `/usr/bin/env` is `env`. */
export const programOf = (command: ShellCommand): string => nameOf(command).replace(/^.*\//s, "");

/** The subcommand and what follows it, for a program that has them. */
export function afterProgram(command: ShellCommand): readonly Word[] {
  const args = command.words.slice(1);
  if (programOf(command) !== "git") return args;
  const first = args.findIndex(({ source }) => !HARMLESS_BEFORE.has(source));
  return first < 0 ? [] : args.slice(first);
}

/** It may run a program, or write a file, that neither its name nor its subcommand says. */
export function mayRunOthers(command: ShellCommand): boolean {
  const program = programOf(command);
  if (WRAPPERS.has(program) || SHELLS.has(program) || isInterpreter(program) || RUN_ANYTHING.has(program)) return true;
  if (/^ld[-.]|^\[\[?$/.test(program)) return true;
  const args = afterProgram(command);
  if (program === "sed") return !isPlainSed(args);
  if (SUBCOMMANDS.has(program) && args.length > 0 && !isSubcommand(program, args)) return true;
  const keys = [program, `${program} ${args[0]?.value}`];
  return keys.some((key) => Object.hasOwn(RISKY, key) && riskOf(args, RISKY[key] ?? {}));
}

export const isInterpreter = (program: string): boolean =>
  INTERPRETERS.has(program) || INTERPRETERS.has(program.replace(/[\d.]+$/, ""));

/** It names what it does; and when that is a script or a package, this is not a program that runs others. */
function isSubcommand(program: string, args: readonly Word[]): boolean {
  const [first] = args;
  if (!first || !isName(first)) return false;
  if (RUN_PACKAGES.has(program)) return !mayRunOthers(commandOf(args));
  const [script] = args.slice(1);
  return first.value !== "run" || !script || (isName(script) && !mayRunOthers(commandOf(args.slice(1))));
}

const isName = ({ isLiteral, value }: Word) => isLiteral && /^\w[\w:.@/-]*$/.test(value);

/** An approval covers only these arguments. A folder is part of what was approved: the same command elsewhere may be another program. */
export function isRememberedWhole(command: ShellCommand): boolean {
  const name = nameOf(command);
  return name === "cd" || !/^[\w.+/@-]+$/.test(name) || mayRunOthers(command);
}

/** What an approval of the command is remembered by. */
export function identifierOf(command: ShellCommand): string {
  const name = nameOf(command);
  if (isRememberedWhole(command)) return command.text;
  const [first, second] = afterProgram(command);
  if (!SUBCOMMANDS.has(programOf(command)) || !first) return name;
  return first.value === "run" && second ? `${name} run ${second.value}` : `${name} ${first.value}`;
}
