/** The built-in tools end to end: real files, real processes, a real database. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { calls, type ModelCall, say } from "../support/model-answers.ts";
import { startClient, type World } from "../support/runtime.ts";
import { openTalk, type Talk } from "../support/talk.ts";

let world: World;
beforeAll(async () => {
  world = await startClient();
});
afterAll(() => world[Symbol.asyncDispose]());

let folder: string;
let count = 0;
beforeEach(async () => {
  folder = path.join(world.folder, `case-${count++}`);
  await mkdir(path.join(folder, "sub"), { recursive: true });
  await writeFile(path.join(folder, "poem.txt"), "roses are red\nviolets are blue\nroses again\n");
  await writeFile(path.join(folder, "sub", "code.ts"), "export const answer = 42;\n");
});

const at = (name: string) => path.join(folder, name);

interface Used {
  success: boolean;
  /** What the model read. */
  text: string;
  error: string;
  event: Talk["record"]["events"][number]["data"];
}

/** Runs these calls one after the other in one session. */
async function use(...list: ModelCall[]): Promise<Used[]> {
  await using talk = await openTalk(world, { workingDirectory: folder });
  talk.model.script(...list.map((one) => calls([one])), say("done"));
  await talk.ask("go");
  const texts = talk.model.lastRequest.texts("tool");
  return talk.record.all("tool.execution_complete").map(({ data }, index) => ({
    success: data.success,
    text: texts[index] ?? "",
    error: data.error?.message ?? "",
    event: data,
  }));
}

async function useOne(name: string, args: object): Promise<Used> {
  const [used] = await use({ name, args });
  if (!used) throw new Error(`${name} did not end`);
  return used;
}

describe.sequential("view", () => {
  test("shows a file", async () => {
    const { success, text } = await useOne("view", { path: at("poem.txt") });
    expect(success).toBe(true);
    for (const line of ["roses are red", "violets are blue", "roses again"]) expect(text).toContain(line);
  });

  test("shows a range of lines", async () => {
    const { text } = await useOne("view", { path: at("poem.txt"), view_range: [2, 2] });
    expect(text).toContain("violets are blue");
    expect(text).not.toContain("roses are red");
  });

  test("lists a folder", async () => {
    const { text } = await useOne("view", { path: folder });
    expect(text).toContain("poem.txt");
    expect(text).toContain("sub");
  });

  test("fails on what is not there and on a range outside the file", async () => {
    expect((await useOne("view", { path: at("nothing") })).error).toContain("Path does not exist");
    const { success, error } = await useOne("view", { path: at("poem.txt"), view_range: [90, 99] });
    expect(success).toBe(false);
    expect(error).toContain("view_range out of bounds");
  });
});

describe.sequential("create and edit", () => {
  test("create writes a new file and nothing else", async () => {
    const { success, text } = await useOne("create", { path: at("new.txt"), file_text: "fresh\n" });
    expect(success).toBe(true);
    expect(text).toContain("new.txt");
    expect(await readFile(at("new.txt"), "utf8")).toBe("fresh\n");
  });

  test("create fails on a file that exists and in a folder that does not", async () => {
    expect((await useOne("create", { path: at("poem.txt"), file_text: "x" })).error).toContain("Path already exists");
    const { error } = await useOne("create", { path: at("no/such/new.txt"), file_text: "x" });
    expect(error).toContain("Parent directory does not exist");
    expect(await readFile(at("poem.txt"), "utf8")).toContain("roses are red");
    expect(existsSync(at("no"))).toBe(false);
  });

  test("edit replaces a text that occurs once", async () => {
    const args = { path: at("poem.txt"), old_str: "violets are blue", new_str: "violets are violet" };
    expect((await useOne("edit", args)).success).toBe(true);
    expect(await readFile(at("poem.txt"), "utf8")).toBe("roses are red\nviolets are violet\nroses again\n");
  });

  test("edit takes the new text letter by letter", async () => {
    await useOne("edit", { path: at("poem.txt"), old_str: "violets", new_str: "$& $1 $$" });
    expect(await readFile(at("poem.txt"), "utf8")).toContain("$& $1 $$ are blue");
  });

  test("edit fails when the text occurs never or more than once", async () => {
    const edit = (old_str: string) => useOne("edit", { path: at("poem.txt"), old_str, new_str: "x" });
    expect((await edit("tulips")).error).toContain("No match found");
    expect((await edit("roses")).error).toContain("Multiple matches found");
    expect(await readFile(at("poem.txt"), "utf8")).toContain("roses are red");
  });
});

describe.sequential("grep and glob", () => {
  test("grep names the files, shows the lines or counts them", async () => {
    const [files, content, counts] = await use(
      { name: "grep", args: { pattern: "roses", paths: folder, output_mode: "files_with_matches" } },
      { name: "grep", args: { pattern: "roses", paths: folder, output_mode: "content", "-n": true } },
      { name: "grep", args: { pattern: "roses", paths: folder, output_mode: "count" } },
    );
    expect(files?.text).toContain("poem.txt");
    expect(files?.text).not.toContain("roses");
    expect(content?.text).toMatch(/poem\.txt:1:roses are red/);
    expect(counts?.text).toMatch(/poem\.txt:2/);
  });

  test("grep reads in any case, only some files, and says when nothing is found", async () => {
    const [any, some, none] = await use(
      { name: "grep", args: { pattern: "ROSES", paths: folder, "-i": true } },
      { name: "grep", args: { pattern: "answer|roses", paths: folder, glob: "*.ts" } },
      { name: "grep", args: { pattern: "tulips", paths: folder } },
    );
    expect(any?.text).toContain("poem.txt");
    expect(some?.text).toContain("code.ts");
    expect(some?.text).not.toContain("poem.txt");
    expect(none).toMatchObject({ success: true, text: "No matches found." });
  });

  test("a bad expression fails the call", async () => {
    expect(await useOne("grep", { pattern: "(", paths: folder })).toMatchObject({ success: false });
  });

  test("glob finds files by their names", async () => {
    const [found, none] = await use(
      { name: "glob", args: { pattern: "**/*.ts", paths: folder } },
      { name: "glob", args: { pattern: "**/*.rs", paths: folder } },
    );
    expect(found?.text).toContain("code.ts");
    expect(found?.text).not.toContain("poem.txt");
    expect(none?.success).toBe(true);
  });
});

