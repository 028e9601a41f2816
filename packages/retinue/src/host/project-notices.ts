/** Tells each client once what of the project was left out, refused or renamed when the session was opened. */
import { configWarnings } from "../models/config.ts";
import type { Client } from "../tree/client.ts";
import type { Configuration } from "../tree/configuration.ts";
import type { TreeParts } from "../tree/parts.ts";

/** A project with more broken files has made its point. */
const MAX_PROBLEMS = 20;

type Notice = { warningType: string; message: string };

type Look = typeof import("../workspace/left-out.ts") & typeof import("../workspace/survey.ts");
let look: Look | undefined;

/** What looks at a project is loaded with the first session that reads the files of one. */
export async function readyToLook(): Promise<void> {
  look ??= { ...(await import("../workspace/left-out.ts")), ...(await import("../workspace/survey.ts")) };
}

export class ProjectNotices {
  readonly #tree: TreeParts;
  readonly #home: string;
  readonly #told = new WeakSet<Client>();

  constructor(tree: TreeParts, home: string) {
    this.#tree = tree;
    this.#home = home;
  }

  send(client: Client): void {
    if (this.#told.has(client)) return;
    this.#told.add(client);
    const { gate, configuration } = this.#tree;
    // A client that joins may be the first to ask for files of the project.
    const isFirst = configuration.current.enableConfigDiscovery === true && (gate.version === 0 || !look);
    // `session.start` must come first; it is appended in the same tick in which the client joins.
    if (isFirst) void Promise.all([gate.refresh(), readyToLook()]).then(() => this.#send());
    else queueMicrotask(() => this.#send());
  }

  #send(): void {
    const { root, configuration, gate, fileHooks, plugins } = this.#tree;
    const hasProject = configuration.current.enableConfigDiscovery === true;
    const leftOut = hasProject ? look?.leftOutLine(look.surveyProject(gate, this.#home), gate) : undefined;
    const settings = configWarnings(this.#home).map((message) => ({ warningType: "configuration", message }));
    const instructions = instructionNotices(configuration.instructions.warnings);
    const trust = leftOut === undefined ? [] : [{ warningType: "folder_trust", message: leftOut }];
    // Files of the user and of plugins are read whether or not the project's are.
    const files = fileNotices([...fileProblems(configuration), ...fileHooks.problems, ...plugins.current.problems]);
    for (const notice of [...settings, ...instructions, ...trust, ...files]) root.announce("session.warning", notice);
  }
}

/** What of the files of agents and skills is left out, or is other than they say. */
export function fileProblems({ agents, skills }: Pick<Configuration, "agents" | "skills">): readonly string[] {
  return [agents.problems.errors, agents.problems.warnings, skills.problems.errors, skills.problems.warnings].flat();
}

export function instructionNotices(warnings: readonly string[]): Notice[] {
  return warnings.slice(0, MAX_PROBLEMS).map((message) => ({ warningType: "instructions", message }));
}

export function fileNotices(problems: readonly string[]): Notice[] {
  return problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => ({ warningType: "project_file", message: /[.?]$/.test(problem) ? problem : `${problem}.` }));
}
