/**
 * One run of a hook that is an address: the payload is sent there, and what comes back is read as the output of a command.
 *
 * The address is the one that was allowed, without redirects. A status that is no success is a failure, as an exit code is.
 */

import { childEnvironment } from "../secrets/environment.ts";
import { addOwnKey } from "../secrets/known-values.ts";
import { guardedFetch } from "../tools/web/guarded-fetch.ts";
import { type HttpRun, VARIABLE } from "./file-hook.ts";
import type { CommandEnd } from "./hook-answer.ts";

const MAX_WORDS = 200;

export async function postPayload(
  run: HttpRun,
  { payload, limitMs, signal }: { payload: string; limitMs: number; signal: AbortSignal },
): Promise<CommandEnd> {
  const { fetch } = guardedFetch(run.url, signal, { what: "the request", limitMs });
  const response = await fetch(run.url, { method: "POST", headers: headersOf(run), body: payload });
  const body = await response.text();
  if (response.ok) return { code: 0, stdout: body, stderr: "" };
  const words = body.trim().slice(0, MAX_WORDS);
  throw new Error(`it was answered with HTTP ${response.status}${words === "" ? "" : ` (${words})`}`);
}

function headersOf({ headers, variables }: HttpRun): Headers {
  const sent = new Headers({ "content-type": "application/json", "user-agent": "retinue" });
  const env = childEnvironment(); // Without the credentials of the runtime, whatever the file names.
  const sentFor = (name: string): string => {
    const value = variables.includes(name) ? (env[name] ?? "") : "";
    addOwnKey(value); // Whoever is asked may repeat it.
    return value;
  };
  for (const [name, template] of Object.entries(headers)) {
    const value = template.replaceAll(VARIABLE, (_, braced, plain) => sentFor(braced ?? plain));
    // Not left to the library, which would repeat the value.
    if (!/^[\t\x20-\x7e]*$/.test(value)) throw new Error(`the header ${name} has a value that cannot be sent`);
    sent.set(name, value);
  }
  return sent;
}
