/**
 * The terms of prompts that a command has handed out for a client to send.
 *
 * Most clients send back the text and nothing else, so the text is what they are known by. Kept in memory only: once it is sent, the terms are
 * in the inbox and then in the log.
 */
import type { PromptTerms } from "@retinue/protocol";
import type { HostedSession } from "./hosted-session.ts";

const MAX_PROMPTS = 50;

const bySession = new WeakMap<HostedSession, Map<string, PromptTerms>>();

export function giveTerms(target: HostedSession, prompt: string, terms: PromptTerms): void {
  const given = bySession.get(target) ?? new Map<string, PromptTerms>();
  bySession.set(target, given);
  given.set(prompt, terms);
  const [oldest] = given.keys();
  if (given.size > MAX_PROMPTS && oldest !== undefined) given.delete(oldest);
}

export function termsOf(target: HostedSession, prompt: string): PromptTerms | undefined {
  return bySession.get(target)?.get(prompt);
}
