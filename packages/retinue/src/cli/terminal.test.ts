import { PassThrough } from "node:stream";
import { call, say } from "@retinue/sdk/testing";
import { describe, expect, test } from "vitest";
import { openTerminal, type TerminalStreams } from "./terminal.ts";
import { canHaveTerminal, modelWorld } from "./test-world.ts";

/** One screen for both streams, as a terminal has it, with what was written in order. */
function screen({ isTTY = true } = {}): {
  streams: TerminalStreams;
  written: () => string;
  type: (text: string) => void;
  end: () => void;
} {
  const all = new PassThrough();
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  let text = "";
  all.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const out = Object.assign(all, { isTTY, columns: 40, rows: 10 });
  // The streams of a process have more than is used here.
  const streams = { stdin, stdout: out, stderr: out, env: { TERM: "xterm" } } as unknown as TerminalStreams;
  return { streams, written: () => text, type: (typed) => void stdin.write(typed), end: () => void stdin.end() };
}

const ERASE_ONE = "\r\u001b[1A\u001b[0J";

describe("a terminal", () => {
  test("takes moving lines away before it prints anything else, and puts them back below", async () => {
    const { streams, written } = screen();
    const terminal = openTerminal(streams);
    terminal.status(["tree"]);
    terminal.note("line");
    terminal.out("an answer\n");
    terminal.status([]);
    await terminal.flush();
    expect(written()).toBe(`tree\n${ERASE_ONE}line\ntree\n${ERASE_ONE}an answer\ntree\n${ERASE_ONE}`);
  });

  test("shows no moving lines in the middle of an answer", async () => {
    const { streams, written } = screen();
    const terminal = openTerminal(streams);
    terminal.out("half ");
    terminal.status(["tree"]);
    terminal.out("done\n");
    await terminal.flush();
    expect(written()).toBe("half done\ntree\n");
  });

  test("keeps what comes while a question stands until it is answered", async () => {
    const { streams, written, type } = screen();
    const terminal = openTerminal(streams);
    const answer = terminal.ask("Sure? ");
    terminal.note("meanwhile");
    type("yes\n");
    expect(await answer).toBe("yes");
    await terminal.flush();
    expect(written()).toBe("Sure? meanwhile\n");
  });

  test("gives up a question when it is told to", async () => {
    const { streams } = screen();
    const stop = new AbortController();
    const answer = openTerminal(streams).ask("Sure? ", { signal: stop.signal });
    stop.abort();
    expect(await answer).toBeUndefined();
  });

  test("takes an end of the input as no answer, to this question and to every later one", async () => {
    const { streams, end } = screen();
    const terminal = openTerminal(streams);
    const first = terminal.ask("Sure? ");
    end();
    expect(await first).toBeUndefined();
    expect(await terminal.ask("Really? ")).toBeUndefined();
  });

  test("takes an input that fails as no answer", async () => {
    const { streams } = screen();
    const terminal = openTerminal(streams);
    const first = terminal.ask("Sure? ");
    streams.stdin.destroy(new Error("read EIO"));
    expect(await first).toBeUndefined();
    expect(await terminal.ask("Really? ")).toBeUndefined();
  });

  test("keeps what was typed ahead for the next question, letters in pieces included", async () => {
    const { streams, type } = screen();
    const terminal = openTerminal(streams);
    const [head, tail] = [Buffer.from("y\nzwö").subarray(0, 5), Buffer.from("zwö").subarray(3)];
    streams.stdin.push(head);
    expect(await terminal.ask("One? ")).toBe("y");
    const second = terminal.ask("Two? ");
    streams.stdin.push(tail);
    type("lf\r\n");
    expect(await second).toBe("zwölf");
  });

  test("never shows more moving lines than it has rows", async () => {
    const { streams, written } = screen();
    const terminal = openTerminal(streams);
    terminal.status(Array.from({ length: 50 }, (_, at) => `line ${at}`));
    await terminal.flush();
    expect(written().trimEnd().split("\n")).toHaveLength(8);
    expect(written()).toContain("… 43 more");
  });

  test("is not steered by what others wrote, in answers, lines and questions; only our own drawing is", async () => {
    const { streams, written, type } = screen();
    const terminal = openTerminal(streams);
    terminal.out("a\u001b[2Jb\u0007\tc\r\n");
    terminal.note("\u001b[8mhidden\u001b]0;title\u0007");
    terminal.note("· \u001b[8mhidden", { isDim: true });
    terminal.note("\u001b[1mours\u001b[0m", { isDrawn: true });
    terminal.out("\u001b[1mours\u001b[0m\n", { isDrawn: true });
    const answer = terminal.ask("Sure\u202e? ");
    type("yes\n");
    await answer;
    await terminal.flush();
    const [esc, dim] = ["‹U+001B›", (text: string) => `\u001b[2m${text}\u001b[0m`];
    expect(written().split("\n")).toEqual([
      `a${esc}[2Jb‹U+0007›\tc`,
      `${esc}[8mhidden${esc}]0;title‹U+0007›`,
      dim(`· ${esc}[8mhidden`),
      "\u001b[1mours\u001b[0m",
      "\u001b[1mours\u001b[0m",
      "Sure‹U+202E›? ",
    ]);
  });

  test("that is a file gets answers as they are, and lines without anything hidden", async () => {
    const { streams, written } = screen({ isTTY: false });
    const terminal = openTerminal(streams);
    terminal.out('{"text":"a\u202eb"}\n');
    terminal.note("a\u001b[2Jb", { isDim: true });
    await terminal.flush();
    expect(written()).toBe('{"text":"a\u202eb"}\na‹U+001B›[2Jb\n');
  });
});

