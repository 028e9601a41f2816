/**
 * The checks before a sub-agent starts: agent, depth, tools, skills, model, mode. Every spawn path goes through it.
 *
 * Returns the record of the new task: plain data that is enough to run it, here or in another process.
 */
import { AppError } from "@retinue/protocol";
import { type AgentDefinition, toInherit } from "../agents/definition.ts";
import { unknownTools } from "../agents/effective-tools.ts";
import { chooseModel } from "../agents/model-policy.ts";
import type { ToolRef } from "../agents/tool-patterns.ts";
import { beginRun, endRun } from "../session/run-boundary.ts";
import type { Session } from "../session/session.ts";
import { unusableSchema } from "../tools/schema-check.ts";
import type { TaskInput } from "../tools/task-input.ts";
import { availableModels, modelNamed } from "../tree/available-models.ts";
import type { Configuration } from "../tree/configuration.ts";
import { lowerBudget } from "../tree/limits.ts";
import type { WorkingAgent } from "../tree/working-agent.ts";
import { type AgentRecord, newHead } from "./record.ts";

/** `callId` is the call that starts the agent; absent when a client does. */
export type SpawnGate = (owner: WorkingAgent, input: TaskInput, callId?: string) => Promise<AgentRecord>;

/** Why an agent may not start now, beyond what the gate itself checks; undefined when it may. The id is that of its task. */
export type Admit = (start: { definition: AgentDefinition; taskId: string }) => Promise<string | undefined>;

export interface GateOptions {
  /** How many sub-agents there are from the main agent's child down to an agent, itself included. */
  depthOf(owner: WorkingAgent): number;
  /** For an agent of this name. */
  newAgentId(name: string): Promise<string>;
  admit?: Admit;
}

/** Throws `spawn_refused` or `agent_not_found`, with words for the model; clients are told of a start that failed. */
export function spawnGate(configuration: Configuration, { depthOf, newAgentId, admit }: GateOptions): SpawnGate {
  const warned = new Set<string>();
  /** What a program gives must be right. A file may be written for another program, and its agent starts without what is not there. */
  const complain = (words: string, about: { definition: AgentDefinition; owner: WorkingAgent }) => {
    if (about.definition.source === "sdk") throw new AppError("spawn_refused", words);
    const message = `${words}. It starts without.`;
    if (!warned.has(message))
      about.owner.session.root.announce("session.warning", { warningType: "agent_file", message });
    warned.add(message);
  };
  const pass: SpawnGate = async (owner, input, callId) => {
    const { session } = owner;
    const { agents, skills, limits } = configuration;
    const definition = agents.get(input.agent_type);
    checkDepth(depthOf(owner), limits.maxDepth);
    const mistakes = [unknownTools(await toolsFor(definition, owner), definition), skills.unknownOf(definition)];
    for (const words of mistakes) if (words !== undefined) complain(words, { definition, owner });
    const choice = chooseModel({
      requested: input.model,
      agent: definition,
      session: {
        model: owner.model().id,
        reasoningEffort: session.state.reasoningEffort,
        known: modelNamed(owner.model().id, configuration),
      },
      ...availableModels(configuration),
      settings: limits.models,
    });
    const schema = input.schema ?? definition.schema;
    const unusable = schema && unusableSchema(schema);
    if (unusable !== undefined) throw new AppError("spawn_refused", unusable);
    const { mode, note } = modeOf(owner, input.mode ?? "sync");
    const name = input.name.trim() === "" ? definition.name : input.name;
    const id = await newAgentId(name);
    const refusal = await admit?.({ definition, taskId: id });
    if (refusal !== undefined) throw new AppError("spawn_refused", refusal);
    const overBudget = owner.budget.reserveSpawn(); // Last, so that what is refused otherwise does not count.
    if (overBudget !== undefined) throw new AppError("spawn_refused", overBudget);
    const isolation = input.isolation ?? definition.isolation;
    const isBuiltin = definition.source === "builtin";
    return {
      ...newHead(session.world.now()),
      kind: "agent",
      id,
      rootId: session.root.id,
      ownerId: session.id,
      callId: callId ?? id,
      agentType: definition.name,
      name,
      displayName: isBuiltin ? name : definition.displayName,
      description: input.description || definition.description,
      prompt: input.prompt,
      mode,
      isMultiTurn: session.parent === undefined && isolation === undefined, // Its worktree ends with its answer.
      model: choice.model,
      reasoningEffort: input.reasoning_effort ?? choice.reasoningEffort,
      modelSelectionSource: choice.modelSelectionSource,
      taskModelSource: choice.taskModelSource,
      note: [note, choice.note].filter(Boolean).join(" ") || undefined,
      inherit: input.inherit === undefined ? definition.inherit : toInherit(input.inherit),
      budget: lowerBudget(definition.budget, input.budget),
      isolation,
      place: inheritedPlace(owner),
      schema,
      owesEnd: false,
    };
  };
  return async (owner, input, callId) => {
    try {
      return await pass(owner, input, callId);
    } catch (error) {
      if (isRefusal(error))
        recordRefusal(error.message, { owner, input, callId, definition: configuration.agents.find(input.agent_type) });
      throw error;
    }
  };
}

