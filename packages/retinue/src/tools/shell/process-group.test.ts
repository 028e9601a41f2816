import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(path.join(tmpdir(), "group-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("when this process exits its shells are killed, and the detached ones go on", () => {
  const shells = pathToFileURL(path.join(import.meta.dirname, "shells.ts")).href;
  const program = `
    const { createShells } = await import(${JSON.stringify(shells)});
    const shells = createShells({ sessionId: "s", logFolder: ${JSON.stringify(folder)} });
    const start = (detached) => shells.start({ command: "sleep 300", description: "", cwd: "/", detached }).pid;
    console.log(JSON.stringify([start(false), start(true)]));
    process.exit(0);
  `;
  const output = execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  const [attached, detached] = JSON.parse(output);
  try {
    // The signal was sent; the process ends a moment later.
    while (isRunning(attached));
    expect(isRunning(detached)).toBe(true);
  } finally {
    process.kill(-detached, "SIGKILL");
  }
});

function isRunning(pid: number): boolean {
  const state = execFileSync("sh", ["-c", `ps -o stat= -p ${pid} || true`], { encoding: "utf8" }).trim();
  return state !== "" && !state.startsWith("Z");
}
