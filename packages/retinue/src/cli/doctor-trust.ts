/** The check of the doctor for the folder that it runs in: whether something of it is left out. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { messageOf, visible } from "@retinue/protocol";
import { ProjectGate } from "../project/gate.ts";
import { isTooWide } from "../project/root.ts";
import { shellWord } from "../project/shown.ts";
import { FolderTrust } from "../project/trust.ts";
import { openSqlite } from "../store/sqlite/store.ts";
import { leftOutLine } from "../workspace/left-out.ts";
import { surveyProject } from "../workspace/survey.ts";
import type { Check } from "./doctor-checks.ts";

const NOBODY = { get: async () => undefined, list: async () => [], write: async () => undefined };

export async function checkTrust(home: string, folder: string): Promise<Check> {
  const path = join(home, "retinue.db");
  const name = "trust";
  const unread: string[] = [];
  try {
    await using store = existsSync(path) ? opened(path) : undefined;
    const documents = store?.documents ?? NOBODY;
    const gate = new ProjectGate(folder, new FolderTrust({ documents, warn: (message) => unread.push(message) }));
    await gate.refresh();
    const root = visible(gate.root);
    const line = leftOutLine(surveyProject(gate, home), gate);
    const text = [...unread, ...(line === undefined ? [] : [line])].join(" ");
    if (text !== "") return { name, status: "warning", text, advice: adviceFor(gate) };
    return {
      name,
      status: "ok",
      text: gate.isTrusted ? `${root} is trusted` : `${root} brings nothing that needs trust`,
    };
  } catch (error) {
    const advice = "See what the other checks say of the store, or set RETINUE_HOME to another folder.";
    return { name, status: "warning", text: `trust in folders cannot be read: ${messageOf(error)}`, advice };
  }
}

function adviceFor({ folder, root }: ProjectGate): string {
  if (isTooWide(root)) return "Work in the folder of the project.";
  return `Look at what it brings and allow it: retinue trust add ${shellWord(folder)}`;
}

function opened(path: string) {
  const store = openSqlite({ path });
  return { documents: store.documents, [Symbol.asyncDispose]: () => store.close() };
}
