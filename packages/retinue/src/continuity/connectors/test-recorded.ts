/** Loads a recorded payload and fills in the paths that were removed from it. For tests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export function recorded(harness: string, name: string, places: { home?: string; project?: string } = {}) {
  const text = readFileSync(join(import.meta.dirname, "fixtures", harness, `${name}.json`), "utf8");
  const { home = "/home/someone", project = "/projects/shop" } = places;
  return JSON.parse(
    text
      .replaceAll("$HOME", home)
      .replaceAll("$PROJECT_SLUG", "-work-shop")
      .replaceAll("$PROJECT", project)
      .replaceAll("$WORKSPACE", project),
  );
}
