/** The processes that tests of one run have started and that nobody owns any more, found by a mark in their environment. */
import { readdirSync, readFileSync } from "node:fs";

/** Not one of ours: tests remove those from what they start. */
export const MARK = "TEST_RUN_MARK";

export interface Left {
  pid: number;
  command: string;
}

/** Those below this process are not counted: whoever started them is still there to end them. */
export function startedWith(mark: string): Left[] {
  const parents = new Map<number, number>();
  const marked: Left[] = [];
  for (const pid of readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)) {
    const stat = textOf(pid, "stat");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    parents.set(pid, Number(parent));
    if (state === "Z" || !textOf(pid, "environ").split("\0").includes(`${MARK}=${mark}`)) continue;
    marked.push({ pid, command: textOf(pid, "cmdline").replaceAll("\0", " ").slice(0, 200) });
  }
  const isOurs = (pid: number): boolean => pid === process.pid || (pid > 1 && isOurs(parents.get(pid) ?? 0));
  return marked.filter(({ pid }) => !isOurs(pid));
}

function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // It has ended meanwhile, or belongs to somebody else.
  }
}
