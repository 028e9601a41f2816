/**
 * What continuity costs, at the daemon and over HTTP: taking in a turn, giving a child its block, searching, memory.
 *
 * Sizes grow by a thousand in one run, so the table shows what stays flat. `--quick` leaves out the million turns.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { indexAll } from "../packages/retinue/src/continuity/records/turn-index.ts";
import { startDaemon, stopDaemon } from "../packages/retinue/src/continuity/serve/daemon-process.ts";
import { openSqlite } from "../packages/retinue/src/store/sqlite/store.ts";
import type { TranscriptChange } from "../packages/retinue/src/store/transcript-records.ts";

export interface Row {
  what: string;
  measured: string;
  budget: string;
  ok: boolean;
}

const TURN = 900;
const WORDS = Array.from(
  { length: 20_000 },
  (_, n) => `${["lo", "ra", "mi", "ke", "su", "ta"][n % 6]}${n.toString(36)}`,
);

/** Words from a fixed seed, common ones far more often than rare ones. */
function speech(seed: number): () => string {
  let state = seed;
  const random = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
  const word = () => WORDS[Math.floor(random() ** 3 * WORDS.length)] ?? "";
  return () => {
    let text = "";
    while (text.length < TURN) text += `${word()} `;
    return text;
  };
}

class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  readonly #port: number;
  readonly #token: string;
  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }
  post(path: string, body: object): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${this.#token}`, "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      const asked = request(
        { host: "127.0.0.1", port: this.#port, method: "POST", path, agent: this.#agent, headers },
        (response) => {
          let text = "";
          response.on("data", (chunk) => {
            text += chunk;
          });
          response.on("end", () => (response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text))));
        },
      );
      asked.on("error", reject);
      asked.end(JSON.stringify(body));
    });
  }
  close(): void {
    this.#agent.destroy();
  }
}

const percentile = (times: readonly number[], part: number) =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
const ms = (value: number) => `${value.toFixed(2)} ms`;

async function timed(count: number, work: (n: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const start = performance.now();
    await work(n);
    times.push(performance.now() - start);
  }
  return times;
}

/** Sessions straight into the file, as the daemon would have written them. */
async function fill(
  home: string,
  { sessions, turns, at }: { sessions: number; turns: number; at: number },
): Promise<void> {
  const { transcripts, close } = openSqlite({ path: join(home, "retinue.db") });
  const say = speech(sessions);
  for (let n = 0; n < sessions; n += 100) {
    const changes: TranscriptChange[] = [];
    for (let s = n; s < Math.min(sessions, n + 100); s++) {
      const session = { sessionKey: `other-${s}`, harness: "other", agentId: "default" };
      const spoken = Array.from({ length: turns }, (_, t) => ({
        role: "user" as const,
        text: `${s === 500 && t === 7 ? "xylophone " : ""}${say()}`,
      }));
      changes.push({ type: "opened", session, at, project: `/projects/p${s % 20}` });
      changes.push({ type: "turns", session, at, turns: spoken });
    }
    await transcripts.record({ changes });
    await indexAll(transcripts);
  }
  close();
}

const written = (pid: number) => Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
const memory = (pid: number) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;

interface World {
  client: Client;
  pid: number;
  /** Where the harness would keep its transcripts. */
  transcripts: string;
}

