/**
 * The processes that were started for one agent or as one MCP server, and everything that these have started: a family ends as a whole.
 *
 * Process groups are ended by whoever leads them (tools/shell/process-group.ts); the family finds what has left its group. It is in the
 * ledger before its first process starts, so that the next runtime finds it when this one is killed.
 */
import { thisProcess } from "../store/holder.ts";
import { type ControlGroup, makeControlGroup } from "./control-group.ts";
import { memberMark, newMark, withMark } from "./mark.ts";
import { endStrays, killStraysNow, type Wanted } from "./strays.ts";

/** Where families and process groups are written down. */
export interface FamilyRecorder {
  familyStarted(family: { mark: string; controlGroup?: string }): Promise<void>;
  familyEnded(mark: string): Promise<void>;
  groupStarted(pid: number): Promise<void>;
  groupEnded(pid: number): void;
}

/** How a process must be started to belong to a family. */
export interface Member {
  readonly mark: string;
  environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /** A process that writes its pid into this file joins the control group. */
  readonly door: string | undefined;
}

const living = new Set<ProcessFamily>();
let isWatchingExit = false;

export class ProcessFamily {
  readonly #recorder: FamilyRecorder | undefined;
  #ownMark: string | undefined;
  #group: ControlGroup | undefined;
  #recorded: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #members = 0;

  constructor(recorder?: FamilyRecorder) {
    this.#recorder = recorder;
  }

  /** Made with the first process: most sessions start none. */
  get #mark(): string {
    this.#ownMark ??= newMark();
    return this.#ownMark;
  }

  /** What to look for. */
  get wanted(): Wanted {
    const groups = this.#group ? [this.#group.folder] : [];
    return { marks: new Set([this.#mark]), since: thisProcess().startedAt, groups };
  }

  /** Called before the process is started. */
  member(): Member {
    if (this.#recorded === undefined) this.#begin();
    const mark = memberMark(this.#mark, this.#members++);
    return { mark, environment: (env) => withMark(env, mark), door: this.#group?.door };
  }

  /** Rejects when the process could not be written down; then it must be ended. */
  async started(pid: number): Promise<void> {
    await Promise.all([this.#recorded, this.#recorder?.groupStarted(pid)]);
  }

  /** Nothing of its process group is left. */
  groupEnded(pid: number): void {
    this.#recorder?.groupEnded(pid);
  }

  /** Ends what one member has started, wherever that is. */
  async endMember({ mark }: Member, { graceMs }: { graceMs: number }): Promise<void> {
    await endStrays({ ...this.wanted, marks: new Set([mark]), groups: [] }, graceMs);
  }

  /** Ends all that is left of it. Looks for nothing when nothing was started. A second call waits for the first. */
  async end({ graceMs }: { graceMs: number }): Promise<void> {
    if (this.#recorded === undefined) return;
    this.#ending ??= this.#end(graceMs);
    await this.#ending;
  }

  #begin(): void {
    this.#group = makeControlGroup(this.#mark);
    const family = { mark: this.#mark, controlGroup: this.#group?.folder };
    this.#recorded = this.#recorder?.familyStarted(family) ?? Promise.resolve();
    this.#recorded.catch(() => undefined); // `started` reports it.
    living.add(this);
    watchExit();
  }

  async #end(graceMs: number): Promise<void> {
    const { isClean } = await endStrays(this.wanted, graceMs);
    // What could not be ended stays in the ledger, for the next runtime; so does what the store does not let us remove.
    if (isClean) await this.#recorder?.familyEnded(this.#mark).catch(() => undefined);
    living.delete(this);
    this.#recorded = undefined;
    this.#ending = undefined;
  }
}

/** An early exit of ours leaves nothing behind either. */
function watchExit(): void {
  if (isWatchingExit) return;
  isWatchingExit = true;
  process.on("exit", () => {
    const all = [...living].map(({ wanted }) => wanted);
    if (all.length === 0) return;
    killStraysNow({
      marks: new Set(all.flatMap(({ marks }) => [...marks])),
      since: thisProcess().startedAt,
      groups: all.flatMap(({ groups }) => groups),
    });
  });
}
