/** `retinue doctor`: whether everything that a run needs is in place, and what to do where it is not. */
import { visible } from "@retinue/protocol/visible";
import { homeFolder } from "../host/home.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommonFlags } from "./commands/shared-fields.ts";
import {
  type Check,
  checkAgents,
  checkConfig,
  checkHome,
  checkLimits,
  checkNode,
  checkPrivacy,
  checkProvider,
  checkRipgrep,
  checkServers,
  checkStore,
  checkVariables,
} from "./doctor-checks.ts";
import { checkTrust } from "./doctor-trust.ts";

const SIGNS = {
  ok: { sign: "✓", ansi: 32 },
  warning: { sign: "!", ansi: 33 },
  problem: { sign: "✗", ansi: 31 },
} as const;

/** Resolves with the exit code: 1 when there is a problem. */
export async function runDoctor(
  flags: CommonFlags & { provider?: string },
  { terminal, env, cwd }: CliContext,
): Promise<number> {
  const home = homeFolder(env, flags.home);
  const place = checkHome(home);
  const isHome = place.status === "ok";
  const checks = [
    checkNode(process.version),
    place,
    ...(isHome ? await ofHome(home, cwd) : []),
    await checkRipgrep(),
    await checkProvider({ env, home: isHome ? home : undefined, provider: flags.provider }),
    ...checkLimits(env),
    ...checkVariables(env),
  ];
  const color = terminal.color && terminal.isOutScreen;
  if (flags.json) terminal.out(`${JSON.stringify(checks, null, 2)}\n`);
  else terminal.out(checks.map((check) => `${lines(check, color)}\n`).join(""), { isDrawn: true });
  return checks.some(({ status }) => status === "problem") ? 1 : 0;
}

async function ofHome(home: string, cwd: string): Promise<Check[]> {
  const privacy = checkPrivacy(home); // Before the store is opened, which closes what it can.
  const store = await checkStore(home);
  return [privacy, store, checkConfig(home), ...checkAgents(home), ...checkServers(home), await checkTrust(home, cwd)];
}

function lines({ name, status, text, advice }: Check, color: boolean): string {
  const { sign, ansi } = SIGNS[status];
  const mark = color ? `\u001b[${ansi}m${sign}\u001b[0m` : sign;
  const head = `${mark} ${status.padEnd(7)}  ${name.padEnd(9)} ${visible(text)}`;
  return advice === undefined ? head : `${head}\n${" ".repeat(21)}→ ${visible(advice)}`;
}
