/** Which image format a file has, by its first bytes; only the formats that models take. */
const MAGIC: readonly { mimeType: string; offset: number; bytes: string }[] = [
  { mimeType: "image/png", offset: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { mimeType: "image/jpeg", offset: 0, bytes: "\xff\xd8\xff" },
  { mimeType: "image/gif", offset: 0, bytes: "GIF8" },
  { mimeType: "image/webp", offset: 8, bytes: "WEBP" },
];

export function imageType(head: Buffer): string | undefined {
  const text = head.toString("latin1", 0, 16);
  return MAGIC.find(({ offset, bytes }) => text.startsWith(bytes, offset))?.mimeType;
}

/** Larger ones are not shown to the model. */
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

export const isImageName = (path: string): boolean => /\.(png|jpe?g|gif|webp)$/i.test(path);
