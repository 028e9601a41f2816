/**
 * Keys of an agent that nobody reads.
 *
 * One that looks like a limit is refused: an agent whose list of tools is misspelt would have every tool. Any other is named in a warning, because files are
 * also written for other programs.
 */
import { AppError, type CustomAgentConfig } from "@retinue/protocol";
import { nearest } from "../nearest.ts";

/** They say what an agent may not do. */
const LIMITS: ReadonlySet<string> = new Set([
  "tools",
  "ceiling",
  "budget",
  "gates",
  "model-policy",
  "infer",
  "disable-model-invocation",
]);

export interface UnknownKey {
  /** It looks like a limit, so the agent must not run without it. */
  isLimit: boolean;
  words: string;
}

export function unknownKey(key: string, known: readonly string[], given: { isLimit?: boolean } = {}): UnknownKey {
  if (key === "<<")
    return { isLimit: true, words: "a key << is not read, so the agent is left out: write its fields out" };
  const meant = meantBy(key, known);
  const isLimit = given.isLimit || /tool/i.test(key) || (meant !== undefined && LIMITS.has(meant));
  const hint = meant === undefined ? `. There are: ${known.join(", ")}` : `. Did you mean ${meant}?`;
  return {
    isLimit,
    words: `there is no field '${key}'${isLimit ? ", so the agent is left out" : ", so it has no effect"}${hint}`,
  };
}

/** What a head has instead of a field that it means. Others are left alone: they may be for other programs. */
export function misspelt(data: unknown, known: readonly string[]): { key: string; words: string }[] {
  const keys = typeof data === "object" && data !== null ? Object.keys(data) : [];
  return keys.flatMap((key) => {
    const meant = known.includes(key) ? undefined : meantBy(key, known);
    if (meant === undefined || keys.includes(meant)) return [];
    return [{ key, words: `there is no field '${key}', so it has no effect. Did you mean ${meant}?` }];
  });
}

/** `modelPolicy`, `Model_Policy` and `allowed-tools` are near to what they mean in other words. */
function meantBy(key: string, known: readonly string[]): string | undefined {
  const plain = key
    .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll(/[_\s]/g, "-")
    .toLowerCase();
  return nearest(plain, known) ?? (plain.includes("tool") && known.includes("tools") ? "tools" : undefined);
}

/** An agent of a program. Other unknown fields are let pass: newer clients may send some. */
export function checkAgentFields({ customAgents = [] }: { customAgents?: readonly CustomAgentConfig[] }): void {
  for (const agent of customAgents) {
    const wrong = Object.keys(agent).find((key) => /tool/i.test(key) && key !== "tools" && key !== "toolDefinitions");
    if (wrong === undefined || agent.tools !== undefined) continue;
    const words = `The agent '${agent.name}' has a field '${wrong}', which does not exist, and no 'tools', so it would have every tool. Did you mean tools?`;
    throw new AppError("invalid_params", words);
  }
}
