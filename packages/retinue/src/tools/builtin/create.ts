/** Creates a file where there is none. */

import { closeSync, constants, lstatSync, writeFileSync } from "node:fs";
import path from "node:path";
import { lazy } from "@retinue/protocol";
import * as z from "zod";
import { type CheckedPath, checkedPath, linkOf, openCheckedSync } from "../files/checked-path.ts";
import { unifiedDiff } from "../files/diff.ts";
import { isErrno, resolvePath, statOf } from "../files/file-path.ts";
import { refuseTooLong } from "../longest.ts";
import { CallRefused, defineTool, failure, success, type Tool } from "../tool.ts";
import description from "./create.md";

const input = lazy(() =>
  z.object({
    path: z.string().describe("The file to create."),
    file_text: z.string().describe("What is in it."),
  }),
);

export const createTool = (): Tool =>
  defineTool({
    name: "create",
    description,
    input,
    readOnly: false,
    async prepare(args, context) {
      refuseTooLong("path", args.path);
      const file = resolvePath(args.path, context.workingDirectory);
      refuse(file);
      const checked = checkedPath(file);
      const diff = await unifiedDiff({ path: file, after: args.file_text });
      return {
        permission: {
          kind: "write",
          toolCallId: context.callId,
          intention: "Create file",
          fileName: file,
          resolvedPath: linkOf(checked),
          diff,
          newFileContents: args.file_text,
          canOfferSessionApproval: true,
        },
        async run() {
          try {
            write(checked, args.file_text);
          } catch (error) {
            if (isErrno(error, "EEXIST")) return alreadyExists(file);
            throw error;
          }
          context.announce("session.info", { infoType: "file_created", message: file });
          return success(`Created ${file} (${args.file_text.length} characters).`, { detail: diff });
        },
      };
    },
  });

function write(checked: CheckedPath, text: string): void {
  const file = openCheckedSync(checked, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  try {
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

const alreadyExists = (file: string) =>
  failure(`There is something at ${file} already. Use edit to change it.`, { error: "Path already exists" });

function refuse(file: string): void {
  const folder = path.dirname(file);
  if (!statOf(folder)?.isDirectory()) {
    throw new CallRefused(
      failure(`The folder ${folder} does not exist. Make it first.`, { error: "Parent directory does not exist" }),
    );
  }
  // A broken link counts as existing too.
  if (lstatSync(file, { throwIfNoEntry: false })) throw new CallRefused(alreadyExists(file));
}
