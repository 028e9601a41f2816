/**
 * Running git in a repository that nobody has trusted.
 *
 * The configuration of a repository can name programs that git runs on the way: monitors, hooks, filters, merge drivers, transports. None of them runs.
 * Settings go in by environment and not as `-c name=value`, because the name of a filter may have a `=` in it. What our own environment says
 * about repositories is left out: it is about the one that somebody started us in.
 */
import { execFile } from "node:child_process";
import { childEnvironment } from "../secrets/environment.ts";

export interface GitOptions {
  signal: AbortSignal;
  /** Which index, repository or author is meant. */
  env?: Readonly<Record<string, string>>;
  /** For its standard input. */
  input?: string;
  /** The exit code 1 is an answer too. */
  mayDiffer?: boolean;
}

export interface GitAnswer {
  text: string;
  /** The exit code was 1. */
  differs: boolean;
}

/** The words of git are for people; the code tells a missing program from everything else. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";
  readonly isMissing: boolean;
  constructor(words: string, { isMissing = false }: { isMissing?: boolean } = {}) {
    super(words);
    this.isMissing = isMissing;
  }
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
type Setting = readonly [name: string, value: string];

const NO_PROGRAMS: readonly Setting[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.alternateRefsCommand", ""],
  ["protocol.allow", "never"],
  ["submodule.recurse", "false"], // A submodule has a configuration of its own.
  ["commit.gpgSign", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.quotePath", "false"],
  ["core.splitIndex", "false"],
];

export async function git(folder: string, args: readonly string[], options: GitOptions): Promise<string> {
  return (await askGit(folder, args, options)).text;
}

export async function askGit(folder: string, args: readonly string[], options: GitOptions): Promise<GitAnswer> {
  const drivers = await driversOff(folder, options);
  return await run(folder, args, { ...options, settings: [...NO_PROGRAMS, ...drivers] });
}

/** Switches off what the configuration defines by name. A file that needs a merge driver is a conflict then: nobody knows how to merge it. */
async function driversOff(folder: string, { signal, env }: GitOptions): Promise<Setting[]> {
  const args = ["config", "--null", "--name-only", "--get-regexp", "^(filter|merge|hook)\\."];
  const listed = await run(folder, args, { signal, env, settings: NO_PROGRAMS, mayDiffer: true }).catch(
    (error: unknown) => {
      if (error instanceof GitFailure && !error.isMissing) return { text: "" }; // Not in a repository: nothing is defined.
      throw error;
    },
  );
  return listed.text.split("\0").flatMap((key): Setting[] => {
    const [, section = "", name] = /^(filter|merge|hook)\.(.*)\.[^.]+$/s.exec(key) ?? [];
    if (name === undefined) return [];
    if (section === "hook") return [[`hook.${name}.command`, ":"]];
    if (section === "merge") return /\.driver$/i.test(key) ? [[`merge.${name}.driver`, "exit 1"]] : [];
    return [
      [`filter.${name}.clean`, ""],
      [`filter.${name}.smudge`, ""],
      [`filter.${name}.process`, ""],
      [`filter.${name}.required`, "false"],
    ];
  });
}

const ENVIRONMENT = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none", // Unlike a setting, this cannot be overruled by the settings of one protocol.
  LC_ALL: "C",
};
/** About the installation of git, not about a repository. */
const OF_INSTALLATION = new Set(["GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"]);

function environment(settings: readonly Setting[], more: GitOptions["env"]): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_") || OF_INSTALLATION.has(name));
  const listed = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  const counted = { ...Object.fromEntries(listed), GIT_CONFIG_COUNT: String(settings.length) };
  return childEnvironment({ ...ENVIRONMENT, ...counted, ...more }, Object.fromEntries(own));
}

function run(
  folder: string,
  args: readonly string[],
  { signal, env, input, mayDiffer = false, settings }: GitOptions & { settings: readonly Setting[] },
): Promise<GitAnswer> {
  signal.throwIfAborted();
  const options = { cwd: folder, maxBuffer: MAX_OUTPUT_BYTES, signal, env: environment(settings, env) };
  return new Promise((resolve, reject) => {
    const child = execFile("git", [...args], options, (error, stdout, stderr) => {
      if (!error) return resolve({ text: stdout, differs: false });
      if (mayDiffer && error.code === 1) return resolve({ text: stdout, differs: true });
      if (error.name === "AbortError") return reject(error);
      const isMissing = error.code === "ENOENT";
      reject(new GitFailure(isMissing ? "git could not be started" : stderr.trim() || error.message, { isMissing }));
    });
    child.stdin?.on("error", () => undefined); // It has ended without reading all; its exit code says why.
    child.stdin?.end(input ?? "");
  });
}
