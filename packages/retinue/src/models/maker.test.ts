import { expect, test } from "vitest";
import { makerOf } from "./maker.ts";

test.each([
  ["gpt-4.1", "openai"],
  ["openrouter/openai/gpt-4.1-mini", "openai"],
  ["p/o3-mini", "openai"],
  ["codex-mini-latest", "openai"],
  ["p/claude-sonnet-4-5", "anthropic"],
  ["us.anthropic.claude-opus-4", "anthropic"],
  ["Gemini-2.5-pro", "google"],
  ["google/gemma-3-27b", "google"],
  ["meta-llama/Llama-3.3-70B-Instruct", "meta"],
  ["ollama/qwen3-coder:30b", "alibaba"],
  ["devstral-small", "mistral"],
  ["deepseek-r1-distill-llama-70b", "deepseek"],
  ["grok-4", "xai"],
  ["phi-4", "microsoft"],
  ["command-r-plus", "cohere"],
  ["sphinx-1", "sphinx"],
  ["p/house-model", "house"],
  ["42", "42"],
])("%s is made by %s", (model, maker) => {
  expect(makerOf(model)).toBe(maker);
});
