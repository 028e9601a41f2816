/**
 * What runs in the process of sql-process.ts, as the text that `node --eval` gets: so it is the same from sources and from the bundle.
 *
 * Queries run in a thread, because the main thread must notice when the runtime has gone, and when a query takes too much memory; SQLite
 * itself cannot be interrupted, and the SQLite of our package is built without the counters that its own limits need.
 * Arguments: the SQLite library. Messages: a SqlRequest in, a SqlAnswer out.
 */
const QUERIES = `
const { closeSync, openSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require(workerData);

parentPort.on("message", (request) => {
  let answer;
  try {
    answer = { results: withDatabase(request, (db) => runAll(db, request)) };
  } catch (error) {
    answer = { error: error instanceof Error ? error.message : String(error) };
  }
  parentPort.postMessage(answer);
});

function withDatabase({ file, setup }, use) {
  // Private from the beginning; the journal beside it gets the same mode.
  closeSync(openSync(file, "a", 0o600));
  const db = new DatabaseSync(file);
  try {
    db.exec(setup);
    return use(db);
  } finally {
    db.close();
  }
}

function runAll(db, { statements, isAtomic, maxRows, maxChars }) {
  const room = { chars: maxChars };
  const run = () => statements.map((text) => runOne(db, text, maxRows, room));
  if (!isAtomic) return run();
  db.exec("BEGIN");
  try {
    const results = run();
    db.exec("COMMIT");
    return results;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function runOne(db, text, maxRows, room) {
  const statement = db.prepare(text);
  statement.setReadBigInts(true);
  const rows = [];
  let isCut = false;
  for (const row of statement.iterate()) {
    isCut = rows.length === maxRows || room.chars <= 0;
    if (isCut) break;
    rows.push(Object.fromEntries(Object.entries(row).map(([column, value]) => [column, bounded(value, room)])));
  }
  const { changes, id } = db.prepare("SELECT changes() AS changes, last_insert_rowid() AS id").get();
  return { rows, isCut, changes: Number(changes), lastId: Number(id) };
}

function bounded(value, room) {
  const shown = value instanceof Uint8Array ? "<" + value.length + " bytes>" : value;
  if (typeof shown !== "string") return shown;
  const kept = shown.length > room.chars ? shown.slice(0, Math.max(0, room.chars)) + "…" : shown;
  room.chars -= kept.length;
  return kept;
}
`;

export const SQL_PROCESS = `
const { Worker } = require("node:worker_threads");
const WATCH_MS = 5;
const queries = new Worker(${JSON.stringify(QUERIES)}, { eval: true, workerData: process.argv[1] });
let watch;
const answer = (answer) => {
  clearInterval(watch);
  process.send(answer);
};
const end = (error) => {
  clearInterval(watch);
  process.send({ error, isLast: true }, () => process.kill(process.pid, "SIGKILL"));
};
queries.on("message", answer);
queries.on("error", (error) => end(error.message));
process.on("message", ({ maxBytes, ...request }) => {
  clearInterval(watch);
  watch = setInterval(() => {
    if (process.memoryUsage.rss() > maxBytes) end(request.tooLarge);
  }, WATCH_MS);
  queries.postMessage(request);
});
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
`;
