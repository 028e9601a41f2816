export interface CarriedFile {
  name: string;
  contents: Buffer;
  isProgram?: boolean;
}
export function pack(files: readonly CarriedFile[]): Buffer;
export function unpack(archive: Buffer, cache: string): string;
