/**
 * Asks, before a session is opened, whether its folder is trusted, when it brings something that needs that.
 *
 * Where nobody can answer, it stays untrusted, and one line says what is left out.
 */
import { visible } from "@retinue/protocol";
import { ProjectGate } from "../project/gate.ts";
import { isTooWide } from "../project/root.ts";
import type { FolderTrust } from "../project/trust.ts";
import { leftOutLine, unallowed } from "../workspace/left-out.ts";
import { consentTo, type ProjectContent, surveyProject } from "../workspace/survey.ts";
import type { Terminal } from "./terminal.ts";
import { contentLines, programLines } from "./trust-words.ts";

export interface TrustQuestion {
  /** Where the session will work. */
  folder: string;
  home: string;
  trust: FolderTrust;
  terminal: Terminal;
  /** Aborted when the run is stopped: the question is then given up. */
  signal: AbortSignal;
  /** A session that leaves nothing behind asks for nothing that would have to be remembered. */
  isThrownAway?: boolean;
}

export async function settleTrust(question: TrustQuestion): Promise<void> {
  const { folder, home, trust, terminal } = question;
  const gate = new ProjectGate(folder, trust);
  await gate.refresh();
  const content = surveyProject(gate, home);
  const line = leftOutLine(content, gate);
  if (line === undefined) return;
  const { decision } = await trust.decisionOn(folder);
  const mayAsk = terminal.canAsk && !question.isThrownAway && !isTooWide(gate.root) && decision !== "declined";
  if (!mayAsk) return terminal.note(`! ${line}`);
  if (gate.isTrusted) await askAboutPrograms(question, { gate, content });
  else await askAboutFolder(question, { gate, content });
}

interface Found {
  gate: ProjectGate;
  content: ProjectContent;
}

async function askAboutFolder(
  { folder, trust, terminal, signal }: TrustQuestion,
  { gate, content }: Found,
): Promise<void> {
  terminal.note(`\n${visible(gate.root)} brings things that can run programs or steer agents:`);
  for (const line of contentLines(content)) terminal.note(line);
  const answer = await choose(terminal, signal, {
    question: "Trust this folder? [y = yes, n = not now, d = never ask again, then Enter] ",
    isAnswer: (text) => /^(y(es)?|no?|d)$/i.test(text),
    help: "Please answer y, n or d.",
  });
  if (answer?.startsWith("y")) {
    await trust.trust(folder, consentTo(content));
    return terminal.note('It is trusted. "retinue trust remove" takes that back.');
  }
  if (answer === "d") await trust.decline(folder);
  if (answer !== undefined) terminal.note('They are left out. "retinue trust add" would allow them.');
}

async function askAboutPrograms(
  { folder, trust, terminal, signal }: TrustQuestion,
  { gate, content }: Found,
): Promise<void> {
  const programs = unallowed(content, gate);
  const what = programs.hooks.length === 0 ? "MCP servers" : "programs";
  terminal.note(`\nThese ${what} of ${visible(gate.root)} are new or have changed since it was trusted:`);
  for (const line of programLines(programs)) terminal.note(line);
  const answer = await choose(terminal, signal, {
    question: "May they be started? [y = yes, n = not now, then Enter] ",
    isAnswer: (text) => /^(y(es)?|no?)$/i.test(text),
    help: "Please answer y or n.",
  });
  if (answer?.startsWith("y")) await trust.trust(folder, consentTo(programs));
  else if (answer !== undefined) terminal.note('They are not started. "retinue trust add" would allow them.');
}

/** The answer in small letters; undefined when there is none. */
async function choose(
  terminal: Terminal,
  signal: AbortSignal,
  { question, isAnswer, help }: { question: string; isAnswer(text: string): boolean; help: string },
): Promise<string | undefined> {
  for (;;) {
    const answer = (await terminal.ask(question, { signal }))?.trim().toLowerCase();
    if (answer === undefined || isAnswer(answer)) return answer;
    terminal.note(help);
  }
}
