/** Lifecycle changes of the runtime's sessions, and lists of them. */
import { defined, type SessionFilter, type SessionListing } from "@retinue/protocol";
import { isRecord } from "./questions.ts";

export type SessionLifecycleEventType =
  | "session.created"
  | "session.updated"
  | "session.deleted"
  | "session.foreground"
  | "session.background";

export interface SessionLifecycleEvent {
  readonly type: SessionLifecycleEventType;
  readonly sessionId: string;
  readonly metadata?: { readonly startTime: Date; readonly modifiedTime: Date; readonly summary?: string };
}

export type SessionLifecycleHandler = (event: SessionLifecycleEvent) => void;

export function lifecycleEvent({
  type,
  sessionId,
  metadata,
}: Record<string, unknown>): SessionLifecycleEvent | undefined {
  if (typeof sessionId !== "string" || !isLifecycleType(type)) return undefined;
  if (!isRecord(metadata)) return { type, sessionId };
  const { startTime, modifiedTime, summary } = metadata;
  return {
    type,
    sessionId,
    metadata: defined({
      startTime: new Date(String(startTime)),
      modifiedTime: new Date(String(modifiedTime)),
      summary: typeof summary === "string" ? summary : undefined,
    }),
  };
}

function isLifecycleType(type: unknown): type is SessionLifecycleEventType {
  return (
    type === "session.created" ||
    type === "session.updated" ||
    type === "session.deleted" ||
    type === "session.foreground" ||
    type === "session.background"
  );
}

export interface SessionListFilter {
  workingDirectory?: string;
  gitRoot?: string;
  repository?: string;
  branch?: string;
}

export interface SessionMetadata {
  readonly sessionId: string;
  readonly startTime: Date;
  readonly modifiedTime: Date;
  readonly summary?: string;
  readonly isRemote: boolean;
  readonly context?: {
    readonly workingDirectory: string;
    readonly gitRoot?: string;
    readonly repository?: string;
    readonly branch?: string;
  };
}

export function filterForWire({ workingDirectory, ...rest }: SessionListFilter): SessionFilter {
  return workingDirectory === undefined ? rest : { ...rest, cwd: workingDirectory };
}

export function sessionMetadata({
  sessionId,
  startTime,
  modifiedTime,
  summary,
  isRemote,
  context,
}: SessionListing): SessionMetadata {
  return defined({
    sessionId,
    startTime: new Date(startTime),
    modifiedTime: new Date(modifiedTime),
    isRemote,
    summary,
    context: context && contextOf(context),
  });
}

function contextOf({ cwd, gitRoot, repository, branch }: NonNullable<SessionListing["context"]>) {
  return defined({ workingDirectory: cwd ?? "", gitRoot, repository, branch });
}