describe.sequential("bash", () => {
  const bash = (command: string, more: object = {}) => ({ name: "bash", args: { command, description: "x", ...more } });

  test("shows the output and the exit code", async () => {
    const [used] = await use(bash("echo out; echo err >&2; pwd"));
    expect(used?.success).toBe(true);
    for (const text of ["out", "err", folder]) expect(used?.text).toContain(text);
    expect(used?.text).toMatch(/<shellId: \S+ completed with exit code 0>/);
  });

  test("another exit code than 0 is still an answer", async () => {
    const [used] = await use(bash("echo before; exit 3"));
    expect(used?.success).toBe(true);
    expect(used?.text).toMatch(/before[\s\S]*completed with exit code 3/);
  });

  test("keeps the shell between calls when it is named", async () => {
    const [, second] = await use(
      bash("cd sub && export KEPT=yes", { shellId: "main" }),
      bash("pwd; echo $KEPT", { shellId: "main" }),
    );
    expect(second?.success).toBe(true);
  });

  test("a command in the background is read until it ends", async () => {
    await using talk = await openTalk(world, { workingDirectory: folder });
    talk.model.reply((request, index) => {
      if (index === 0) return calls([bash("sleep 0.2; echo finished late", { mode: "async", shellId: "bg" })]);
      const read = request.texts("tool").at(-1) ?? "";
      if (read.includes("finished late")) return say("done");
      return calls([{ name: "read_bash", args: { shellId: "bg", delay: 1 } }]);
    });
    await talk.ask("go");
    expect(talk.model.lastRequest.texts("tool").join("\n")).toContain("finished late");
  });

  test("a running command can be listed and stopped", async () => {
    const [, list, stop] = await use(
      bash("sleep 600", { mode: "async", shellId: "long" }),
      { name: "list_bash", args: {} },
      { name: "stop_bash", args: { shellId: "long" } },
    );
    expect(list?.text).toContain("long");
    expect(stop?.success).toBe(true);
  });

  test("output that is too long is cut and kept in a file that is named", async () => {
    const [used] = await use(bash("seq 1 40000"));
    expect(used?.success).toBe(true);
    expect(used?.text.length).toBeLessThan(100_000);
    const named = used?.text.match(/\/[^\s"'`<>()]+/g) ?? [];
    const kept = named.map((name) => name.replace(/[.,:;]$/, "")).find((name) => existsSync(name)) ?? "";
    expect(await readFile(kept, "utf8")).toContain("\n39999\n");
  });

  test("live output is told while the command runs", async () => {
    await using talk = await openTalk(world, { workingDirectory: folder });
    talk.model.script(calls([bash("echo early; sleep 0.3; echo late")]), say("done"));
    await talk.ask("go");
    const outputs = talk.record.all("tool.execution_partial_result").map(({ data }) => data.partialOutput);
    expect(outputs.some((output) => output.includes("early"))).toBe(true);
  });

  test("a command waits for no input", async () => {
    const [used] = await use(bash("cat; echo went on"));
    expect(used?.text).toContain("went on");
  });
});

describe.sequential("sql", () => {
  const sql = (query: string) => ({ name: "sql", args: { description: "x", query } });

  test("keeps tables for the session and shows rows as a table", async () => {
    const [, insert, select, bad] = await use(
      sql("create table birds (name text, legs integer)"),
      sql("insert into birds values ('heron', 2), ('stork', 2)"),
      sql("select name, legs from birds order by name"),
      sql("select * from no_such_table"),
    );
    expect(insert?.text).toMatch(/2 row\(s\) inserted/);
    expect(select?.text).toMatch(/2 row\(s\) returned:[\s\S]*\| *heron *\| *2 *\|/);
    expect(bad).toMatchObject({ success: false });
    expect(bad?.error).toContain("no such table: no_such_table");
  });

  test("todos are there from the start, and changing them is an event", async () => {
    await using talk = await openTalk(world);
    talk.model.script(
      calls([sql("insert into todos (id, title, status) values ('a', 'first', 'pending')")]),
      say("done"),
    );
    await talk.ask("go");
    expect(talk.record.one("tool.execution_complete").data.success).toBe(true);
    await talk.record.until("session.todos_changed");
    const { rows } = await talk.session.rpc.plan.readSqlTodos();
    expect(rows).toMatchObject([{ id: "a", title: "first", status: "pending" }]);
  });
});

describe.sequential("the rest", () => {
  test("web_fetch refuses addresses of this machine", async () => {
    const { success, text } = await useOne("web_fetch", { url: `http://127.0.0.1:${world.model.port}/` });
    expect(success).toBe(false);
    expect(text).not.toContain("no such endpoint");
  });

  test("web_fetch refuses what is no address", async () => {
    expect(await useOne("web_fetch", { url: "not a url" })).toMatchObject({ success: false });
  });

  test("a missing argument is named", async () => {
    const { success, error } = await useOne("view", {});
    expect(success).toBe(false);
    expect(error).toContain('"path": Required');
  });
});
