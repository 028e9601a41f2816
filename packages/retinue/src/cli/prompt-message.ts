/** A prompt as it is sent: its words with the data of a pipe behind them, or with the name of the file that holds data that is too long. */
import { join } from "node:path";
import type { ModelCapabilities } from "@retinue/protocol";
import type { MessageOptions, Session } from "@retinue/sdk";
import { isImageName } from "../tools/files/image-type.ts";
import { sizeOf } from "../tools/output.ts";
import type { Prompt } from "./prompt-input.ts";

/** About a quarter as many tokens. More is searched better than read. */
export const MAX_INLINE = 100_000;
const SHOWN = 4000;

export async function messageFor(session: Session, prompt: Prompt): Promise<MessageOptions> {
  const { text, data = "" } = prompt;
  const attachments = [...(prompt.attachments ?? [])];
  if (data.trim() === "") return { prompt: text, attachments };
  if (data.length <= MAX_INLINE)
    return { prompt: `${text}\n\nStandard input:\n\n${fenced(data)}`, displayPrompt: text, attachments };
  const { saved } = await session.rpc.workspaces.saveLargePaste({ content: data });
  if (!saved) throw new Error("The data of standard input could not be saved in the session's folder.");
  const { filePath: path, sizeBytes } = saved;
  await allowSavedInput(session);
  const where = `Standard input has ${sizeOf(sizeBytes)} and is in the file ${path}. It begins with:`;
  const prompted = `${text}\n\n${where}\n\n${fenced(whole(data.slice(0, SHOWN)))}`;
  return { prompt: prompted, displayPrompt: text, attachments: [...attachments, { type: "file", path }] };
}

/** What the user chose may be read without a question, wherever it is. Rules that deny it hold all the same. */
export function chosenPaths(prompt: Prompt | undefined): string[] {
  return (prompt?.attachments ?? []).flatMap((each) => ("path" in each ? [String(each.path)] : []));
}

/** Whoever sends a picture knows that the model sees it. Of most endpoints nobody else can know, and then pictures are left out. */
export function neededCapabilities(prompt: Prompt | undefined): { modelCapabilities?: ModelCapabilities } {
  const hasImage = (prompt?.attachments ?? []).some((each) =>
    each.type === "blob" ? each.mimeType.startsWith("image/") : each.type === "file" && isImageName(each.path),
  );
  return hasImage ? { modelCapabilities: { supports: { vision: true } } } : {};
}

/** Data of earlier prompts of a session may still be read. */
export async function allowSavedInput({ rpc, workspacePath }: Session): Promise<void> {
  if (workspacePath !== undefined) await rpc.permissions.paths.add({ path: join(workspacePath, "files") });
}

/** The fence is longer than any in the data, so that nothing in it can end it. */
function fenced(data: string): string {
  let longest = 2;
  for (const [run] of data.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${data.replace(/\n$/, "")}\n${fence}`;
}

/** A cut may fall between the two halves of a character. */
const whole = (text: string) => text.replace(/[\ud800-\udbff]$/, "");
