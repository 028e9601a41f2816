/** For tests: a real git repository with a home folder beside it, and worktrees of it. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openSqlite, type SqliteStore } from "../../store/sqlite/store.ts";
import { Worktrees } from "./worktrees.ts";

const IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgSign=false"];

export interface TestRepository {
  top: string;
  home: string;
  store: SqliteStore;
  worktrees: Worktrees;
  git(...args: string[]): string;
  write(path: string, text: string): void;
  read(path: string): string | undefined;
  commit(message?: string): void;
  /** Everything that a person would see: files with their text, the status, the index, the stash, the branches. */
  seen(): object;
  /** Folders of worktrees that exist, and those that git knows. */
  left(): { folders: string[]; known: string[] };
  close(): Promise<void>;
}

export function makeRepository({ isEmpty = false }: { isEmpty?: boolean } = {}): TestRepository {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "retinue-worktrees-")));
  const top = join(base, "project");
  const home = join(base, "home");
  for (const folder of [top, home]) mkdirSync(folder);
  const git = (...args: string[]) =>
    execFileSync("git", [...IDENTITY, ...args], { cwd: top, stdio: "pipe", encoding: "utf8" });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), text);
  };
  const commit = (message = "next") => {
    git("add", "--all");
    git("commit", "--quiet", "--message", message);
  };
  git("init", "--quiet", "--initial-branch=main");
  if (!isEmpty) {
    write("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
    write("src/b.txt", "b\n");
    write(".gitignore", "*.log\nbuild/\n");
    commit("first");
  }
  const store = openSqlite({ path: join(home, "retinue.db") });
  return {
    top,
    home,
    store,
    worktrees: new Worktrees({ home, documents: store.documents }),
    git,
    write,
    read: (path) => (existsSync(join(top, path)) ? readFileSync(join(top, path), "utf8") : undefined),
    commit,
    seen: () => ({
      files: filesIn(top),
      status: git("status", "--porcelain", "--untracked-files=all"),
      index: git("ls-files", "--stage"),
      stash: git("stash", "list"),
      branches: git("for-each-ref", "refs/heads"),
    }),
    left: () => ({
      folders: existsSync(join(home, "worktrees")) ? readdirSync(join(home, "worktrees")) : [],
      known:
        git("worktree", "list", "--porcelain")
          .match(/^worktree .*$/gm)
          ?.slice(1) ?? [],
    }),
    async close() {
      await store.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

function filesIn(top: string): Record<string, string> {
  const entries = readdirSync(top, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const own = files.filter((file) => !file.startsWith(join(top, ".git/")));
  return Object.fromEntries(own.sort().map((file) => [file.slice(top.length + 1), readFileSync(file, "utf8")]));
}
