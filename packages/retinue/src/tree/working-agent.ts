/** An agent at work, main agent or sub-agent, put together from the parts of its session tree. */
import type { AskBroker } from "../asks/broker.ts";
import type { Hooks } from "../hooks/hooks.ts";
import type { Agent, AgentSettings } from "../loop/agent.ts";
import { RunClock } from "../loop/run-clock.ts";
import { Slot } from "../loop/slot.ts";
import type { ModelChoice } from "../models/catalog.ts";
import type { Session } from "../session/session.ts";
import { type Budget, Meter } from "./budget.ts";
import { Derived } from "./derived.ts";
import { Gates } from "./gates.ts";
import { lowerBudget } from "./limits.ts";
import type { TreeParts } from "./parts.ts";
import { Toolkit, type ToolkitOptions } from "./toolkit.ts";

export interface WorkingAgentOptions extends Omit<ToolkitOptions, "above" | "tasks"> {
  session: Session;
  parent?: WorkingAgent;
  pathNames?: readonly string[];
  /** A sub-agent's; the main agent's is worked out from the session and the selected definition. */
  budget?: Budget;
  /** Keeps how long the agent has worked in a run that has a time limit; undefined when the run is over. */
  onWorked?(elapsedMs: number | undefined): void;
  /** How an agent starts other agents and reads their answers. */
  tasks(owner: WorkingAgent, call: Parameters<ToolkitOptions["tasks"]>[0]): ReturnType<ToolkitOptions["tasks"]>;
}

export class WorkingAgent implements Agent {
  readonly session: Session;
  readonly pathNames: readonly string[];
  readonly slot: Slot;
  readonly budget: Meter;
  readonly kit: Toolkit;
  readonly gates: Gates;
  readonly name: string | undefined;
  readonly #parts: TreeParts;
  readonly #budget = new Derived<Budget>();

  constructor({ session, parent, pathNames = [], budget, onWorked, tasks, ...kit }: WorkingAgentOptions) {
    this.#parts = kit.parts;
    this.session = session;
    this.pathNames = pathNames;
    this.name = kit.definition?.name;
    const budgetNow = () => budget ?? this.#ownBudget();
    const limitMs = () => limitMsOf(budgetNow());
    const clock = new RunClock({ now: session.world.now, above: parent?.slot.clock, limitMs, note: onWorked });
    this.slot = new Slot(parent ? kit.parts.limiter : undefined, clock);
    // The main agent's budget is per run; a sub-agent's is for its lifetime.
    this.budget = new Meter(budgetNow, {
      above: parent?.budget,
      isPerRun: !parent,
      onTurn: () => clock.note(),
      billed: () => kit.parts.usage.nanoAiu,
      seconds: () => clock.elapsedMs / 1000,
    });
    this.kit = new Toolkit(this, { ...kit, above: parent?.kit, tasks: (call) => tasks(this, call) });
    this.gates = new Gates(this, { parts: kit.parts, definition: () => this.kit.definition });
  }

  get hooks(): Hooks {
    return this.#parts.hooks;
  }
  get asks(): AskBroker {
    return this.#parts.asks;
  }
  get settings(): AgentSettings {
    return this.#parts.configuration.settings;
  }
  get permissions(): Agent["permissions"] {
    const { rules, participants } = this.#parts;
    return { rules, answering: (request) => participants.answering(request) };
  }

  model(): ModelChoice {
    return this.#parts.configuration.models.choose(this.session.state.model);
  }

  /** The main agent's: that of the session, and of the definition that it has taken on. */
  #ownBudget(): Budget {
    const { budget } = this.#parts.configuration.current;
    const { definition } = this.kit;
    return this.#budget.get([budget, definition], () => lowerBudget(budget ?? {}, definition?.budget));
  }
}

const limitMsOf = ({ maxSeconds }: Budget): number | undefined =>
  maxSeconds === undefined ? undefined : maxSeconds * 1000;
