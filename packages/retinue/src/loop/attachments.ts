/**
 * The attachments of a prompt as text for the model: files and folders by name, selections with their text.
 *
 * Whoever attaches something has chosen it, so nobody is asked. A rule that denies reading it holds all the same.
 */
import { stat } from "node:fs/promises";
import { type Attachment, messageOf } from "@retinue/protocol";
import { checkedPath, isUnreadable, openChecked } from "../tools/files/checked-path.ts";
import { resolvePath } from "../tools/files/file-path.ts";
import { imageType, isImageName, MAX_IMAGE_BYTES } from "../tools/files/image-type.ts";
import type { Agent } from "./agent.ts";

export interface AttachmentText {
  /** Comes before the prompt. */
  before: string | undefined;
  /** Comes after the prompt. */
  after: string | undefined;
}

export interface AttachmentLimits {
  workingDirectory: string;
  /** Absolute paths that must not be read. */
  unreadable: readonly string[];
}

export function attachmentLimits({ session, permissions }: Agent): AttachmentLimits {
  const { workingDirectory, confinement } = session.place;
  return { workingDirectory, unreadable: permissions.rules.unreadable(confinement) };
}

export async function describeAttachments(
  attachments: readonly Attachment[],
  limits: AttachmentLimits,
): Promise<AttachmentText> {
  const selections: string[] = [];
  const tagged: string[] = [];
  for (const attachment of attachments) {
    if (attachment.type === "selection") selections.push(describeSelection(attachment, limits));
    else if (attachment.type === "file" || attachment.type === "directory")
      tagged.push(await describePath(attachment, limits));
    else if (attachment.type === "blob")
      tagged.push(`* ${attachment.displayName ?? "attachment"} (${attachment.mimeType})`);
  }
  return {
    before: selections.length > 0 ? selections.join("\n\n") : undefined,
    after: tagged.length > 0 ? `<tagged_files>\n${tagged.join("\n")}\n</tagged_files>` : undefined,
  };
}

/** Loads the bytes of image files, so that the log has what the model saw; other attachments stay as they are. */
export async function withImages(attachments: readonly Attachment[], limits: AttachmentLimits): Promise<Attachment[]> {
  return await Promise.all(attachments.map((attachment) => readImage(attachment, limits)));
}

async function readImage(attachment: Attachment, limits: AttachmentLimits): Promise<Attachment> {
  if (attachment.type !== "file" || !isImageName(attachment.path)) return attachment;
  const bytes = await bytesOf(attachment.path, limits).catch(() => undefined); // The text for the model says why it cannot be read.
  const mimeType = bytes && bytes.length <= MAX_IMAGE_BYTES ? imageType(bytes) : undefined;
  if (!bytes || !mimeType) return attachment;
  return {
    type: "blob",
    mimeType,
    data: bytes.toString("base64"),
    displayName: attachment.displayName ?? attachment.path,
  };
}

async function bytesOf(path: string, { workingDirectory, unreadable }: AttachmentLimits): Promise<Buffer | undefined> {
  const checked = checkedPath(resolvePath(path, workingDirectory));
  if (isUnreadable(checked, unreadable)) return undefined;
  await using file = await openChecked(checked);
  const stats = await file.stat();
  return stats.isFile() && stats.size <= MAX_IMAGE_BYTES ? await file.readFile() : undefined;
}

function isDenied(path: string, { workingDirectory, unreadable }: AttachmentLimits): boolean {
  return isUnreadable(checkedPath(resolvePath(path, workingDirectory)), unreadable);
}

const DENIED = "not read: a rule denies reading it";

function describeSelection(
  { filePath, selection, text = "" }: Extract<Attachment, { type: "selection" }>,
  limits: AttachmentLimits,
): string {
  const range = selection ? ` lines ${selection.start.line + 1}-${selection.end.line + 1}` : "";
  return `<ide_selection>\n${filePath}${range}\n${isDenied(filePath, limits) ? `(${DENIED})` : text}\n</ide_selection>`;
}

async function describePath(
  { type, path }: { type: "file" | "directory"; path: string },
  limits: AttachmentLimits,
): Promise<string> {
  if (isDenied(path, limits)) return `* ${path} (${DENIED})`;
  try {
    const { size } = await stat(resolvePath(path, limits.workingDirectory));
    return type === "directory" ? `* ${path}/ (folder)` : `* ${path} (${size} bytes)`;
  } catch (error) {
    return `* ${path} (error: ${messageOf(error)})`;
  }
}
