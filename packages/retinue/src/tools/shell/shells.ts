/**
 * The shells of one session: their ids, who learns of their end, and that none is left when the session ends.
 *
 * One shell is in shell.ts. A detached shell is listed like any other, and is the only kind that outlives the session. What a command
 * moves out of its process group is found by its family (processes/family.ts).
 */
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import path from "node:path";
import { ProcessFamily } from "../../processes/family.ts";
import { childEnvironment } from "../../secrets/environment.ts";
import type { Shell, ShellService, ShellStart } from "../tool.ts";
import { forgetGroupIfGone } from "./process-group.ts";
import { ShellProcess } from "./shell.ts";

const GRACE_MS = 2000;

/** No pager and no password prompt can be answered here; both would only hang. */
const QUIET = { PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0" };

const LEADS_ELSEWHERE =
  /^(?:GIT_(?:DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE|PREFIX|CONFIG.*)|CDPATH|OLDPWD)$/;
const withoutPlaces = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !LEADS_ELSEWHERE.test(name)));

export interface ShellsOptions {
  sessionId: string;
  /** Where long outputs are kept. */
  logFolder: string;
  /** How long to wait between SIGTERM and SIGKILL. */
  graceMs?: number;
  /** What all of them belong to, besides the detached ones. */
  family?: ProcessFamily;
  /** They get no variable that leads git or `cd` to another folder. */
  isConfined?: boolean;
}

/** The shells of a session, and a fresh id for the next one. */
export interface Shells extends ShellService {
  freshId(): string;
}

export function createShells(options: ShellsOptions): Shells {
  const { sessionId, logFolder, graceMs = GRACE_MS, family = new ProcessFamily(), isConfined = false } = options;
  const listed = new Map<string, Shell>();
  // Also those that were removed: what they left in the background ends with the session.
  const attached = new Set<ShellProcess>();
  const reclaimed = new Set<string>();
  const events = new EventEmitter<{ ended: [Shell, { awaited: boolean }]; background: [Shell] }>();
  let nextId = 0;

  function freshId(): string {
    let id = String(nextId++);
    while (listed.has(id)) id = String(nextId++);
    return id;
  }

  function start(options: ShellStart): Shell {
    const member = options.detached ? undefined : family.member();
    const more = { ...QUIET, RETINUE_SESSION_ID: sessionId, ...options.env };
    const environment = childEnvironment(more, isConfined ? withoutPlaces(process.env) : process.env);
    const shell = new ShellProcess({
      ...options,
      id: options.shellId ?? freshId(),
      logFile: path.join(logFolder, `shell-${randomUUID()}.log`),
      environment: member?.environment(environment) ?? environment,
      door: member?.door,
      endStrays: member && (() => family.endMember(member, { graceMs })),
      graceMs,
      onBackground: (promoted) => events.emit("background", promoted),
    });
    listed.set(shell.id, shell);
    reclaimed.delete(shell.id);
    if (!shell.detached) adopt(shell);
    void shell.ended.then(() => events.emit("ended", shell, { awaited: shell.isAwaited }));
    if (shell.background) events.emit("background", shell);
    return shell;
  }

  /** The pid is known only after the start, so it is written down then; when that fails the shell is ended. */
  function adopt(shell: ShellProcess): void {
    attached.add(shell);
    if (shell.pid !== undefined) family.started(shell.pid).catch(() => shell.kill());
    void shell.ended.then(() => dropGroupIfGone(shell));
  }

  function dropGroupIfGone({ pid }: ShellProcess): void {
    if (pid !== undefined && forgetGroupIfGone(pid)) family.groupEnded(pid);
  }

  return {
    start,
    freshId,
    get: (shellId) => listed.get(shellId),
    list: () => [...listed.values()],
    remove(shellId) {
      if (listed.delete(shellId)) reclaimed.add(shellId);
    },
    wasReclaimed: (shellId) => reclaimed.has(shellId),
    onEnded(listener) {
      events.on("ended", listener);
      return () => events.off("ended", listener);
    },
    onBackground(listener) {
      events.on("background", listener);
      return () => events.off("background", listener);
    },
    async closeAll() {
      await Promise.all([...attached].map((shell) => shell.endGroup()));
      for (const shell of attached) dropGroupIfGone(shell);
      attached.clear();
      await family.end({ graceMs });
    },
  };
}
