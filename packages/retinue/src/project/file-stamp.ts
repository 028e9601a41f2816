/** Whether files are still what they were when they were read: cheap enough to ask before every prompt, with nothing that watches. */
import { statSync } from "node:fs";

/** Differs after one of these files has changed, come or gone. */
export function fileStamp(files: readonly string[]): string {
  return files.map((file) => `${file}:${stampOf(file)}`).join("\n");
}

function stampOf(file: string): string {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    return found ? `${found.ino}:${found.size}:${found.mtimeMs}` : "";
  } catch {
    return ""; // A link in a circle, or a folder that must not be looked into: reading it says so.
  }
}
