/** Which harnesses are connected and where their files are: connectors.json in the home folder. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { writePrivateFile } from "../../store/private-files.ts";

const Registry = z.record(z.string(), z.object({ folder: z.string(), transcripts: z.array(z.string()).default([]) }));
export type Registry = z.output<typeof Registry>;

const fileIn = (home: string) => join(home, "connectors.json");

export function readRegistry(home: string): Registry {
  try {
    return Registry.parse(JSON.parse(readFileSync(fileIn(home), "utf8")));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
}

export function writeRegistry(home: string, registry: Registry): void {
  writePrivateFile(fileIn(home), `${JSON.stringify(registry, null, 2)}\n`);
}

export function connectorRoots(home: string): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(readRegistry(home)).map(([harness, { transcripts }]) => [harness, transcripts]),
  );
}
