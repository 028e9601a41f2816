/**
 * Installs a plugin into the home folder: from a folder, a tarball, a git repository, or a package of npm.
 *
 * Everything is fetched into a folder beside the others, looked at there, and moved into place whole. No script of it runs on the way.
 */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import { AppError, messageOf, visible } from "@retinue/protocol";
import { childEnvironment } from "../secrets/environment.ts";
import { makePrivateFolder } from "../store/private-files.ts";
import { moveAside, newStage, settleCutOff } from "./cut-off-install.ts";
import { forgetPlugin, type InstalledPlugin, installedPlugins, pluginsFolder, recordPlugin } from "./installed.ts";
import { PLUGIN_NAME, type Plugin, readPlugin } from "./manifest.ts";
import { MAX_ENTRIES, MAX_FILES, MAX_TOTAL, unpack } from "./unpack.ts";

export interface InstallOptions {
  home: string;
  /** What relative paths are relative to. */
  cwd: string;
  signal?: AbortSignal;
  /** Shown what it brings before it counts; false gives up. */
  confirm?(plugin: Plugin): Promise<boolean>;
}

export interface Installed {
  plugin: Plugin;
  /** Links and the like, which are never taken over. */
  leftOut: number;
}

const FETCH_MS = 120_000;
const run = promisify(execFile);

