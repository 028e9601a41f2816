/**
 * Which folders a person trusts, and which programs of them may be started: one document per project.
 *
 * Trust is for exactly one project: neither for the folders above it nor for repositories inside it. Consent to a server is for its command
 * line or address, so one that has changed is unknown again. What cannot be read counts as no trust.
 */
import { messageOf } from "@retinue/protocol";
import * as z from "zod";
import { document } from "../store/document.ts";
import type { Documents } from "../store/store.ts";
import { checkMayBeTrusted, isTooWide, projectRootOf } from "./root.ts";

/** By the root of the project. In the first version the document was empty. */
const FOLDER_TRUST = document(
  "trusted-folder",
  () =>
    z.object({
      decision: z.enum(["trusted", "declined"]),
      /** What may be started: the words that were shown, by identity. */
      servers: z.record(z.string(), z.string()),
    }),
  { version: 2, migrate: () => ({ decision: "trusted", servers: {} }) },
);

export interface Decision {
  /** Undefined: nobody has decided. `declined`: somebody does not want to be asked again. */
  decision: "trusted" | "declined" | undefined;
  /** Identities of the servers that may be started. */
  servers: ReadonlySet<string>;
}

const UNDECIDED: Decision = { decision: undefined, servers: new Set() };

export interface FolderTrustOptions {
  documents: Documents;
  /** Called for a stored decision that cannot be read, and so does not count. */
  warn(message: string): void;
}

export class FolderTrust {
  readonly #documents: Documents;
  readonly #warn: (message: string) => void;

  constructor({ documents, warn }: FolderTrustOptions) {
    this.#documents = documents;
    this.#warn = warn;
  }

  /** On the project that the folder belongs to. */
  async decisionOn(folder: string): Promise<Decision> {
    const root = projectRootOf(folder);
    if (isTooWide(root)) return UNDECIDED;
    try {
      const found = await FOLDER_TRUST.get(this.#documents, root);
      return found ? { decision: found.decision, servers: new Set(Object.keys(found.servers)) } : UNDECIDED;
    } catch (error) {
      this.#warn(`${messageOf(error)} So ${root} is not trusted.`);
      return UNDECIDED;
    }
  }

  /** With consent to these servers besides those that have it. Returns the root that is trusted now. */
  async trust(folder: string, servers: ReadonlyMap<string, string>): Promise<string> {
    const root = projectRootOf(folder);
    checkMayBeTrusted(root);
    const before = await this.#servers(root);
    const value = { decision: "trusted" as const, servers: { ...before, ...Object.fromEntries(servers) } };
    await this.#documents.write([FOLDER_TRUST.put(root, value)]);
    return root;
  }

  /** Nobody is asked about it any more. */
  async decline(folder: string): Promise<void> {
    await this.#documents.write([FOLDER_TRUST.put(projectRootOf(folder), { decision: "declined", servers: {} })]);
  }

  /** As if nobody had decided. Returns the root that it was about, or undefined when there was no decision. */
  async forget(folder: string): Promise<string | undefined> {
    const root = projectRootOf(folder);
    if (!(await this.#documents.get(FOLDER_TRUST.kind, root))) return undefined;
    await this.#documents.write([FOLDER_TRUST.remove(root)]);
    return root;
  }

  async list(): Promise<{ folder: string; decision: "trusted" | "declined"; servers: readonly string[] }[]> {
    const { found, problems } = await FOLDER_TRUST.list(this.#documents, "");
    for (const { message } of problems) this.#warn(message);
    return found.map(({ key, value }) => ({
      folder: key,
      decision: value.decision,
      servers: Object.values(value.servers),
    }));
  }

  /** A decision that cannot be read is replaced: nothing of it counts. */
  async #servers(root: string): Promise<Readonly<Record<string, string>>> {
    try {
      const found = await FOLDER_TRUST.get(this.#documents, root);
      return found?.decision === "trusted" ? found.servers : {};
    } catch {
      return {};
    }
  }
}
