/** Asks Codex whether it will run our hooks: only Codex knows what the user has trusted. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { messageOf } from "@retinue/protocol/errors";
import { childEnvironment } from "../../secrets/environment.ts";
import { fields, list, parseLine, text } from "../ingest/readers/fields.ts";
import type { Check, ConnectorContext } from "./connector.ts";

const WAIT_MS = 8_000;

export async function askCodexAboutHooks({ env, home }: ConnectorContext): Promise<Check> {
  try {
    const hooks = (await listHooks(env, home)).filter(({ command }) => text(command)?.includes(" hook codex --home "));
    const untrusted = hooks.filter(({ trustStatus }) => trustStatus !== "trusted" && trustStatus !== "managed");
    if (hooks.length === 0) return { what: "trust", ok: false, detail: "Codex does not see the hooks" };
    if (untrusted.length === 0) return { what: "trust", ok: true, detail: `Codex trusts all ${hooks.length}` };
    return {
      what: "trust",
      ok: false,
      detail: `Codex skips ${untrusted.length} of ${hooks.length} hooks silently until you trust them: run codex, type /hooks`,
    };
  } catch (error) {
    return {
      what: "trust",
      ok: false,
      detail: `Codex could not be asked (${messageOf(error)}); until you trust the hooks with /hooks in Codex, it skips them silently`,
    };
  }
}

/** One exchange with `codex app-server`, which speaks JSON-RPC line by line. */
async function listHooks(env: NodeJS.ProcessEnv, cwd: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const child = spawn(env.RETINUE_CODEX ?? "codex", ["app-server"], {
    env: childEnvironment({}, env),
    cwd,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const failed = new Promise<never>((_, reject) => child.on("error", reject));
  const timer = setTimeout(() => child.kill(), WAIT_MS);
  try {
    const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
    send({ id: 1, method: "initialize", params: { clientInfo: { name: "retinue", version: "1" } } });
    return await Promise.race([failed, answers(child.stdout, send, cwd)]);
  } finally {
    clearTimeout(timer);
    child.kill();
  }
}

async function answers(output: NodeJS.ReadableStream, send: (message: object) => void, cwd: string) {
  for await (const line of createInterface({ input: output })) {
    const message = parseLine(line);
    if (message?.id === 1) {
      send({ method: "initialized" });
      send({ id: 2, method: "hooks/list", params: { cwds: [cwd] } });
    }
    if (message?.id === 2) return list(fields(message.result).data).flatMap((each) => list(each.hooks));
  }
  throw new Error("it ended without an answer");
}
