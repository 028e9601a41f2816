/** What a prompt may carry: files, folders, a selection, raw bytes, and references that other clients send. */
import * as z from "zod";
import { count, lazy, type Of, open, text } from "./schema.ts";

const Position = lazy(() => open({ line: z.number(), character: z.number() }));
const LineRange = lazy(() => open({ start: z.number(), end: z.number() }));

export const FileAttachment = lazy(() =>
  open({
    type: z.literal("file"),
    path: z.string(),
    displayName: text(),
    lineRange: LineRange().optional(),
    mimeType: text(),
    /** The line that the model reads about this file; set by the runtime. */
    taggedFilesEntry: text(),
  }),
);

export const DirectoryAttachment = lazy(() =>
  open({
    type: z.literal("directory"),
    path: z.string(),
    displayName: text(),
    taggedFilesEntry: text(),
  }),
);

export const SelectionAttachment = lazy(() =>
  open({
    type: z.literal("selection"),
    filePath: z.string(),
    displayName: text(),
    text: text(),
    selection: open({ start: Position(), end: Position() }).optional(),
  }),
);

export const BlobAttachment = lazy(() =>
  open({
    type: z.literal("blob"),
    /** Base64. */
    data: text(),
    mimeType: z.string(),
    displayName: text(),
    assetId: text(),
    byteLength: count(),
  }),
);

/** References that have an address and a kind; their further fields pass through. */
export const ReferenceAttachment = lazy(() =>
  open({
    type: z.enum([
      "github_reference",
      "github_commit",
      "github_release",
      "github_actions_job",
      "github_repository",
      "github_file_diff",
      "github_tree_comparison",
      "github_url",
      "github_file",
      "github_snippet",
    ]),
    url: z.string(),
    title: text(),
  }),
);

export const ExtensionAttachment = lazy(() =>
  open({ type: z.literal("extension_context"), title: z.string(), payload: z.unknown().optional() }),
);

export const Attachment = lazy(() =>
  z.discriminatedUnion("type", [
    FileAttachment(),
    DirectoryAttachment(),
    SelectionAttachment(),
    BlobAttachment(),
    ReferenceAttachment(),
    ExtensionAttachment(),
  ]),
);
export type Attachment = Of<typeof Attachment>;
export const Attachments = lazy(() => z.array(Attachment()));
