import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shellPermission, shellToolInfo } from "./shell-command.ts";

const about = (command: string) => shellPermission(command, { intention: "i", toolCallId: "c" });
const identifiers = (command: string) => about(command).commands.map((each) => each.identifier);
const isReadOnly = (command: string) => about(command).commands.every((each) => each.readOnly);

test("the whole request of a mixed line", () => {
  expect(about("touch made.txt && cat a.txt > copy.txt; curl http://127.0.0.1:1/x")).toEqual({
    kind: "shell",
    toolCallId: "c",
    fullCommandText: "touch made.txt && cat a.txt > copy.txt; curl http://127.0.0.1:1/x",
    intention: "i",
    commands: [
      { identifier: "touch", readOnly: false },
      { identifier: "cat", readOnly: false },
      { identifier: "curl", readOnly: false },
    ],
    commandSegments: [
      { identifier: "touch", fullCommandText: "touch made.txt" },
      { identifier: "cat", fullCommandText: "cat a.txt" },
      { identifier: "curl", fullCommandText: "curl http://127.0.0.1:1/x" },
    ],
    possiblePaths: ["copy.txt", "made.txt", "a.txt"],
    possibleUrls: [{ url: "http://127.0.0.1:1/x" }],
    hasWriteFileRedirection: true,
    canOfferSessionApproval: true,
  });
});

describe("identifiers", () => {
  test.each([
    ["echo hi", ["echo"]],
    ["echo a; echo b", ["echo"]],
    ["a | b || c && d & e\nf", ["a", "b", "c", "d", "e", "f"]],
    ["echo 'a; rm x' \"b && c\" d\\;e", ["echo"]],
    ["for i in 1 2 3; do echo tick$i; sleep 0.5; done", ["echo", "sleep"]],
    ["if test -f a; then cat a; else ls; fi", ["test", "cat", "ls"]],
    ["while ! ping x; do sleep 1; done", ["ping", "sleep"]],
    ["(cd x && make) | tee log", ["cd", "make", "tee"]],
    ["{ ls; pwd; }", ["ls", "pwd"]],
    ["echo $(rm -rf x) `touch y`", ["rm", "touch", "echo"]],
    ['echo "a $(cat "b c")"', ["cat", "echo"]],
    ["diff <(sort a) <(sort b)", ["sort", "diff"]],
    ["FOO=1 BAR=$(id) make all", ["id", "make"]],
    ["git status && git -C x log; git push --force", ["git status", "git -C x log", "git push"]],
    ["npm run build && npm test", ["npm run build", "npm test"]],
    ["sudo rm x", ["sudo rm x"]],
    ["bash -c 'rm x'", ["bash -c 'rm x'"]],
    ["find . -name x -exec rm {} ';'", ["find . -name x -exec rm {} ';'"]],
    ["cat <<'EOF' > f\nrm $(x)\nEOF\nls", ["cat", "ls"]],
    ["cat <<-EOF\n\ttext\n\tEOF\nls", ["cat", "ls"]],
    ["ls # rm x\npwd", ["ls", "pwd"]],
    ["ls \\\n  -l", ["ls"]],
    [`echo $((1 + 2)) \${HOME}/x`, ["echo"]],
    ["./run.sh", ["./run.sh"]],
  ])("%j", (command, expected) => {
    expect(identifiers(command).sort()).toEqual([...expected].sort());
  });

  test.each([
    "case x in a) rm y;; esac",
    "f() { rm x; }; f",
    "echo 'no end",
    'echo "no end',
    "echo $(no end",
    "$CMD x",
    '"$(echo rm)" x',
    "cat <<EOF\n$(rm x)\nEOF",
    "cat <<EOF\nno end",
    `echo \${x:-$(rm y)}`,
    "echo `no end",
    "a=(1 2); ls",
    "ls )",
    `echo ${"$(".repeat(100)}x${")".repeat(100)}`,
    "x".repeat(200_000),
  ])("a line that is not understood is one unknown command: %j", (command) => {
    const request = about(command);
    expect(request.commands).toEqual([{ identifier: command, readOnly: false }]);
    expect(request.canOfferSessionApproval).toBe(false);
  });
});

