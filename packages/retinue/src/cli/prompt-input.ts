/** What a run begins with: the words after -p, the files that are named with them, and what comes by standard input. */
import { isUtf8 } from "node:buffer";
import type { Attachment } from "@retinue/protocol";
import { imageType } from "../tools/files/image-type.ts";
import { attachmentFor, checkImage, mentionedIn } from "./attached-files.ts";
import { type InputStream, mayHoldData, readInput } from "./piped-data.ts";
import { UsageError } from "./usage-error.ts";

export interface Prompt {
  text: string;
  attachments?: readonly Attachment[];
  /** Text of a pipe beside the words; where it goes depends on its length. */
  data?: string;
}

export interface PromptSources {
  /** The words after -p; "-" stands for standard input. */
  given: string | undefined;
  /** The values of --attach; "-" stands for standard input, which is then waited for. */
  attach: readonly string[];
  /** Without a prompt the run goes on with what a session has left open. */
  isResumed: boolean;
  stdin: InputStream;
  cwd: string;
  /** Besides the folder in which the command was typed, these are where `@path` may lead. */
  folders?: readonly string[];
  /** A word with `@` names a file elsewhere, which is not sent. */
  onOutside?(path: string): void;
  /** How long the first byte of data beside the words is waited for. */
  patienceMs?: number;
  /** Nothing came in that time. */
  onSilence?(): void;
}

/** Undefined when a session is resumed and nothing is added to it. */
export async function readPrompt(sources: PromptSources): Promise<Prompt | undefined> {
  const { given, attach, cwd } = sources;
  const named = attach.filter((path) => path !== "-").map((path) => attachmentFor(path, cwd));
  const piped = await pipedFor(sources);
  if (given !== undefined && given !== "-") return withData(given, { sources, named, piped });
  const text = piped?.length ? textOf(piped, { isPrompt: true }) : "";
  if (text.trim() !== "") return { text, attachments: named };
  if (given === undefined && sources.isResumed && attach.length === 0) return undefined;
  throw new UsageError('the prompt is empty. Try: retinue -p "What is here?"');
}

/** Standard input is read when it is the prompt, when --attach asks for it, or when it may hold data for the words after -p. */
async function pipedFor(sources: PromptSources): Promise<Buffer | undefined> {
  const { given, attach, isResumed, stdin, patienceMs, onSilence } = sources;
  const isPrompt = given === "-" || (given === undefined && !isResumed);
  if (isPrompt && attach.includes("-"))
    throw new UsageError('standard input is the prompt already. Give the prompt as words: -p "…" --attach -');
  if (isPrompt || attach.includes("-")) return await readInput(stdin);
  if (!mayHoldData(stdin)) return undefined;
  return await readInput(stdin, { patienceMs, onSilence: given === undefined ? undefined : onSilence });
}

function withData(
  words: string,
  { sources, named, piped }: { sources: PromptSources; named: readonly Attachment[]; piped: Buffer | undefined },
): Prompt {
  if (words.trim() === "") throw new UsageError('the prompt is empty. Try: retinue -p "What is here?"');
  const { cwd, folders = [], onOutside } = sources;
  const mentions = { cwd, folders: [cwd, ...folders], onOutside };
  const attachments = withoutDoubles([...mentionedIn(words, mentions), ...named]);
  if (!piped || piped.length === 0) return { text: words, attachments };
  const mimeType = imageType(piped);
  if (!mimeType) return { text: words, attachments, data: textOf(piped) };
  checkImage(piped.length, "standard input");
  const image: Attachment = {
    type: "blob",
    mimeType,
    data: piped.toString("base64"),
    displayName: "standard input",
  };
  return { text: words, attachments: [...attachments, image] };
}

function textOf(bytes: Buffer, { isPrompt = false } = {}): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return bytes.toString("utf8").replace(/^\ufeff/, "");
  if (isPrompt) throw new UsageError("standard input is not text, so it cannot be the prompt");
  throw new UsageError(
    "standard input is neither text nor an image. Save it in a file, and name the file with --attach",
  );
}

function withoutDoubles(attachments: readonly Attachment[]): Attachment[] {
  const keys = new Set<string>();
  return attachments.filter((each) => {
    const key = "path" in each ? String(each.path) : JSON.stringify(each);
    const isNew = !keys.has(key);
    keys.add(key);
    return isNew;
  });
}
