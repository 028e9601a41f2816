/** What all agents of a tree have used together, in words: the last line of a run and of a stored tree. */
import { type AgentTree, totalUsage, walk } from "@retinue/sdk";

export function totalsWords(tree: AgentTree): string {
  const { turns, calls, inputTokens, outputTokens } = totalUsage(tree);
  const agents = walk(tree).length - 1;
  return [
    count(turns, "turn"),
    count(calls, "call"),
    ...(agents > 0 ? [count(agents, "sub-agent")] : []),
    ...(inputTokens + outputTokens > 0 ? [`${inputTokens} tokens in, ${outputTokens} out`] : []),
  ].join(" · ");
}

function count(amount: number, word: string): string {
  return `${amount} ${word}${amount === 1 ? "" : "s"}`;
}
