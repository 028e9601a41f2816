/**
 * Permissions beyond one session: for a folder, or permanent. Each answer is a document of its own, so that concurrent sessions can
 * add to the same folder.
 */
import { Approval, PermissionRule } from "@retinue/protocol";
import * as z from "zod";
import { type DocumentKind, document } from "../store/document.ts";
import type { DocumentChange, Documents } from "../store/store.ts";

export const ALLOWED_DOMAIN = document("allowed-domain", () => z.object({ domain: z.string() }));
export const FOLDER_APPROVAL = document("folder-approval", Approval);
export const FOLDER_RULE = document("folder-rule", PermissionRule);

export interface Keeping {
  documents: Documents;
  /** Writes a change to the store. */
  keep(change: DocumentChange): void;
  /** Called for a stored answer that cannot be read and is ignored. */
  warn(message: string): void;
}

export interface KeptEntry<T> {
  key: string;
  value: T;
}

export interface KeptForFolder {
  approvals: KeptEntry<Approval>[];
  rules: KeptEntry<PermissionRule>[];
}

export interface Kept extends KeptForFolder {
  domains: string[];
}

export function folderKey(locationKey: string, value: object): string {
  return `${locationKey}\n${JSON.stringify(value)}`;
}

/** The folder of such a key. */
export function folderOf(key: string): string {
  return key.split("\n", 1)[0] ?? key;
}

export async function loadKept(keeping: Keeping, locationKey: string): Promise<Kept> {
  const domains = await load(keeping, ALLOWED_DOMAIN, "");
  return { ...(await loadFolder(keeping, locationKey)), domains: domains.map(({ value }) => value.domain) };
}

export async function loadFolder(keeping: Keeping, locationKey: string): Promise<KeptForFolder> {
  const prefix = `${locationKey}\n`;
  return {
    approvals: await load(keeping, FOLDER_APPROVAL, prefix),
    rules: await load(keeping, FOLDER_RULE, prefix),
  };
}

async function load<T>({ documents, warn }: Keeping, kind: DocumentKind<T>, prefix: string): Promise<KeptEntry<T>[]> {
  const { found, problems } = await kind.list(documents, prefix);
  for (const { message } of problems) warn(message);
  return found;
}
