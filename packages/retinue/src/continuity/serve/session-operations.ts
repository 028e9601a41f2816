/** Operations on what was said: transcripts, lists, lineage, inherit block, checkpoints, deletion. Search is search-operation.ts. */
import * as z from "zod";
import { redact, redactInTurns } from "../../secrets/redact.ts";
import type { Checkpoint, TranscriptSession } from "../../store/transcript-records.ts";
import { pathWord } from "../ingest/hook-input.ts";
import { readOn } from "../ingest/reading.ts";
import { inheritBlock, maxCharsFor } from "../recall/inherit.ts";
import { Inherit, tailCharsOf } from "../records/config.ts";
import type { Continuity } from "../records/continuity.ts";
import { lineageTree } from "../records/lineage.ts";
import { tidyPath } from "../records/paths.ts";
import {
  actingAgent,
  assertMayWrite,
  type Caller,
  hasEntities,
  readable,
  requireSession,
  visibility,
} from "../records/scope.ts";
import { speaker } from "../records/speaker.ts";
import { flag, number, operation, word } from "./operation.ts";
import { searchOperation } from "./search-operation.ts";

const key = { key: word(), agentId: word().optional(), harness: word().optional() };

/** What lists and trees show of a session. */
function summary(session: TranscriptSession) {
  const { id: _, parentId: __, reading: ___, lastSeq: ____, createdAt, updatedAt, endedAt, title, ...rest } = session;
  const iso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  return {
    ...rest,
    title: title && redact(title),
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    endedAt: iso(endedAt),
  };
}

const checkpointShown = (checkpoint: Checkpoint): Checkpoint => ({
  ...checkpoint,
  summary: redact(checkpoint.summary),
  entities: checkpoint.entities.map(redact),
});

const session = (
  { transcripts }: Continuity,
  caller: Caller,
  input: { key: string; agentId?: string; harness?: string },
): Promise<TranscriptSession> => requireSession(transcripts, caller, input);

/** The same, for a change. */
async function ownSession(...[continuity, caller, input]: Parameters<typeof session>): Promise<TranscriptSession> {
  const found = await session(continuity, caller, input);
  assertMayWrite(caller, found);
  return found;
}

/** The session and everything below it. */
function withDescendants(tree: readonly TranscriptSession[], root: TranscriptSession): TranscriptSession[] {
  const below = tree.filter(({ parentId }) => parentId === root.id);
  return [root, ...below.flatMap((child) => withDescendants(tree, child))];
}

const DAY = 24 * 3_600_000;

