/**
 * Whether what lies in the working folder of one session counts. Everything that is read from a project and could run or steer a program
 * asks here: agents, their servers, gates and skills.
 *
 * The answer is a copy, so that it can be asked without waiting; `refresh` brings it up to date, also with decisions of other processes.
 */
import { projectRootOf } from "./root.ts";
import type { Decision, FolderTrust } from "./trust.ts";

export class ProjectGate {
  /** Where the session began to work. A session that moves elsewhere keeps what it found there. */
  readonly folder: string;
  readonly #trust: FolderTrust;
  #root: string | undefined;
  #version = 0;
  #decision: Decision = { decision: undefined, servers: new Set() };

  constructor(folder: string, trust: FolderTrust) {
    this.folder = folder;
    this.#trust = trust;
  }

  /** The project that the folder belongs to. Looked up at the first use: most sessions read nothing of their project. */
  get root(): string {
    this.#root ??= projectRootOf(this.folder);
    return this.#root;
  }

  get isTrusted(): boolean {
    return this.#decision.decision === "trusted";
  }

  /** Whether a server that a file of the project names may be started. */
  mayStart(identity: string): boolean {
    return this.isTrusted && this.#decision.servers.has(identity);
  }

  /** Differs after each change of the answer, so that whoever has used it can see whether to ask again. 0: not asked yet. */
  get version(): number {
    return this.#version;
  }

  async refresh(): Promise<void> {
    const before = this.#decision;
    const now = await this.#trust.decisionOn(this.folder);
    this.#decision = now;
    if (this.#version === 0 || before.decision !== now.decision || !isSame(before.servers, now.servers))
      this.#version++;
  }
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((each) => b.has(each));
