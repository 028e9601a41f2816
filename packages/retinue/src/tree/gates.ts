/**
 * The gates of one agent: which there are, what they come to, and how often a failure goes back to the model.
 *
 * Those of the session hold for the main agent, those of a definition for every agent that has it, at any depth. Each check is recorded
 * before it begins and has one end, whatever happens. How one gate is checked is in gate-checks.ts.
 */
import { type Gate, type GateOutcome, visible } from "@retinue/protocol";
import type { AgentDefinition } from "../agents/definition.ts";
import { gateIdentity } from "../agents/gate-identity.ts";
import type { Agent } from "../loop/agent.ts";
import { type AgentGates, endOpenCheck, type StopOptions } from "../loop/gates.ts";
import { stopOf } from "../session/stop.ts";
import type { GateVerdict } from "../tools/tool.ts";
import { checkGate, gateKind, gateName } from "./gate-checks.ts";
import words from "./gate-failed.md";
import type { TreeParts } from "./parts.ts";
import { askStopHooks } from "./stop-hooks.ts";

const MAX_FAILURES = 3;
/** How many times in a row a stop hook may make an agent go on. */
const MAX_VETOES = 8;

export interface GatesOptions {
  parts: Pick<TreeParts, "gate" | "configuration" | "gateCommands">;
  definition(): AgentDefinition | undefined;
}

interface OwnGate {
  gate: Gate;
  /** Whose it is; undefined for the session's. */
  definition?: AgentDefinition;
}

const PASSED: GateVerdict = { passed: true };

export class Gates implements AgentGates {
  readonly #agent: Agent;
  readonly #options: GatesOptions;
  /** At the last stop the agent waited for others. */
  #isPutOff = false;

  constructor(agent: Agent, options: GatesOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  get isOwed(): boolean {
    const { session } = this.#agent;
    const { gates, run, lastError } = session.state;
    if (gates.isPassed || lastError !== undefined || this.#isUndeclared || this.#all().length === 0) return false;
    if (session.parent) return run.hasAnswered;
    return gates.open !== undefined || (this.#isPutOff && gates.isUnchecked);
  }

  async atStop(result: string, { vetoes, isWaiting, signal }: StopOptions): Promise<GateVerdict> {
    this.#isPutOff = isWaiting;
    const { spent } = this.#agent.session.state.gates;
    if (this.#isUndeclared && spent !== undefined) return { passed: false, words: spent, isFinal: true };
    const isGate = this.#all().some(({ gate }) => "hook" in gate); // Then they are asked by the check.
    const isAsked = vetoes < MAX_VETOES && !isGate;
    const reason = isAsked ? await askStopHooks(this.#agent, result, { isAgain: vetoes > 0, signal }) : undefined;
    if (reason !== undefined) return { passed: false, words: reason, isFinal: false };
    return this.#isUndeclared || isWaiting ? PASSED : await this.check(result, { signal });
  }

  async check(result: string, { signal }: { signal: AbortSignal }): Promise<GateVerdict> {
    const all = this.#all();
    if (all.length === 0) return PASSED;
    const { session } = this.#agent;
    endOpenCheck(session);
    const attempt = session.state.gates.failures + 1;
    const about = { checkId: session.world.newId(), attempt };
    const gates = all.map(({ gate }) => ({ kind: gateKind(gate), gate: visible(gateName(gate)) }));
    session.append("gate.started", { ...about, gates });
    try {
      await session.log.recorded({ signal });
      const outcomes: GateOutcome[] = [];
      for (const own of all) outcomes.push(await this.#outcome(own, result, signal));
      return this.#settle(about, outcomes);
    } catch (error) {
      if (!stopOf(signal)?.isParked) endOpenCheck(session); // What is parked is checked again after a resume.
      throw error;
    }
  }

  #settle(about: { checkId: string; attempt: number }, outcomes: readonly GateOutcome[]): GateVerdict {
    const failed = outcomes.filter(({ passed }) => !passed);
    const isFinal = failed.some(({ isBlocked }) => isBlocked) || about.attempt > this.#maxFailures;
    const message = failed.length === 0 ? undefined : isFinal ? lastWords(failed) : failureWords(failed);
    this.#agent.session.append("gate.completed", {
      ...about,
      passed: failed.length === 0,
      isFinal: (failed.length > 0 && isFinal) || undefined,
      message,
      outcomes: [...outcomes],
    });
    return message === undefined ? PASSED : { passed: false, words: message, isFinal };
  }

  async #outcome({ gate, definition }: OwnGate, result: string, signal: AbortSignal): Promise<GateOutcome> {
    const agent = this.#agent;
    const startedAt = agent.session.world.now();
    const refusal = this.#refusal(gate, definition);
    const found =
      refusal === undefined
        ? await checkGate(gate, { agent, result, commands: this.#options.parts.gateCommands, signal })
        : { passed: false, problem: refusal, isBlocked: true };
    signal.throwIfAborted();
    const durationMs = agent.session.world.now() - startedAt;
    return { kind: gateKind(gate), gate: visible(gateName(gate)), ...found, durationMs };
  }

  /** A command that somebody else has written runs only when a person has allowed it. */
  #refusal(gate: Gate, definition: AgentDefinition | undefined): string | undefined {
    if (!("command" in gate)) return undefined;
    if (definition?.source === "remote") return "commands of agents from a remote catalog are not run";
    if (definition?.source !== "project" || this.#options.parts.gate.mayStart(gateIdentity(gate))) return undefined;
    return 'nobody has allowed this command of the project; "retinue trust add" does';
  }

  /** In autopilot the main agent says by `task_complete` that it is done, and by nothing else. */
  get #isUndeclared(): boolean {
    const { session } = this.#agent;
    return session.parent === undefined && session.state.modeNow === "autopilot";
  }

  get #maxFailures(): number {
    const isMain = this.#agent.session.parent === undefined;
    const ofSession = isMain ? this.#options.parts.configuration.current.maxGateFailures : undefined;
    const given = [ofSession, this.#options.definition()?.maxGateFailures].filter((each) => each !== undefined);
    return given.length === 0 ? MAX_FAILURES : Math.min(...given);
  }

  #all(): OwnGate[] {
    const definition = this.#options.definition();
    const ofSession = this.#agent.session.parent ? [] : (this.#options.parts.configuration.current.gates ?? []);
    return [...ofSession.map((gate) => ({ gate })), ...(definition?.gates ?? []).map((gate) => ({ gate, definition }))];
  }
}

/** For people, and for the agent above: nobody puts it right any more. */
const lastWords = (failed: readonly GateOutcome[]): string =>
  `The work was not accepted: ${failed.map(({ kind, gate, problem }) => `${kind} \`${gate}\`: ${problem ?? "it failed"}`).join("; ")}.`;

/** For the model, which goes on with it. The first paragraph is enough for people. */
function failureWords(failed: readonly GateOutcome[]): string {
  const lines = failed.map(({ gate, kind, problem = "it failed", output }) => {
    const shown = output ? `\n\n\`\`\`\n${output}\n\`\`\`` : "";
    return `- ${kind} \`${gate}\`: ${problem}${shown}`;
  });
  const names = failed.map(({ gate, kind }) => `${kind} \`${gate}\``).join(", ");
  return words
    .trim()
    .replace("{names}", () => names)
    .replace("{failures}", () => lines.join("\n"));
}