export const sessionOperations = [
  searchOperation,
  operation({
    name: "session_list",
    method: "GET",
    path: "/api/sessions",
    summary: "Sessions, last used first.",
    input: z.object({
      project: pathWord().optional(),
      harness: word().optional(),
      agentId: word().optional(),
      running: flag().optional(),
      limit: number().max(1_000).default(50),
      offset: number().default(0),
    }),
    async run({ transcripts }, caller, { agentId, running, project, ...rest }) {
      const scope = readable(caller, actingAgent(caller, agentId));
      const query = { ...rest, project: project && tidyPath(project), isRunning: running };
      const found = await transcripts.sessions.list({ ...scope, ...query });
      return { sessions: found.map(summary) };
    },
  }),
  operation({
    name: "session_transcript",
    method: "GET",
    path: "/api/sessions/{key}/transcript",
    summary: "The turns of a session, page by page, as text or JSON.",
    input: z.object({
      ...key,
      after: number().default(0),
      limit: number().min(1).max(1_000).default(200),
      format: z.enum(["json", "text"]).default("json"),
    }),
    tool: z.object({
      key: z.string().describe("The session's key."),
      after: z.number().int().optional(),
      limit: z.number().int().max(200).optional(),
    }),
    async run(continuity, caller, input) {
      const { transcripts, world } = continuity;
      const found = await session(continuity, caller, input);
      await readOn(transcripts, found, { now: world.now() });
      const stored = await transcripts.turns.read(found.id, { after: input.after, limit: input.limit });
      const texts = await redactInTurns(stored.map(({ text }) => text));
      const turns = stored.map((turn, at) => ({ ...turn, text: texts[at] ?? "" }));
      if (input.format === "text") return turns.map((turn) => `${speaker(turn)}: ${turn.text}`).join("\n");
      const next = turns.length === input.limit ? turns.at(-1)?.seq : undefined;
      return {
        ...summary(found),
        turns: turns.map(({ seq, role, tool, callId, text, at }) => ({
          seq,
          role,
          tool,
          callId,
          text,
          at: new Date(at).toISOString(),
        })),
        next,
      };
    },
  }),
  operation({
    name: "session_lineage",
    method: "GET",
    path: "/api/sessions/{key}/lineage",
    summary: "The tree of sessions that this one belongs to, and how each link is known.",
    input: z.object(key),
    async run(continuity, caller, input) {
      const found = await session(continuity, caller, input);
      const sessions = await continuity.transcripts.sessions.tree(found.id);
      const isVisible = await visibility(continuity.transcripts, caller, { sessions });
      return lineageTree(sessions, { session: found, isVisible });
    },
  }),
  operation({
    name: "session_inherit",
    method: "GET",
    path: "/api/sessions/{key}/inherit",
    summary: "The inherit block that a child of this session would be given now.",
    input: z.object({ ...key, inherit: Inherit().default("brief") }),
    async run(continuity, caller, input) {
      const { transcripts, world, config } = continuity;
      const parent = await session(continuity, caller, input);
      await readOn(transcripts, parent, { now: world.now() });
      const tailChars = tailCharsOf(input.inherit, config);
      if (tailChars === undefined) return { inject: undefined };
      const maxChars = maxCharsFor(parent.harness);
      const options = { tailChars, maxChars, hasEntities: hasEntities(caller) };
      return { inject: await inheritBlock(transcripts, parent, options) };
    },
  }),
  operation({
    name: "checkpoint_add",
    method: "POST",
    path: "/api/sessions/{key}/checkpoints",
    summary: "Keeps a summary of a session up to now, with the entities that it is about.",
    input: z.object({
      ...key,
      summary: z.string().min(1).max(20_000),
      entities: z.array(word()).max(50).default([]),
      origin: word().default("api"),
    }),
    async run(continuity, caller, input) {
      const { transcripts, world } = continuity;
      const found = await ownSession(continuity, caller, input);
      await readOn(transcripts, found, { now: world.now() });
      const { summary: words, entities, origin } = input;
      const added = await transcripts.checkpoints.add(found.id, { summary: words, entities, origin, at: world.now() });
      return checkpointShown(added);
    },
  }),
  operation({
    name: "checkpoint_list",
    method: "GET",
    path: "/api/sessions/{key}/checkpoints",
    summary: "The checkpoints of a session, newest first.",
    input: z.object(key),
    async run(continuity, caller, input) {
      const { id } = await session(continuity, caller, input);
      const checkpoints = await continuity.transcripts.checkpoints.list(id);
      return { checkpoints: checkpoints.map(checkpointShown) };
    },
  }),
  operation({
    name: "session_delete",
    method: "DELETE",
    path: "/api/sessions/{key}",
    summary: "Deletes the transcript of a session and of its children.",
    input: z.object(key),
    async run(continuity, caller, input) {
      const found = await ownSession(continuity, caller, input);
      const tree = await continuity.transcripts.sessions.tree(found.id);
      for (const each of withDescendants(tree, found)) assertMayWrite(caller, each);
      return { deleted: await continuity.transcripts.retention.delete(found.id) };
    },
  }),
  operation({
    name: "session_prune",
    method: "POST",
    path: "/api/sessions/prune",
    summary: "Deletes sessions that are older than an age, or the oldest ones above a size.",
    access: "owner",
    input: z.object({ olderThanDays: number().optional(), maxBytes: number().optional() }),
    async run({ transcripts, world }, _caller, { olderThanDays, maxBytes }) {
      const unusedSince = olderThanDays === undefined ? undefined : world.now() - olderThanDays * DAY;
      return { deleted: await transcripts.retention.prune({ unusedSince, maxBytes }) };
    },
  }),
];
