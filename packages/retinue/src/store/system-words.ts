/** What the system or the database says of a file that cannot be used, in words for people. */
import { messageOf } from "@retinue/protocol/errors";

const BY_CODE: Readonly<Record<string, string>> = {
  EACCES: "this user has no right to it",
  EPERM: "this user has no right to it",
  EROFS: "the disk can only be read",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EEXIST: "it is a file and not a folder",
  ENOTDIR: "a part of this path is a file and not a folder",
  ENOENT: "nothing can be made there",
  EISDIR: "it is a folder and not a file",
};

export function systemWords(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = messageOf(error);
  return BY_CODE[code] ?? (message === "file is not a database" ? "it is damaged, or no database" : message);
}
