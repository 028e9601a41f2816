/** Creates a file where there is none. */
import { lstatSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as z from "zod";
import { unifiedDiff } from "../files/diff.ts";
import { isErrno, linkTarget, resolvePath, statOf } from "../files/file-path.ts";
import { CallRefused, defineTool, failure, success, type Tool } from "../tool.ts";
import description from "./create.md";

const input = z.object({
  path: z.string().describe("The file to create."),
  file_text: z.string().describe("What is in it."),
});

export const createTool = (): Tool =>
  defineTool({
    name: "create",
    description,
    input,
    readOnly: false,
    async prepare(args, context) {
      const file = resolvePath(args.path, context.workingDirectory);
      refuse(file);
      const diff = await unifiedDiff({ path: file, after: args.file_text });
      return {
        permission: {
          kind: "write",
          toolCallId: context.callId,
          intention: "Create file",
          fileName: file,
          resolvedPath: linkTarget(file),
          diff,
          newFileContents: args.file_text,
          canOfferSessionApproval: true,
        },
        async run() {
          try {
            writeFileSync(file, args.file_text, { flag: "wx" });
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
