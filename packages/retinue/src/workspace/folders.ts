/** Resolves a folder that somebody named, relative to the working folder, and checks that it exists. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { AppError } from "@retinue/protocol";
import type { Session } from "../session/session.ts";

export function existingFolder({ place }: Session, path: string): string {
  const folder = resolve(place.workingDirectory, path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
  throw new AppError("invalid_params", `Directory not found: ${folder}`);
}
