/**
 * Standard input as data: whether there is any, and reading it within bounds.
 *
 * A pipe, a socket or a file may hold something for the prompt. A terminal or a device holds nothing. Nobody can tell a slow program from
 * a parent that keeps a pipe open and never writes, so the first byte is waited for only as long as the caller says.
 */
import { fstatSync } from "node:fs";
import { UsageError } from "./usage-error.ts";

export type InputStream = NodeJS.ReadableStream & { isTTY?: boolean; fd?: number };

/** What comes before the first byte decides; from then on all of it is read. */
export interface ReadOptions {
  /** Without it the first byte is waited for however long it takes. */
  patienceMs?: number;
  /** Called when nothing came in that time. */
  onSilence?(): void;
}

export const MAX_INPUT_BYTES = 32 * 1024 * 1024;

/** A program may have left data there. */
export function mayHoldData({ isTTY, fd }: InputStream): boolean {
  if (isTTY) return false;
  if (fd === undefined) return true; // A stream that is no file of the system.
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isFile() || stat.isSocket();
  } catch {
    return false; // It was closed before we were started.
  }
}

/** Empty when there is nothing. */
export async function readInput(stdin: InputStream, { patienceMs, onSilence }: ReadOptions = {}): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return await new Promise((resolve, reject) => {
    const timer = patienceMs === undefined ? undefined : setTimeout(onLate, patienceMs);
    const finish = (end: () => void) => {
      clearTimeout(timer);
      stdin.off("data", onData).off("end", onEnd).off("error", onError).pause();
      end();
    };
    function onLate(): void {
      finish(() => {
        onSilence?.();
        resolve(Buffer.alloc(0));
      });
    }
    const onData = (chunk: Buffer | string) => {
      clearTimeout(timer);
      chunks.push(Buffer.from(chunk));
      bytes += chunk.length;
      if (bytes > MAX_INPUT_BYTES) finish(() => reject(tooMuch()));
    };
    const onEnd = () => finish(() => resolve(Buffer.concat(chunks)));
    const onError = (error: Error) =>
      finish(() => reject(new UsageError(`standard input cannot be read: ${error.message}`)));
    stdin.on("data", onData).once("end", onEnd).once("error", onError);
  });
}

function tooMuch(): UsageError {
  const limit = `${MAX_INPUT_BYTES / 1024 / 1024} MB`;
  return new UsageError(`standard input has more than ${limit}. Save it in a file, and name the file with --attach`);
}