test.runIf(canHaveTerminal)(
  "on a real terminal reading is not asked about, a permission is given, and one is refused in words",
  async () => {
    const bash = (command: string) => call("bash", { command, description: "try" });
    await using world = await modelWorld([
      bash("cat note.txt | head -1"),
      bash("printf granted"),
      bash("rm note.txt"),
      say("All done."),
    ]);
    world.put("note.txt", "only read\n");
    const running = world.start(["-p", "go"], { terminal: { columns: 80, rows: 24 }, staysOpen: true });
    let shown = "";
    let answered = 0;
    running.process.stdout?.on("data", (text: string) => {
      shown += text;
      const questions = shown.split("Allow?").length - 1;
      if (questions > answered) running.process.stdin?.write(["y\n", "no, keep it\n"][answered++] ?? "n\n");
    });
    const { code } = await running.ended;
    expect(shown).not.toContain("wants to run cat");
    expect(shown).toContain("The agent wants to run printf granted");
    expect(shown).toContain("always: exactly this line in this session");
    expect(shown).toContain("All done.");
    const results = world.model.requests.at(-1)?.results ?? [];
    expect(results[0]).toContain("only read");
    expect(results[1]).toContain("granted");
    expect(results[2]).toContain("The user did not allow this call and said: keep it");
    expect(code).toBe(0);
  },
);

test.runIf(canHaveTerminal)(
  "after an end of input at a question every later one counts as unanswered, and the run still answers",
  async () => {
    const make = (name: string) => call("bash", { command: `mkdir ${name}`, description: "try" });
    await using world = await modelWorld([make("one"), make("two"), say("Nobody allowed it.")]);
    const running = world.start(["-p", "go"], { terminal: { columns: 80, rows: 24 }, staysOpen: true });
    let shown = "";
    let isEnded = false;
    running.process.stdout?.on("data", (text: string) => {
      shown += text;
      if (!shown.includes("Allow?") || isEnded) return;
      isEnded = true;
      running.process.stdin?.write("\u0004"); // Ctrl-D: the terminal stays open.
    });
    const { code } = await running.ended;
    expect(shown).toContain("bash mkdir one · nobody answered");
    expect(shown).toContain("bash mkdir two · nobody answered");
    expect(shown).toContain("Nobody allowed it.");
    expect(code).toBe(0);
  },
);