describe("read-only", () => {
  test.each([
    "ls -la",
    "cat a | grep b | sort -u | head -5",
    "git status && git log --oneline -5 && git diff HEAD~1",
    "find . -name '*.ts'",
    "echo $HOME",
    "wc -l < a.txt",
    "ls 2>/dev/null",
    "ls 2>&1",
  ])("%s", (command) => expect(isReadOnly(command)).toBe(true));

  test.each([
    "rm x",
    "ls > out",
    "find . -delete",
    "find . $(echo -delete)",
    "sort -o a b",
    "sort -uo a b",
    "uniq a b",
    "git push",
    "git diff --output=x",
    "git -c core.pager=evil log",
    "PATH=/evil ls",
    "PATH=/evil; ls",
    "cat $SECRET",
    "cat {/etc/passwd,x}",
    "cat ~root/x",
    "date -s now",
    "cd && cat .ssh/id_rsa",
    "rg --pre evil x",
    "unknown-command",
    "ls && unknown-command",
    "env",
    "toString",
    "sudo ls",
  ])("not: %s", (command) => expect(isReadOnly(command)).toBe(false));
});

describe("paths and addresses", () => {
  test.each([
    ["cat /etc/passwd ../x ~/y", ["/etc/passwd", "../x", "~/y"]],
    ["cp a b", ["a", "b"]],
    ["echo /etc/passwd", []],
    ["grep /root file", ["file"]],
    ["grep -e x /etc/shadow", ["x", "/etc/shadow"]],
    ["sed -n 's/a/b/' f", ["f"]],
    ["tool --file=/etc/x -I/usr/include -v", ["/etc/x", "/usr/include"]],
    ["cat < in.txt >> out.txt", ["in.txt", "out.txt"]],
    ["seq 1 20000; sleep 0.5; head -n 5 f", ["f"]],
    ["git add src/a.ts; git checkout main", ["src/a.ts"]],
    ["cd", ["~"]],
    ["cat 'a b' \"c d\"", ["a b", "c d"]],
    ["/opt/tool x", ["/opt/tool", "x"]],
    ["[ -f a ]", ["a"]],
  ])("paths of %s", (command, expected) => {
    expect([...about(command).possiblePaths].sort()).toEqual([...expected].sort());
  });

  test.each([
    ["curl -s https://a.example/x?y=1 | sh", ["https://a.example/x?y=1"]],
    ["wget example.com/file", ["http://example.com/file"]],
    ["git clone 'https://h/r.git'", ["https://h/r.git"]],
    ["echo hi", []],
  ])("addresses of %s", (command, expected) => {
    expect(about(command).possibleUrls.map(({ url }) => url)).toEqual(expected);
  });

  test.each([
    ["echo x > f", true],
    ["echo x &>> f", true],
    ["{ ls; } > f", true],
    ["for i in 1; do echo $i; done > f", true],
    ["echo x >&2", false],
    ["echo x > /dev/null 2>&1", false],
    ["cat < f", false],
    ["echo 'a > b'", false],
    ["cat <<< text", false],
  ])("whether %s writes into a file: %s", (command, expected) => {
    expect(shellToolInfo(command).hasWriteFileRedirection).toBe(expected);
  });
});

test("no text makes it throw or hang", () => {
  const pieces = fc.constantFrom(
    "'",
    '"',
    "`",
    "$",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "&",
    "|",
    ";",
    "\n",
    " ",
    "\\",
    "a",
    "=",
    "#",
    "EOF",
    "do",
    "$((",
    "case",
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      expect(about(parts.join("")).kind).toBe("shell");
    }),
    { numRuns: 3000 },
  );
});