const isRefusal = (error: unknown): error is AppError =>
  error instanceof AppError && (error.code === "spawn_refused" || error.code === "agent_not_found");

/** Everything that the agent could name. The `skill` tool is not there for every owner. */
async function toolsFor({ toolDefinitions }: AgentDefinition, { kit }: WorkingAgent): Promise<ToolRef[]> {
  const declared = toolDefinitions.map(({ name }) => ({ name, source: "host" as const }));
  return [...(await kit.all()), ...declared, { name: "skill", source: "builtin" }];
}

interface Refusal {
  owner: WorkingAgent;
  input: TaskInput;
  callId?: string;
  definition?: AgentDefinition;
}

/** The clients are told as of every other agent that failed: a start and its end. It has had no session, so its id is one that nobody else has. */
function recordRefusal(error: string, { owner, input, callId, definition }: Refusal): void {
  const { log, world } = owner.session;
  const id = world.newId();
  const about = {
    toolCallId: callId ?? id,
    agentName: definition?.name ?? input.agent_type,
    agentDisplayName: definition?.displayName ?? input.name,
    taskName: input.name,
  };
  const agentDescription = definition?.description ?? input.description;
  const parentId = owner.session.parent ? owner.session.id : undefined;
  const append: Session["append"] = (type, data) => log.append(type, data, { sessionId: id });
  const run = { append, parentId: owner.session.id, run: 1 };
  beginRun({ ...about, agentDescription, parentId }, run);
  endRun({ type: "subagent.failed", data: { ...about, error } }, run);
}

/** What is started by a confined agent is confined to the same folder, also after a restart without that agent. */
function inheritedPlace({ session: { place } }: WorkingAgent): AgentRecord["place"] {
  const { workingDirectory, confinement } = place;
  if (!confinement) return undefined;
  const { root, mirrors, closed } = confinement;
  return { workingDirectory, confinement: { root, mirrors: [...mirrors], closed: [...closed] } };
}

function checkDepth(depth: number, maxDepth: number): void {
  if (depth < maxDepth) return;
  throw new AppError(
    "spawn_refused",
    `Maximum sub-agent depth of ${maxDepth} reached. Do this work yourself instead of delegating it.`,
  );
}

type Mode = AgentRecord["mode"];

function modeOf({ session, kit: { definition } }: WorkingAgent, wanted: Mode): { mode: Mode; note?: string } {
  const isNested = session.parent !== undefined;
  if (wanted === "sync" || !isNested || definition?.nestedBackground === true) return { mode: wanted };
  return {
    mode: "sync",
    note: "Inside a sub-agent, background work runs as sync: this call has waited for the answer.",
  };
}
