import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkTarget } from "../tools/files/file-path.ts";
import { askForAll, decide, parseRule } from "./policy.ts";

let root = "";
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "path-rules-")));
  for (const name of ["work/src", "work/private", "outside"]) mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, "outside/secret"), "s");
  symlinkSync(join(root, "outside"), join(root, "work/way-out"));
  symlinkSync(join(root, "outside/not-yet"), join(root, "work/dangling"));
  symlinkSync("circle", join(root, "work/circle"));
});
afterAll(() => rmSync(root, { recursive: true }));

const one = (path: string) => ({ path, resolvedPath: linkTarget(path) });
const reading = (...paths: [string, ...string[]]) => {
  const [first, ...others] = paths;
  const request = { kind: "read" as const, intention: "", ...one(first) };
  return others.length === 0 ? request : { ...request, path: "/", resolvedPath: undefined, paths: paths.map(one) };
};
const work = (name: string) => join(root, "work", name);
const within = (rules: { approved?: string[]; denied?: string[] }) => ({
  ...askForAll,
  approveReads: rules.approved === undefined,
  approved: (rules.approved ?? []).map(parseRule),
  denied: (rules.denied ?? []).map(parseRule),
  directories: [join(root, "work")],
});

describe("several paths", () => {
  test("are allowed when each is, whatever folder they have in common", () => {
    expect(decide(reading(work("src"), work("private")), within({})).type).toBe("allow");
    expect(decide(reading(work("src"), join(root, "outside")), within({})).type).toBe("ask");
    expect(decide(reading(work("src"), work("way-out")), within({})).type).toBe("ask");
  });

  test("are denied when one is", () => {
    const policy = within({ denied: ["read(private)"] });
    expect(decide(reading(work("src"), work("private/a")), policy).type).toBe("deny");
    expect(decide(reading(work("src"), work("src/a")), policy).type).toBe("allow");
  });
});

describe("a deny rule", () => {
  const denied = (rule: string, path: string) => decide(reading(path), within({ denied: [rule] })).type === "deny";

  test.each(["private", "./private/", "src/../private", "PRIVATE", "private/."])(
    "written as %j covers the folder",
    (rule) => {
      expect(denied(`read(${rule})`, work("private/a"))).toBe(true);
      expect(denied(`read(${rule})`, work("private"))).toBe(true);
      expect(denied(`read(${rule})`, work("private-not"))).toBe(false);
    },
  );

  test.each(["Private/a", "PRIVATE/A"])("covers %s, because a file system may not distinguish case", (name) => {
    expect(denied("read(private)", work(name))).toBe(true);
  });

  test("covers both Unicode forms of a name", () => {
    expect(denied("read(\u00fcbung)", work("u\u0308bung/a"))).toBe(true);
    expect(denied("read(u\u0308bung)", work("\u00fcbung/a"))).toBe(true);
  });

  test("covers a path below the home folder", () => {
    expect(denied("read(~/.ssh)", join(homedir(), ".ssh/id"))).toBe(true);
    expect(denied("write(~)", work("a"))).toBe(false);
  });

  test("covers what its own path leads to, and what leads to it", () => {
    expect(denied("read(way-out)", join(root, "outside/secret"))).toBe(true);
    expect(denied(`read(${root}/outside)`, work("way-out/secret"))).toBe(true);
    expect(denied(`read(${root}/outside)`, work("dangling"))).toBe(true);
  });

  test.runIf(process.platform === "linux")("covers the same file by way of /proc", () => {
    expect(denied(`read(${root}/outside)`, `/proc/self/root${root}/outside/secret`)).toBe(true);
    expect(denied("read(/etc)", "/proc/thread-self/root/etc/hosts")).toBe(true);
  });

  test("that leads in a circle covers its own path", () => {
    expect(denied("read(circle)", work("circle/a"))).toBe(true);
  });
});

describe("an allow rule", () => {
  const allowed = (rule: string, path: string) => decide(reading(path), within({ approved: [rule] })).type === "allow";

  test("for a link does not cover what the link leads to", () => {
    expect(allowed("read(way-out)", work("way-out/secret"))).toBe(false);
    expect(allowed("read(dangling)", work("dangling"))).toBe(false);
  });

  test("keeps to the case in which it is written", () => {
    expect(allowed("read(src)", work("src/a"))).toBe(true);
    expect(allowed("read(src)", work("SRC/a"))).toBe(false);
  });

  test("covers a path below the home folder", () => {
    expect(allowed("read(~/notes)", join(homedir(), "notes/a"))).toBe(true);
  });
});
