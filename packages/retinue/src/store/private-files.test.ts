import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { homeTrouble, prepareHome } from "./private-files.ts";

let root: string;
let home: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "retinue-private-"));
  home = join(root, "home");
  mkdirSync(home);
  chmodSync(home, 0o755);
});
afterEach(() => rmSync(root, { recursive: true }));

function put(path: string, mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "words");
  chmodSync(path, mode);
  return path;
}
const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8);

describe("a home that others can read", () => {
  test("is closed with everything in it that is ours, and keeps the owner's rights", () => {
    const files = ["retinue.db", "retinue.db-wal", "daemon.log", "daemon.log.1", "config.json", "logs/one.log"];
    for (const name of files) put(join(home, name));
    const script = put(join(home, "session-state/s/files/run.sh"), 0o755);
    prepareHome(home);
    for (const name of files) expect([name, modeOf(join(home, name))]).toEqual([name, "600"]);
    expect(modeOf(script)).toBe("700");
    for (const name of ["", "logs", "session-state", "session-state/s", "session-state/s/files"])
      expect([name, modeOf(join(home, name))]).toEqual([name, "700"]);
    expect(homeTrouble(home)).toBeUndefined();
  });

  test("keeps the user's own files as they are", () => {
    const agent = put(join(home, "agents/mine.agent.md"));
    prepareHome(home);
    expect([modeOf(agent), modeOf(dirname(agent))]).toEqual(["644", "755"]);
  });

  test("changes nothing outside through a link, be it a file, a folder or a second name", () => {
    const outside = put(join(root, "outside/file"));
    const twice = put(join(root, "outside/twice"));
    symlinkSync(outside, join(home, "retinue.db"));
    symlinkSync(dirname(outside), join(home, "logs"));
    put(join(home, "session-state/s/own"));
    symlinkSync(dirname(outside), join(home, "session-state/s/link"));
    linkSync(twice, join(home, "session-state/s/twice"));
    prepareHome(home);
    expect([modeOf(outside), modeOf(dirname(outside)), modeOf(twice)]).toEqual(["644", "755", "644"]);
    expect(modeOf(join(home, "session-state/s/own"))).toBe("600");
  });

  test("is closed where a link of the user leads", () => {
    const link = join(root, "link");
    symlinkSync(home, link);
    const file = put(join(home, "retinue.db"));
    prepareHome(link);
    expect([modeOf(home), modeOf(file)]).toEqual(["700", "600"]);
  });

  test("is described with the command that closes it", () => {
    put(join(home, "retinue.db"));
    expect(homeTrouble(home)).toEqual({
      what: `others can read ${home}, ${join(home, "retinue.db")}`,
      cure: `Run: chmod -R go-rwx ${home} ${join(home, "retinue.db")}`,
    });
  });
});

test("a folder that other programs use too is left open, what is ours in it is closed, and the trouble is named", () => {
  chmodSync(home, 0o1777);
  const file = put(join(home, "retinue.db"));
  prepareHome(home);
  expect(statSync(home).mode & 0o7777).toBe(0o1777);
  expect(modeOf(file)).toBe("600");
  expect(homeTrouble(home)?.cure).toContain("RETINUE_HOME");
});

test("a home of another user is named, and nothing in it is changed", () => {
  const file = put(join(home, "retinue.db"));
  const someone = statSync(home).uid + 1;
  const trouble = {
    what: expect.stringContaining("belongs to another user"),
    cure: expect.stringContaining("RETINUE_HOME"),
  };
  expect(prepareHome(home, someone)).toEqual(trouble);
  expect(homeTrouble(home, someone)).toEqual(trouble);
  expect([modeOf(home), modeOf(file)]).toEqual(["755", "644"]);
});

test("a home that is in order is not written to", () => {
  prepareHome(home);
  const file = put(join(home, "session-state/s/open"));
  const before = statSync(home).ctimeMs;
  chmodSync(join(home, "session-state"), 0o700);
  prepareHome(home);
  expect([statSync(home).ctimeMs, modeOf(file), readFileSync(file, "utf8")]).toEqual([before, "644", "words"]);
});