/** Undefined when somebody did not want it. */
export async function installPlugin(source: string, options: InstallOptions): Promise<Installed | undefined> {
  const { home } = options;
  const folder = pluginsFolder(home);
  makePrivateFolder(home);
  makePrivateFolder(folder);
  settleCutOff(folder);
  const stage = newStage(folder);
  try {
    const content = join(stage, "content");
    mkdirSync(content);
    const leftOut = await fetchInto(content, source, { ...options, stage });
    const plugin = readPlugin(rootIn(content));
    if (!plugin.hasManifest || !PLUGIN_NAME.test(plugin.name))
      throw new AppError("invalid_params", `${visible(source)} is not a plugin: it has no plugin.json`);
    if (options.confirm && !(await options.confirm(plugin))) return undefined;
    const place = join(folder, plugin.name);
    moveAside(stage, { folder, name: plugin.name });
    renameSync(plugin.root, place);
    recordPlugin(home, plugin.name, lasting(source, options.cwd));
    return { plugin: readPlugin(place), leftOut };
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** A path means the same wherever it is fetched from again. */
function lasting(source: string, cwd: string): string {
  const path = resolve(cwd, source);
  return existsSync(path) ? path : source;
}

/** Fetches it again from where it came. Whoever asks agrees to what it brings now, as with an install. */
export async function updatePlugin(
  { name, source }: InstalledPlugin,
  { home, signal }: Pick<InstallOptions, "home" | "signal">,
): Promise<Plugin> {
  if (source === undefined) {
    const place = visible(join(pluginsFolder(home), name));
    throw new AppError("invalid_params", `${place} was put there by hand, so nobody knows where to fetch it from`);
  }
  let other: string | undefined;
  const confirm = async (found: Plugin) => {
    if (found.name !== name) other = found.name;
    return found.name === name;
  };
  const done = await installPlugin(source, { home, cwd: home, signal, confirm });
  if (done) return done.plugin;
  throw new AppError("invalid_params", visible(`${source} is the plugin ${other} now, so ${name} stays as it is`));
}

/** False when there is none of that name. */
export function removePlugin(home: string, name: string): boolean {
  const found = installedPlugins(home).plugins.find((plugin) => plugin.name === name);
  if (!found) return false;
  rmSync(found.root, { recursive: true, force: true });
  forgetPlugin(home, name);
  return true;
}

interface Fetch extends InstallOptions {
  stage: string;
}

async function fetchInto(content: string, source: string, options: Fetch): Promise<number> {
  if (source.trim() === "" || source.startsWith("-"))
    throw new AppError("invalid_params", `${visible(source)} is not a folder, tarball, git repository or npm package`);
  const path = resolve(options.cwd, source);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return copy(path, content);
  if (found?.isFile()) return unpack(path, content);
  if (/^[./~]|\.(tgz|tar|tar\.gz)$/.test(source)) throw new AppError("invalid_params", `there is no ${visible(path)}`);
  const address = gitAddress(source);
  if (address !== undefined) return await clone(address, content, options);
  return await fromNpm(source.replace(/^npm:/, ""), content, options);
}

/** `owner/name` is a repository of GitHub, as in other programs. */
function gitAddress(source: string): string | undefined {
  if (/^(https?|ssh|git|file):\/\//.test(source) || /^[\w.-]+@[\w.-]+:/.test(source)) return source;
  if (source.startsWith("git+")) return source.slice(4);
  return /^[\w.-]+\/[\w.-]+$/.test(source) ? `https://github.com/${source}.git` : undefined;
}

async function clone(address: string, content: string, { stage, signal }: Fetch): Promise<number> {
  const into = join(stage, "clone");
  // Neither hooks nor filters run, and no transport that is a program of its own: git starts one for any word before `::`.
  const safe = [
    "core.hooksPath=/dev/null",
    "core.symlinks=false",
    ...["smudge=", "process=", "required=false"].map((each) => `filter.lfs.${each}`),
    "protocol.allow=never",
    ...["https", "http", "ssh", "git", "file"].map((each) => `protocol.${each}.allow=always`),
  ];
  const args = [
    ...safe.flatMap((each) => ["-c", each]),
    "clone",
    "--quiet",
    "--depth",
    "1",
    "--no-tags",
    "--",
    address,
    into,
  ];
  await fetched("git", args, { cwd: stage, signal });
  rmSync(join(into, ".git"), { recursive: true, force: true });
  return copy(into, content);
}

async function fromNpm(name: string, content: string, { stage, signal }: Fetch): Promise<number> {
  if (!/^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(@[\w.^~<>=*-]+)?$/i.test(name))
    throw new AppError("invalid_params", `${visible(name)} is not a folder, tarball, git repository or npm package`);
  const args = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", stage, "--", name];
  await fetched("npm", args, { cwd: stage, signal });
  const tarball = readdirSync(stage).find((each) => each.endsWith(".tgz"));
  if (tarball === undefined) throw new AppError("internal", `npm has no package ${visible(name)}`);
  return unpack(join(stage, tarball), content);
}

async function fetched(
  program: string,
  args: readonly string[],
  { cwd, signal }: { cwd: string; signal: AbortSignal | undefined },
): Promise<void> {
  const env = childEnvironment({ GIT_TERMINAL_PROMPT: "0" });
  try {
    await run(program, args, { cwd, env, signal, timeout: FETCH_MS, maxBuffer: 1024 * 1024 });
  } catch (error) {
    const words = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    const why = visible((words || messageOf(error)).slice(-500));
    throw new AppError("invalid_params", `${program} could not fetch it: ${why}`, { cause: error });
  }
}

/** Links are left out: one could lead anywhere. */
function copy(from: string, to: string, bounds = { entries: 0, files: 0, bytes: 0 }): number {
  let leftOut = 0;
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, place] = [join(from, entry.name), join(to, entry.name)];
    if (++bounds.entries > MAX_ENTRIES) throw new AppError("invalid_params", "it is too large for a plugin");
    if (entry.isDirectory() && entry.name !== ".git" && entry.name !== "node_modules") {
      mkdirSync(place);
      leftOut += copy(source, place, bounds);
    } else if (entry.isFile()) {
      bounds.bytes += lstatSync(source).size;
      if (++bounds.files > MAX_FILES || bounds.bytes > MAX_TOTAL)
        throw new AppError("invalid_params", "it is too large for a plugin");
      copyFileSync(source, place);
    } else leftOut++;
  }
  return leftOut;
}

/** Tarballs and archives have one folder around everything. */
function rootIn(content: string): string {
  const names = readdirSync(content);
  const [only] = names;
  const inner = only === undefined ? content : join(content, only);
  const isWrapped = names.length === 1 && statSync(inner).isDirectory() && !basename(inner).startsWith(".");
  return isWrapped ? inner : content;
}
