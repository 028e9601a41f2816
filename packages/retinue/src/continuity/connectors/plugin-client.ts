/**
 * The first half of the plugins that run inside OpenCode and OpenClaw, as plain JavaScript without dependencies: posting to
 * the daemon, and turns that wait until it has them.
 *
 * A plugin must never slow its harness down: every request has a time limit, a dead daemon is started in the background at most
 * twice a minute, and turns that could not be sent are sent with the next hook. It talks to the owner's daemon only (records/proof.ts).
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
import { createHash, createHmac, randomBytes } from "node:crypto";
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

/** The answer, or undefined: then the daemon is down, and is being started. Another program on its port is told nothing and not believed. */
async function post(path, body) {
  try {
    const { port } = JSON.parse(readFileSync(join(HOME, "daemon.json"), "utf8"));
    const token = readFileSync(join(HOME, "daemon.token"), "utf8").trim();
    const mac = (...parts) => createHmac("sha256", token).update(parts.join("\\n")).digest("base64url");
    const digest = (text) => createHash("sha256").update(text).digest("base64url");
    const options = { signal: AbortSignal.timeout(REQUEST_MS), redirect: "error" };
    const url = "http://127.0.0.1:" + port;
    const client = randomBytes(16).toString("hex");
    const { nonce, proof } = await (await fetch(url + "/proof?nonce=" + client, options)).json();
    if (proof !== mac("daemon", client, nonce, port)) throw new Error("another program listens on the port");
    const json = JSON.stringify(body);
    const signed = mac("request", client, nonce, port, "POST", path, digest(json));
    const headers = { authorization: "Proof " + [client, nonce, signed].join("."), "content-type": "application/json" };
    const response = await fetch(url + path, { ...options, method: "POST", headers, body: json });
    const answer = await response.text();
    const expected = mac("answer", client, nonce, response.status, digest(answer));
    if (response.headers.get("x-retinue-proof") !== expected) throw new Error("the answer is not the daemon's");
    return JSON.parse(answer);
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
