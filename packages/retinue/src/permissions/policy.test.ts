import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PermissionRequest } from "@retinue/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqlite } from "../store/sqlite/store.ts";
import { linkTarget } from "../tools/files/file-path.ts";
import { askForAll, decide, parseRule } from "./policy.ts";
import { Rules } from "./rules.ts";

let root = "";
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "policy-")));
  for (const name of ["work", "outside"]) mkdirSync(join(root, name));
  writeFileSync(join(root, "outside/secret"), "s");
  writeFileSync(join(root, "work/plain"), "p");
  symlinkSync(join(root, "outside/secret"), join(root, "work/link"));
  symlinkSync(join(root, "work"), join(root, "alias"));
});
afterAll(() => rmSync(root, { recursive: true }));

const reading = (name: string): PermissionRequest => {
  const path = join(root, name);
  return { kind: "read", path, resolvedPath: linkTarget(path), intention: "" };
};
const writing = (name: string): PermissionRequest => {
  const fileName = join(root, name);
  return {
    kind: "write",
    fileName,
    resolvedPath: linkTarget(fileName),
    diff: "",
    intention: "",
    canOfferSessionApproval: true,
  };
};

describe("a link", () => {
  const policy = () => ({ ...askForAll, approveReads: true, directories: [join(root, "work")] });

  test("inside an allowed folder does not allow a target outside it", () => {
    expect(decide(reading("work/plain"), policy()).type).toBe("allow");
    expect(decide(reading("work/link"), policy()).type).toBe("ask");
    const approvals = [{ approval: { kind: "write" as const }, scope: "session" as const }];
    expect(decide(writing("work/plain"), { ...policy(), approvals }).type).toBe("allow");
    expect(decide(writing("work/link"), { ...policy(), approvals }).type).toBe("ask");
  });

  test("is allowed by a rule only when the rule covers link and target, and denied when it covers one of them", () => {
    const within = (folder: string) => parseRule(`read(${join(root, folder)})`);
    expect(decide(reading("work/link"), { ...askForAll, approved: [within("work")] }).type).toBe("ask");
    expect(decide(reading("work/link"), { ...askForAll, approved: [within("")] }).type).toBe("allow");
    expect(decide(reading("work/link"), { ...policy(), denied: [within("outside")] }).type).toBe("deny");
  });

  test("to the working folder itself is that folder", async () => {
    const store = openSqlite({ path: ":memory:" });
    const keeping = { documents: store.documents, keep: () => undefined, warn: () => undefined };
    const rules = await Rules.load({ workingDirectory: join(root, "alias") }, keeping);
    rules.change({ approveReads: true, directories: [join(root, "alias")] });
    expect(rules.decide(reading("alias/plain")).type).toBe("allow");
    expect(rules.decide(reading("alias/link")).type).toBe("ask");
    await store.close();
  });
});

test("a relative path in a rule is relative to the working folder", () => {
  const policy = { ...askForAll, directories: ["/project"], approved: [{ kind: "write", argument: "src" }] };
  const write = (fileName: string) =>
    ({ kind: "write", fileName, diff: "", intention: "", canOfferSessionApproval: true }) satisfies PermissionRequest;
  expect(decide(write("/project/src/a.ts"), policy).type).toBe("allow");
  expect(decide(write("/project/other/a.ts"), policy).type).toBe("ask");
});
