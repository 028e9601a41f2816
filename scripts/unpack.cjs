/**
 * The files that the single executable carries, as one archive: written by scripts/single-file.mjs, unpacked by scripts/single-file-main.cjs.
 *
 * They are needed as files because systems load native code and start programs only from files. They go into a folder that is named after
 * their content and that only its owner can enter, and they are compared with the archive at every start: what differs is never run.
 */
const { createHash, randomUUID } = require("node:crypto");
const { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** The length of the list, the list, and the contents one after the other. */
function pack(files) {
  const list = files.map(({ name, contents, isProgram = false }) => ({
    name,
    size: contents.length,
    sha256: hash(contents),
    isProgram,
  }));
  const head = Buffer.from(JSON.stringify(list));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, ...files.map(({ contents }) => contents)]);
}

/** The folder with the files of the archive, unpacked below `cache` when they are not there yet or are not what they should be. */
function unpack(archive, cache) {
  const end = 4 + archive.readUInt32BE(0);
  const head = archive.subarray(4, end);
  const list = JSON.parse(head.toString("utf8"));
  const folder = path.join(cache, hash(head).slice(0, 32)); // The list has the hash of every file.
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  if (!isOurs(cache)) throw new Error(`${cache} must be a folder of yours that nobody else can enter (chmod 700)`);
  if (isWhole(folder, list)) return folder;

  const fresh = path.join(cache, `.${randomUUID()}`);
  try {
    writeAll(fresh, { list, contents: archive.subarray(end) });
    moveInto(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  if (!isWhole(folder, list)) throw new Error(`${folder} could not be unpacked: something else changes it`);
  return folder;
}

function writeAll(folder, { list, contents }) {
  let at = 0;
  for (const { name, size, isProgram } of list) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, contents.subarray(at, at + size), { mode: isProgram ? 0o700 : 0o600, flag: "wx" });
    at += size;
  }
}

/** Another process may do the same at this moment: whoever comes second takes what the first has put there, if it is whole. */
function moveInto(fresh, folder) {
  try {
    renameSync(fresh, folder);
  } catch (error) {
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST" && error.code !== "ENOTDIR") throw error;
    const old = `${fresh}.old`;
    renameSync(folder, old);
    renameSync(fresh, folder);
    rmSync(old, { recursive: true, force: true });
  }
}

function isWhole(folder, list) {
  return isOurs(folder) && list.every((entry) => isSame(path.join(folder, entry.name), entry));
}

function isSame(file, { size, sha256 }) {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size === size && hash(readFileSync(file)) === sha256;
}

/** Windows has no such modes; there the folder of the user's own data is private already. */
function isOurs(folder) {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return false;
  return process.platform === "win32" || (found.uid === process.getuid() && (found.mode & 0o077) === 0);
}

module.exports = { pack, unpack };