async function withDaemon<T>(
  program: readonly string[],
  prepare: (home: string) => Promise<void>,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "retinue-bench-"));
  const [home, user] = [join(folder, "home"), join(folder, "user")];
  const transcripts = join(user, ".claude/projects/bench");
  mkdirSync(home);
  mkdirSync(transcripts, { recursive: true });
  try {
    await prepare(home);
    const { pid, port } = await startDaemon({ home, program, env: { ...process.env, HOME: user } });
    const client = new Client(port, readFileSync(join(home, "daemon.token"), "utf8"));
    try {
      return await work({ client, pid, transcripts });
    } finally {
      client.close();
      await stopDaemon(home);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

let lines = 0;
const line = (text: string) =>
  `${JSON.stringify({ type: "user", uuid: `u${++lines}`, timestamp: "2026-11-15T12:00:00Z", message: { role: "user", content: text } })}\n`;

/** A session whose transcript file has this many bytes already, taken in. */
async function session({ client, transcripts }: World, key: string, bytes: number): Promise<string> {
  const path = join(transcripts, `${key}.jsonl`);
  const say = speech(bytes);
  let text = "";
  while (text.length < bytes) text += line(say());
  writeFileSync(path, text);
  await client.post("/api/hooks/user-prompt-submit", {
    harness: "claude-code",
    sessionKey: key,
    project: "/projects/bench",
    transcriptPath: path,
  });
  return path;
}

const INGESTS = 512;

async function ingest(world: World, key: string, path: string): Promise<{ p50: number; bytes: number }> {
  const say = speech(7);
  const before = written(world.pid);
  const times = await timed(INGESTS, async () => {
    appendFileSync(path, line(say()));
    await world.client.post("/api/hooks/user-prompt-submit", {
      harness: "claude-code",
      sessionKey: key,
      project: "/projects/bench",
      transcriptPath: path,
    });
  });
  return { p50: percentile(times, 0.5), bytes: (written(world.pid) - before) / INGESTS };
}

async function ingestRows(program: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const others of [1, 1_000]) {
    await withDaemon(
      program,
      (home) => fill(home, { sessions: others, turns: 55, at: Date.now() }),
      async (world) => {
        for (const size of [10_000, 1_000_000, 10_000_000]) {
          const key = `s${size}`;
          const path = await session(world, key, size);
          const { p50, bytes } = await ingest(world, key, path);
          const what = `turn of 0.9 KB into ${size / 1_000} KB, ${others} other session${others > 1 ? "s" : ""}`;
          rows.push({
            what,
            measured: `${ms(p50)} p50, ${(bytes / TURN).toFixed(1)} × written`,
            budget: "≤ 5 ms, ≤ 20 ×",
            ok: p50 <= 5 && bytes <= 20 * TURN,
          });
        }
        const starts = await timed(200, (n) =>
          world.client.post("/api/hooks/subagent-start", {
            harness: "claude-code",
            sessionKey: "s10000000",
            harnessAgentId: `a${n}`,
            project: "/projects/bench",
          }),
        );
        const p50 = percentile(starts, 0.5);
        rows.push({
          what: `child start with block, 10 MB parent, ${others} others`,
          measured: `${ms(p50)} p50`,
          budget: "≤ 10 ms",
          ok: p50 <= 10,
        });
      },
    );
  }
  return rows;
}

const question = (n: number) =>
  Array.from({ length: 6 }, (_, k) => WORDS[(n * 37 + k * k * 211 + k * 13) % 4_000]).join(" ");

async function searchRows(program: readonly string[]): Promise<Row[]> {
  return withDaemon(
    program,
    (home) => fill(home, { sessions: 1_000, turns: 55, at: Date.now() }),
    async ({ client, pid }) => {
      const find = (query: string) => client.post("/api/sessions/search", { query });
      await find("warm up");
      const rare = percentile(await timed(200, () => find("xylophone")), 0.5);
      const plain = percentile(await timed(200, (n) => find(question(n))), 0.5);
      const seconds = 4;
      const until = performance.now() + seconds * 1_000;
      let answered = 0;
      const ask = async (k: number) => {
        for (let n = k * 1_000; performance.now() < until; n++) {
          await find(question(n));
          answered++;
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, k) => ask(k)));
      const rate = answered / seconds;
      const rss = memory(pid);
      return [
        { what: "rare word, 1,000 sessions × 50 KB", measured: `${ms(rare)} p50`, budget: "≤ 5 ms", ok: rare <= 5 },
        { what: "six words, 1,000 sessions × 50 KB", measured: `${ms(plain)} p50`, budget: "≤ 30 ms", ok: plain <= 30 },
        { what: "queries with 8 clients", measured: `${rate.toFixed(0)} /s`, budget: "≥ 150 /s", ok: rate >= 150 },
        {
          what: "memory of the daemon after that",
          measured: `${rss.toFixed(0)} MB`,
          budget: "≤ 120 MB",
          ok: rss <= 120,
        },
      ];
    },
  );
}

async function millionRow(program: readonly string[]): Promise<Row> {
  return withDaemon(
    program,
    (home) => fill(home, { sessions: 18_182, turns: 55, at: Date.now() }),
    async ({ client }) => {
      const find = (query: string) => client.post("/api/sessions/search", { query });
      await find("warm up");
      const times = [...(await timed(50, () => find("xylophone"))), ...(await timed(150, (n) => find(question(n))))];
      const p95 = percentile(times, 0.95);
      return { what: "search over 1,000,000 turns", measured: `${ms(p95)} p95`, budget: "< 100 ms", ok: p95 < 100 };
    },
  );
}

/** Of the executable as it is built. */
export async function benchContinuity({ quick = false }: { quick?: boolean } = {}): Promise<Row[]> {
  const program = [process.execPath, fileURLToPath(new URL("../bin/retinue.js", import.meta.url))];
  const rows = [...(await ingestRows(program)), ...(await searchRows(program))];
  return quick ? rows : [...rows, await millionRow(program)];
}

export function showTable(rows: readonly Row[]): string {
  const widths = [0, 1, 2].map((n) =>
    Math.max(...rows.map(({ what, measured, budget }) => [what, measured, budget][n]?.length ?? 0)),
  );
  const cell = (text: string, n: number) => text.padEnd(widths[n] ?? 0);
  return rows
    .map(({ what, measured, budget, ok }) => `${ok ? "✓" : "✗"} ${cell(what, 0)}  ${cell(measured, 1)}  ${budget}`)
    .join("\n");
}

if (process.argv[1]?.endsWith("bench/continuity.ts")) {
  const rows = await benchContinuity({ quick: process.argv.includes("--quick") });
  process.stdout.write(`${showTable(rows)}\n`);
  process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;
}
