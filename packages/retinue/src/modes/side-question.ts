/** A side question: the model answers it from the conversation, and neither question nor answer is kept. */
import { AppError } from "@retinue/protocol";
import type { Agent } from "../loop/agent.ts";
import { reportFailure } from "../loop/model-failure.ts";
import { specsOf } from "../loop/model-request.ts";
import { NO_USAGE } from "../models/provider.ts";
import { withRetries } from "../models/retry.ts";

export async function askBeside(agent: Agent, question: string, { signal }: { signal: AbortSignal }): Promise<string> {
  const { session } = agent;
  const choice = agent.model();
  const startedAt = session.world.now();
  let answer = "";
  let usage = NO_USAGE;
  const toolset = await agent.kit.tools();
  const request = {
    model: choice.wireModel,
    system: session.state.systemPrompt ?? (await agent.kit.systemPrompt(toolset)),
    messages: [...session.state.completeMessages(), { role: "user" as const, content: question }],
    tools: specsOf(toolset), // Not to be used, but providers need them for a history with calls.
    toolChoice: "none" as const,
    stream: agent.settings.streaming,
    headers: { "x-initiator": "user" },
  };
  await withRetries(choice.provider, request, {
    signal,
    onPart: (part) => {
      if (part.type === "text") answer += part.delta;
      if (part.type === "end") usage = part.usage;
    },
    onFailure: (failure) => reportFailure(agent, failure, { choice, startedAt, initiator: "user" }),
    onRestart: () => {
      answer = "";
    },
  });
  session.announce("assistant.usage", {
    model: choice.id,
    ...usage,
    cost: choice.info.multiplier ?? 0,
    duration: session.world.now() - startedAt,
    initiator: "user",
    isByok: true,
  });
  if (answer.trim() === "") throw new AppError("model_failed", "The model returned no answer.");
  return answer;
}
