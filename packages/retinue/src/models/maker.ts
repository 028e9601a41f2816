/**
 * Who made a model, by its name: `openai`, `anthropic` … Two models of one maker have much in common, whoever serves them.
 *
 * Only what stands after the last slash counts: before it are providers and repositories. An unknown name is a family of its own, by its first word.
 */

const MAKERS: readonly (readonly [maker: string, names: string])[] = [
  ["openai", "gpt|chatgpt|o[1-9]|codex|davinci"],
  ["anthropic", "claude"],
  ["google", "gemini|gemma|palm"],
  ["meta", "llama|codellama"],
  ["alibaba", "qwen|qwq|qvq"],
  ["mistral", "mistral|mixtral|ministral|magistral|codestral|devstral|pixtral"],
  ["deepseek", "deepseek"],
  ["xai", "grok"],
  ["microsoft", "phi|wizardlm"],
  ["cohere", "command|aya|c4ai"],
  ["moonshot", "kimi|moonshot"],
  ["zhipu", "glm|chatglm"],
  ["amazon", "nova|titan"],
  ["ibm", "granite"],
  ["nvidia", "nemotron"],
];

/** At the beginning of a word: `us.anthropic.claude-4` is a Claude, and `bigpt` is no GPT. */
const PATTERNS = MAKERS.map(([maker, names]) => [maker, new RegExp(`(?<![a-z0-9])(?:${names})`)] as const);

/** A name with several words is by whom it names first: `deepseek-r1-distill-llama-70b` is a DeepSeek. */
export function makerOf(model: string): string {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  const found = PATTERNS.flatMap(([maker, pattern]) => {
    const at = pattern.exec(name)?.index;
    return at === undefined ? [] : [{ maker, at }];
  });
  const [first] = found.sort((a, b) => a.at - b.at);
  return first?.maker ?? /^[a-z]+/.exec(name)?.[0] ?? name;
}
