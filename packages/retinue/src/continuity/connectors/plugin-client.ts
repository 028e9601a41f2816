/**
 * The first half of the plugins that run inside OpenCode and OpenClaw, as plain JavaScript without dependencies: posting to
 * the daemon, and turns that wait until it has them.
 *
 * A plugin must never slow its harness down: every request has a time limit, a dead daemon is started in the background at most
 * twice a minute, and turns that could not be sent are sent with the next hook.
 */
export function pluginClient({
  home,
  program,
  harness,
}: {
  home: string;
  program: readonly string[];
  harness: string;
}): string {
  return `// Written by "retinue connect ${harness}"; "retinue disconnect ${harness}" removes it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const HOME = ${JSON.stringify(home)};
const PROGRAM = ${JSON.stringify(program)};
const HARNESS = ${JSON.stringify(harness)};
${CLIENT}`;
}

const CLIENT = `const REQUEST_MS = 1500;
const RESTART_MS = 30000;
const MAX_WAITING = 2000;

let startedAt = 0;
function startDaemon() {
  if (Date.now() - startedAt < RESTART_MS) return;
  startedAt = Date.now();
  const [command, ...args] = PROGRAM;
  const child = spawn(command, [...args, "daemon", "start", "--home", HOME], { detached: true, stdio: "ignore" });
  child.on("error", () => {}); // The program was removed: nothing is recorded, and nothing else changes.
  child.unref();
}

/** The answer, or undefined: then the daemon is down, and is being started. */
async function post(path, body) {
  try {
    const { port } = JSON.parse(readFileSync(join(HOME, "daemon.json"), "utf8"));
    const token = readFileSync(join(HOME, "daemon.token"), "utf8").trim();
    const headers = { authorization: "Bearer " + token, "content-type": "application/json" };
    const signal = AbortSignal.timeout(REQUEST_MS);
    const response = await fetch("http://127.0.0.1:" + port + path, { method: "POST", headers, body: JSON.stringify(body), signal });
    return await response.json();
  } catch {
    startDaemon();
    return undefined;
  }
}

/** Turns that wait to be sent, by session. */
const waiting = new Map();
const busy = new Map();

function addTurn(sessionKey, turn) {
  const turns = waiting.get(sessionKey) ?? [];
  turns.push(turn);
  waiting.set(sessionKey, turns.slice(-MAX_WAITING));
}

/** One hook, with the turns that wait. Hooks of one session go one after the other. */
function hook(route, fields) {
  const before = busy.get(fields.sessionKey) ?? Promise.resolve();
  const sent = before.then(async () => {
    const turns = waiting.get(fields.sessionKey) ?? [];
    waiting.set(fields.sessionKey, []);
    const answer = await post("/api/hooks/" + route, { harness: HARNESS, ...fields, turns });
    if (!answer) waiting.set(fields.sessionKey, [...turns, ...(waiting.get(fields.sessionKey) ?? [])].slice(-MAX_WAITING));
    return answer;
  });
  busy.set(fields.sessionKey, sent);
  return sent;
}

/** What session_search says to the model. */
async function searchText(query, sessionKey, currentSessionKey) {
  const answer = await post("/api/sessions/search", { query, sessionKey: sessionKey || undefined, currentSessionKey, harness: undefined });
  if (!answer) return "The search is not available now.";
  if (answer.error) return answer.error.message;
  if (!answer.hits.length) return answer.note ?? "Nothing was found.";
  return answer.hits.map((hit) => hit.at + " " + hit.sessionKey + " #" + hit.seq + "\\n" + hit.snippet).join("\\n\\n");
}

startDaemon();
`;
