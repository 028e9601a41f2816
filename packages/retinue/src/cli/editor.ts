/** The person's editor, on one file. */
import { spawn } from "node:child_process";

export const editorOf = (env: Readonly<Record<string, string | undefined>>): string | undefined =>
  env.VISUAL || env.EDITOR || undefined;

/** Resolves with its exit code. The variable is a command line, as for git: it may have options. */
export function runEditor(editor: string, file: string): Promise<number> {
  const [program, args] =
    process.platform === "win32"
      ? ["cmd", ["/c", `${editor} "${file}"`]]
      : ["sh", ["-c", `${editor} "$1"`, "sh", file]];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit" });
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}
