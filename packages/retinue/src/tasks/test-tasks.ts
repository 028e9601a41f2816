/** For tests of tasks: a model that waits until it is released, and what the protocol says about tasks. */
import type { AgentTask, ClientTask, ShellTask, TaskInfo } from "@retinue/protocol";
import type { ModelRequest } from "../models/provider.ts";
import { call, type ScriptedCall, type Step, type Turn, when } from "../models/scripted.ts";
import type { SmallWorld, TestClient } from "../server/handlers/small-world.ts";

/** May start agents that really run in the background. */
export const LEAD = { name: "lead", description: "Leads others.", prompt: "You lead.", nestedBackground: true };

export function gate(): { open(): void; opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A turn that says nothing until it is released. */
export interface Held {
  turn: Turn;
  /** Settles when the model was asked. */
  reached: Promise<void>;
  go(): void;
}

export function held(...steps: Step[]): Held {
  const asked = gate();
  const door = gate();
  const turn = () => {
    asked.open();
    return [door.opened, ...steps];
  };
  return { turn, reached: asked.opened, go: door.open };
}

export const never = (): Held => held(new Promise(() => undefined));

/** A `task` call; the agent's name is its prompt, so that `when` finds its requests. */
export function delegate(name: string, more: object = {}): ScriptedCall {
  return call("task", {
    agent_type: "general-purpose",
    name,
    description: `does ${name}`,
    prompt: `do ${name}`,
    ...more,
  });
}

/** The next turn of the agent that was given this name. */
export const by = (name: string, ...steps: Step[]): Turn => byHeld(name, { turn: steps });
export const byHeld = (name: string, { turn }: Pick<Held, "turn">): Turn =>
  when((request) => promptOf(request).endsWith(`do ${name}`), turn);

/** The next turn of the main agent. */
export const main = (...steps: Step[]): Turn => mainHeld({ turn: steps });
export const mainHeld = ({ turn }: Pick<Held, "turn">): Turn =>
  when((request) => !/(^|\n)do \S+$/.test(promptOf(request)), turn);

/** What an agent was started with. */
function promptOf({ messages }: ModelRequest): string {
  const first = messages.find(({ role }) => role === "user");
  return first?.role === "user" && typeof first.content === "string" ? first.content.trimEnd() : "";
}

/** The texts of the user messages of a request: prompts and notifications. */
export function userTexts({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) =>
    message.role === "user" && typeof message.content === "string" ? [message.content] : [],
  );
}

/** The agent that was named last, in a result or a prompt: `agent_id: …`. */
export function idIn({ messages }: ModelRequest): string {
  const texts = messages.flatMap((message) =>
    message.role === "tool" ? [message.text] : message.role === "user" ? [String(message.content)] : [],
  );
  const found = [...texts.join("\n").matchAll(/agent_id:? "?([a-z0-9-]+)/g)].at(-1);
  if (!found?.[1]) throw new Error("nobody named an agent");
  return found[1];
}

/** The main agent uses a tool on the agent that was named last. */
export function mainOn(tool: "read_agent" | "write_agent", args: object = {}): Turn {
  return mainHeld({ turn: (request: ModelRequest) => [call(tool, { agent_id: idIn(request), ...args })] });
}

/** What the results of calls said to the model, in order. */
export function resultsIn(request: ModelRequest | undefined): string[] {
  return (request?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.text] : []));
}

export async function tasksOf(client: TestClient, sessionId: string): Promise<TaskInfo[]> {
  return (await client.call("session.tasks.list", { sessionId })).tasks;
}

export async function agentsOf(client: TestClient, sessionId: string): Promise<AgentTask[]> {
  return (await tasksOf(client, sessionId)).filter((task) => task.type === "agent");
}

export async function shellsOf(client: TestClient, sessionId: string): Promise<ShellTask[]> {
  return (await tasksOf(client, sessionId)).filter((task) => task.type === "shell");
}

export async function clientTasksOf(client: TestClient, sessionId: string): Promise<ClientTask[]> {
  return (await tasksOf(client, sessionId)).filter((task) => task.type === "client");
}

export async function agentNamed(client: TestClient, sessionId: string, name: string): Promise<AgentTask> {
  const found = (await agentsOf(client, sessionId)).find(({ displayName }) => displayName === name);
  if (!found) throw new Error(`no agent is called ${name}`);
  return found;
}

/** Starts a background agent without the model. */
export async function startAgent(
  client: TestClient,
  sessionId: string,
  name: string,
  more: object = {},
): Promise<string> {
  const params = { sessionId, agentType: "general-purpose", name, prompt: `do ${name}`, ...more };
  return (await client.call("session.tasks.startAgent", params)).agentId;
}

/** Waits until all events sent so far have arrived, since the answer to a call comes after them. */
export async function quiet(client: TestClient, sessionId: string): Promise<void> {
  await client.call("session.metadata.isProcessing", { sessionId });
}

export async function send({ client }: Pick<SmallWorld, "client">, sessionId: string, prompt = "go"): Promise<void> {
  await client.call("session.send", { sessionId, prompt });
}

/** The states of an agent's first run, according to its events. */
export function lifeOf(client: TestClient, agentId: string): string[] {
  return client.events
    .filter((event) => event.agentId === agentId && /^subagent\.(started|completed|failed)$/.test(event.type))
    .map(({ type, data }) => `${type.slice("subagent.".length)}${data.cancelled ? " (cancelled)" : ""}`);
}
