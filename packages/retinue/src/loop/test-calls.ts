/** For tests of calls: the main agent of a real session, ad-hoc tools, and calls as if the model had just made them. */
import type { EventData, ParamsInput, PermissionRequest } from "@retinue/protocol";
import * as z from "zod";
import { inSmallWorld, type SmallWorld } from "../server/handlers/small-world.ts";
import { type CallContext, defineTool, type Outcome, success, type Tool } from "../tools/tool.ts";
import { type Agent, toolset } from "./agent.ts";
import { runCalls } from "./calls.ts";

export interface CallScene extends SmallWorld {
  agent: Agent;
  sessionId: string;
  /** Appends an answer of the model with these calls; none of them has started. */
  ask(...calls: AskedCall[]): void;
  /** Runs every open call. True when the turn ends with them. */
  run(tools: readonly Tool[], options?: RunOptions): Promise<boolean>;
  /** The recorded ends of calls, by call. */
  ends(): Promise<Map<string, EventData<"tool.execution_complete">>>;
  /** Answers the next permission that is asked for. */
  answer(result: ParamsInput<"session.permissions.handlePendingPermissionRequest">["result"]): Promise<string>;
  /** Sets the answer of a hook, by its type, from now on. */
  hook(type: string, output: (input: never) => object | undefined): void;
}

export interface AskedCall {
  id: string;
  name: string;
  arguments?: object;
}

interface RunOptions {
  signal?: AbortSignal;
  isResumed?: boolean;
  badArguments?: ReadonlyMap<string, string>;
}

export function mainAgent({ runtime }: SmallWorld, sessionId: string): Agent {
  return runtime.sessions.get(sessionId).main;
}

type Config = Parameters<SmallWorld["create"]>[0];

export async function inCallScene(test: (scene: CallScene) => Promise<void>, config: Config = {}): Promise<void> {
  await inSmallWorld([], async (world) => {
    const hooks = new Map<string, (input: never) => object | undefined>();
    const { client } = world;
    client.answers.set("hooks.invoke", ({ hookType, input }: { hookType: string; input: never }) => ({
      output: hooks.get(hookType)?.(input),
    }));
    const sessionId = await world.create(config);
    const agent = mainAgent(world, sessionId);
    await test({
      ...world,
      agent,
      sessionId,
      ask: (...calls) => ask(agent, calls),
      run: async (tools, { signal = new AbortController().signal, isResumed, badArguments = new Map() } = {}) => {
        const calls = [...agent.session.state.openCalls.values()];
        return await runCalls(agent, { calls, toolset: toolset(tools), badArguments, signal, isResumed });
      },
      ends: async () => {
        await client.call("session.metadata.isProcessing", { sessionId });
        return new Map(client.of("tool.execution_complete").map((end) => [end.toolCallId, end]));
      },
      answer: async (result) => {
        const settled = client.of("permission.completed").length;
        await client.until(() => client.of("permission.requested").length > settled);
        const requestId = client.of("permission.requested").at(-1)?.requestId ?? "";
        const params = { sessionId, requestId, result };
        // After a restart the event of an ask can come before its call has opened it again.
        while (!(await client.call("session.permissions.handlePendingPermissionRequest", params)).success);
        return requestId;
      },
      hook: (type, output) => void hooks.set(type, output),
    });
  });
}

function ask({ session }: Agent, calls: readonly AskedCall[]): void {
  session.append("assistant.message", {
    messageId: "m",
    content: "",
    turnId: "7",
    interactionId: "i",
    toolRequests: calls.map(({ id, name, arguments: args = {} }) => ({
      toolCallId: id,
      name,
      arguments: args,
      type: "function" as const,
    })),
  });
}

/** A tool that remembers its arguments. */
export interface Probe extends Tool {
  readonly ran: unknown[];
}

export function probe(
  name: string,
  {
    permission,
    needsNoAsk,
    outcome = () => success(`${name} is done`),
    readOnly = false,
    ...more
  }: {
    permission?: PermissionRequest;
    needsNoAsk?: boolean;
    outcome?: (context: CallContext) => Outcome | Promise<Outcome>;
    readOnly?: boolean;
    isTerminal?: boolean;
    mcp?: Tool["mcp"];
  } = {},
): Probe {
  const ran: unknown[] = [];
  const tool = defineTool({
    name,
    description: name,
    input: () => z.looseObject({}),
    readOnly,
    prepare: (args, context) => ({
      permission,
      needsNoAsk,
      run: async () => {
        ran.push(args);
        return await outcome(context);
      },
    }),
  });
  return { ...tool, ...more, ran };
}
