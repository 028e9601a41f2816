import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { unpack } from "./unpack.ts";

let root: string;
let inside: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "retinue-unpack-"));
  inside = join(root, "outer/inside");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Entry {
  name: string;
  kind?: string;
  content?: string;
  /** What the head says, if it lies. */
  size?: string;
  mode?: string;
  link?: string;
}

/** As the format has it, so that anything can be said in it. */
function entry({ name, kind = "0", content = "", size, mode = "0000644", link = "" }: Entry): Buffer {
  const head = Buffer.alloc(512);
  head.write(name, 0, 100);
  head.write(`${mode}\0`, 100);
  head.write(`${size ?? Buffer.byteLength(content).toString(8).padStart(11, "0")}\0`, 124);
  head.write("        ", 148);
  head.write(kind, 156);
  head.write(link, 157);
  head.write("ustar\u000000", 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(content) / 512) * 512);
  body.write(content);
  return Buffer.concat([head, body]);
}

const END = Buffer.alloc(1024);
const tarOf = (...entries: Entry[]): Buffer => Buffer.concat([...entries.map(entry), END]);
const pax = (key: string, value: string): Entry => {
  const length = (digits: number) => digits + key.length + Buffer.byteLength(value) + 3;
  const most = String(length(String(length(1)).length));
  return { name: "pax", kind: "x", content: `${most} ${key}=${value}\n` };
};

function unpacked(bytes: Buffer): number {
  const file = join(root, "x.tar");
  writeFileSync(file, bytes);
  return unpack(file, inside);
}

/** Paths of everything that lies outside of where it belongs. */
const escaped = (): string[] => [
  ...readdirSync(root).filter((name) => !/^(x\.tar|outer)$/.test(name)),
  ...(existsSync(join(root, "outer")) ? readdirSync(join(root, "outer")) : []).filter((name) => name !== "inside"),
];

test.each(["gnu", "ustar", "pax", "v7"])(
  "what tar packs as %s is unpacked, with long names and without its other rights",
  (format) => {
    const long = format === "v7" ? "short" : `${"folder/".repeat(20)}${"n".repeat(90)}.md`;
    mkdirSync(join(root, "from", long, ".."), { recursive: true });
    writeFileSync(join(root, "from", long), "text");
    writeFileSync(join(root, "from/run.sh"), "#!/bin/sh\n", { mode: 0o6777 });
    writeFileSync(join(root, "from/empty"), "");
    execFileSync("tar", ["czf", "x.tgz", `--format=${format}`, "-C", "from", "."], { cwd: root });
    expect(unpack(join(root, "x.tgz"), inside)).toBe(0);
    expect(readFileSync(join(inside, long), "utf8")).toBe("text");
    expect(readFileSync(join(inside, "empty"), "utf8")).toBe("");
    expect(statSync(join(inside, "run.sh")).mode & 0o7777).toBe(0o700);
    expect(statSync(join(inside, long)).mode & 0o7777).toBe(0o600);
  },
);

describe("a hostile tarball", () => {
  const names = ["../escaped", "/escaped", "a/../../escaped", "..", "a\\..\\..\\escaped", "C:escaped", "."];
  test.each([
    ...names.map((name): [string, Entry[]] => [name, [{ name, content: "x" }]]),
    ...names.map((name): [string, Entry[]] => [
      `${name} in an extended head`,
      [pax("path", name), { name: "a", content: "x" }],
    ]),
    ...names.map((name): [string, Entry[]] => [
      `${name} as a long name`,
      [
        { name: "L", kind: "L", content: name },
        { name: "a", content: "x" },
      ],
    ]),
  ])("with the name %s is refused", (_, entries) => {
    expect(() => unpacked(tarOf(...entries))).toThrow("leads out of the folder");
    expect(escaped()).toEqual([]);
  });

  test("brings no links, devices, pipes or files with holes, and nothing is written through a link", () => {
    const others = ["1", "2", "3", "4", "6", "S", "V", "Z"].map((kind) => ({
      name: `kind-${kind}`,
      kind,
      link: kind === "1" || kind === "2" ? "../.." : "",
    }));
    expect(unpacked(tarOf(...others, { name: "kind-2/escaped", content: "x" }, { name: "f", content: "y" }))).toBe(8);
    expect(readdirSync(inside).sort()).toEqual(["f", "kind-2"]);
    expect(statSync(join(inside, "kind-2")).isDirectory()).toBe(true);
    expect(escaped()).toEqual([]);
  });

  test.each<[string, () => Buffer, string]>([
    ["is cut off", () => entry({ name: "f", size: "00000010000" }), "cannot be read"],
    ["has a size beyond any number", () => tarOf(pax("size", "9".repeat(30)), { name: "f" }), "cannot be read"],
    ["has a wrong sum", () => Buffer.concat([entry({ name: "f" }).fill(1, 0, 1), END]), "cannot be read"],
    ["is no tarball", () => Buffer.from("hello ".repeat(500)), "cannot be read"],
    ["is nothing", () => Buffer.alloc(0), "cannot be read"],
    [
      "is gzip that breaks off",
      () => gzipSync(tarOf({ name: "f", content: "x".repeat(5000) })).subarray(0, 60),
      "cannot be read",
    ],
    ["is packed twice", () => gzipSync(gzipSync(tarOf({ name: "f" }))), "gzip or not at all"],
    ["is gzip that becomes much more", () => gzipSync(Buffer.alloc(65 * 1024 * 1024)), "too large"],
    [
      "has too long a name",
      () => tarOf({ name: "L", kind: "L", content: "n".repeat(1024 * 1024 + 1) }, { name: "f" }),
      "too long",
    ],
    [
      "has too many files",
      () => gzipSync(Buffer.concat(Array(5001).fill(entry({ name: "f" })))),
      "more than 5000 files",
    ],
    [
      "has too many folders",
      () => gzipSync(Buffer.concat(Array(100_000).fill(entry({ name: "d/", kind: "5" })))),
      "10000 entries",
    ],
    [
      "has a file for a folder",
      () => tarOf({ name: "a", content: "x" }, { name: "a/b", content: "x" }),
      "cannot be read",
    ],
  ])("that %s is refused", (_, bytes, words) => {
    expect(() => unpacked(bytes())).toThrow(words);
    expect(escaped()).toEqual([]);
  });
});
