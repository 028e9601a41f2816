/**
 * The current rules of one session tree: what was configured, and what people answered.
 *
 * Owns combining both, and changes of the configured rules. Answers of people are in standing-answers.ts; deciding, which needs no
 * store, is in policy.ts.
 */
import { tmpdir } from "node:os";
import { AppError, type PermissionRequest, type PermissionRule } from "@retinue/protocol";
import { isWithin, realPath } from "../real-path.ts";
import type { Confinement } from "../session/session.ts";
import { counterpartsOf, withCounterparts } from "./confinement.ts";
import { ALLOWED_DOMAIN, type Keeping, type Kept, loadKept } from "./kept-rules.ts";
import { deniedPaths, withTargets } from "./path-rules.ts";
import { askForAll, decide, isReadRule, type Policy, ruleText, type Verdict } from "./policy.ts";
import { type RuleContext, ruleProblem } from "./rule-problems.ts";
import { inOwnWords } from "./rule-words.ts";
import { type RuleChange, StandingAnswers, withChange } from "./standing-answers.ts";

export interface RulesOptions {
  workingDirectory: string;
  additionalDirectories?: readonly string[];
  /** The key of answers for this folder: the repository, or the folder. */
  locationKey?: string;
}

/** Where a call is made. */
export interface RulesPlace {
  workingDirectory?: string;
  confinement?: Confinement;
}

/** The configured rules, without the answers of people. */
export type Configured = Omit<Policy, "approvals" | "shell">;

export class Rules {
  readonly places: Places;
  readonly answers: StandingAnswers;
  readonly #keeping: Keeping;
  #policy: Configured;

  private constructor(
    { workingDirectory, additionalDirectories = [], locationKey = workingDirectory }: RulesOptions,
    { keeping, kept }: { keeping: Keeping; kept: Kept },
  ) {
    const { approvals: _, ...nothingAllowed } = askForAll;
    this.#keeping = keeping;
    this.#policy = {
      ...nothingAllowed,
      directories: [workingDirectory, ...additionalDirectories, tmpdir()],
      allowedDomains: kept.domains,
    };
    this.places = new Places(this, workingDirectory);
    this.answers = new StandingAnswers(locationKey, { keeping, kept });
  }

  static async load(options: RulesOptions, keeping: Keeping): Promise<Rules> {
    const kept = await loadKept(keeping, options.locationKey ?? options.workingDirectory);
    return new Rules(options, { keeping, kept });
  }

  /** `workingDirectory` is where a command line would run; without it none counts as one that only reads. */
  decide(request: PermissionRequest, { workingDirectory, confinement }: RulesPlace = {}): Verdict {
    const { approved } = this.#policy;
    const { directories, denied } = this.#policyIn(confinement);
    const isOfPath = request.kind === "read" || request.kind === "write" || request.kind === "shell";
    return decide(request, {
      ...this.#policy,
      denied,
      directories: isOfPath ? withTargets(directories) : directories,
      approved: [...approved, ...this.answers.rules],
      approvals: this.answers.approvals,
      ...(workingDirectory === undefined ? {} : { shell: { workingDirectory, searchPath: process.env.PATH ?? "" } }),
    });
  }

  /** In a worktree it stands in for the working folder, and denials of files there hold for it. */
  #policyIn(confinement: Confinement | undefined): Pick<Configured, "directories" | "denied"> {
    const { directories, denied } = this.#policy;
    if (!confinement) return { directories, denied };
    const [primary = confinement.root] = directories;
    const own = counterpartsOf(realPath(primary), confinement)[0] ?? confinement.root;
    const isMirrored = (directory: string) => confinement.mirrors.some((each) => isWithin(each, realPath(directory)));
    return {
      directories: [own, confinement.root, ...directories.filter((directory) => !isMirrored(directory))],
      denied: withCounterparts(denied, { confinement, base: primary }),
    };
  }

  /** What must not be read although the folder above it may be: the paths of deny rules, also with links resolved. */
  unreadable(confinement?: Confinement): readonly string[] {
    const { directories, denied } = this.#policyIn(confinement);
    const named = denied.filter(isReadRule).flatMap(({ argument }) => argument ?? []);
    return deniedPaths(named, directories[0] ?? "/");
  }

  /** Replaced with every change, never altered. */
  get policy(): Configured {
    return this.#policy;
  }

  change(change: Partial<Configured>): void {
    this.#policy = { ...this.#policy, ...change };
  }

  /** The rules in our own words. Throws when one is not understood or could never match. Rules that are stored already are not looked at again. */
  usable(rules: readonly PermissionRule[], context: RuleContext): PermissionRule[] {
    return rules.flatMap((rule) => {
      const own = inOwnWords(rule);
      const problem = ruleProblem(own, context);
      if (problem) throw new AppError("invalid_params", `The rule ${ruleText(rule)} cannot be used: ${problem}.`);
      // A tool of the host may have the name that another program has for a kind.
      return own !== rule && rule.argument === null ? [own, rule] : [own];
    });
  }

  modify(change: RuleChange): void {
    this.change({ approved: withChange(this.#policy.approved, change) });
  }

  allowDomain(domain: string, { isPermanent = false }: { isPermanent?: boolean } = {}): void {
    this.change({ allowedDomains: [...this.#policy.allowedDomains, domain] });
    if (isPermanent) this.#keeping.keep(ALLOWED_DOMAIN.put(domain, { domain }));
  }
}

/** The folders in which reads and writes may be allowed: the working folder, and added ones. */
class Places {
  readonly #rules: Rules;
  #primary: string;

  constructor(rules: Rules, primary: string) {
    this.#rules = rules;
    this.#primary = primary;
  }

  get primary(): string {
    return this.#primary;
  }

  set primary(path: string) {
    const others = this.#rules.policy.directories.filter((directory) => directory !== this.#primary);
    this.#primary = path;
    this.#rules.change({ directories: [path, ...others] });
  }

  add(path: string): void {
    const { directories } = this.#rules.policy;
    if (!directories.includes(path)) this.#rules.change({ directories: [...directories, path] });
  }

  isAllowed(path: string): boolean {
    const { directories, isPathUnrestricted } = this.#rules.policy;
    return isPathUnrestricted || withTargets(directories).some((directory) => isWithin(directory, realPath(path)));
  }

  isInWorkspace(path: string): boolean {
    return isWithin(realPath(this.#primary), realPath(path));
  }
}
