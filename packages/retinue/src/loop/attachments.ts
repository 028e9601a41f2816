/** The attachments of a prompt as text for the model: files and folders by name, selections with their text. */
import { readFile, stat } from "node:fs/promises";
import { type Attachment, messageOf } from "@retinue/protocol";
import { imageType } from "../tools/files/image-type.ts";

const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

export interface AttachmentText {
  /** Comes before the prompt. */
  before: string | undefined;
  /** Comes after the prompt. */
  after: string | undefined;
}

export async function describeAttachments(attachments: readonly Attachment[]): Promise<AttachmentText> {
  const selections: string[] = [];
  const tagged: string[] = [];
  for (const attachment of attachments) {
    if (attachment.type === "selection") selections.push(describeSelection(attachment));
    else if (attachment.type === "file" || attachment.type === "directory") tagged.push(await describePath(attachment));
    else if (attachment.type === "blob")
      tagged.push(`* ${attachment.displayName ?? "attachment"} (${attachment.mimeType})`);
  }
  return {
    before: selections.length > 0 ? selections.join("\n\n") : undefined,
    after: tagged.length > 0 ? `<tagged_files>\n${tagged.join("\n")}\n</tagged_files>` : undefined,
  };
}

/** Loads the bytes of image files, so that the log has what the model saw; other attachments stay as they are. */
export async function withImages(attachments: readonly Attachment[]): Promise<Attachment[]> {
  return await Promise.all(attachments.map(readImage));
}

async function readImage(attachment: Attachment): Promise<Attachment> {
  if (attachment.type !== "file" || !/\.(png|jpe?g|gif|webp)$/i.test(attachment.path)) return attachment;
  const bytes = await readFile(attachment.path).catch(() => undefined); // The text for the model says why it cannot be read.
  const mimeType = bytes && bytes.length <= MAX_IMAGE_BYTES ? imageType(bytes) : undefined;
  if (!bytes || !mimeType) return attachment;
  return {
    type: "blob",
    mimeType,
    data: bytes.toString("base64"),
    displayName: attachment.displayName ?? attachment.path,
  };
}

function describeSelection(selection: Extract<Attachment, { type: "selection" }>): string {
  const range = selection.selection
    ? ` lines ${selection.selection.start.line + 1}-${selection.selection.end.line + 1}`
    : "";
  return `<ide_selection>\n${selection.filePath}${range}\n${selection.text ?? ""}\n</ide_selection>`;
}

async function describePath({ type, path }: { type: "file" | "directory"; path: string }): Promise<string> {
  try {
    const { size } = await stat(path);
    return type === "directory" ? `* ${path}/ (folder)` : `* ${path} (${size} bytes)`;
  } catch (error) {
    return `* ${path} (error: ${messageOf(error)})`;
  }
}
