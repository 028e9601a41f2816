/** `retinue update --check`: asks npm for the newest version. Nothing else in the program does, and nothing is installed. */
import { execFile } from "node:child_process";
import { messageOf } from "@retinue/protocol";
import * as z from "zod";
import { VERSION } from "../host/config.ts";
import type { CliContext } from "./cli-context.ts";
import { UsageError } from "./usage-error.ts";

const NAME = "retinue";
const PATIENCE_MS = 30_000;

/** npm knows the user's registry, proxy and sign-in; we would have to learn them. */
export async function checkForUpdate(
  { check, json }: { check: boolean; json: boolean },
  { terminal, env }: CliContext,
): Promise<number> {
  if (!check)
    throw new UsageError(
      `nothing is installed from here. Look: retinue update --check. Update: npm install -g ${NAME}@latest`,
    );
  const latest = await newestVersion(env);
  const isNewer = compare(latest, VERSION) > 0;
  if (json) terminal.out(`${JSON.stringify({ current: VERSION, latest, isNewer })}\n`);
  else if (isNewer)
    terminal.out(`${NAME} ${latest} is out; this is ${VERSION}. Update: npm install -g ${NAME}@latest\n`);
  else terminal.out(`${NAME} ${VERSION} is the newest version.\n`);
  return 0;
}

function newestVersion(env: CliContext["env"]): Promise<string> {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const args = ["view", `${NAME}@latest`, "version", "--json", "--no-update-notifier", "--fetch-retries=0"];
  return new Promise((resolve, reject) => {
    execFile(
      npm,
      args,
      { env: { ...env }, timeout: PATIENCE_MS, shell: process.platform === "win32" },
      (error, stdout) => {
        if (error) return reject(new Error(`npm could not be asked for the newest version: ${reason(error, stdout)}`));
        const version = Version.safeParse(stdout.trim());
        if (version.success) resolve(version.data);
        else reject(new Error("npm answered with something that is not a version."));
      },
    );
  });
}

const Version = z
  .string()
  .transform((text) => text.replaceAll('"', ""))
  .pipe(z.string().regex(/^\d+\.\d+\.\d+([-+][\w.+-]+)?$/));

/** npm prints its error as JSON too. */
const Failure = z.object({ error: z.object({ summary: z.string() }) });

function reason(error: Error, stdout: string): string {
  if ("code" in error && error.code === "ENOENT") return "there is no npm here";
  if ("killed" in error && error.killed) return `it did not answer within ${PATIENCE_MS / 1000} s`;
  try {
    return Failure.parse(JSON.parse(stdout)).error.summary.split("\n")[0] ?? "it failed";
  } catch {
    return messageOf(error).split("\n").at(-2) ?? messageOf(error);
  }
}

/** Versions before a release (`1.0.0-rc.1`) come before it. */
function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split("+")[0]?.split("-") ?? []);
  const numbers = (parts: readonly string[] | undefined) => (parts?.[0] ?? "").split(".").map(Number);
  for (const at of [0, 1, 2]) {
    const difference = (numbers(left)[at] ?? 0) - (numbers(right)[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(right?.length === 2) - Number(left?.length === 2);
}
