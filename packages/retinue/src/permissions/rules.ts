/**
 * The rules of one session tree as they stand: what was configured, and what people answered "for this session" or "for this folder".
 *
 * Owns their changes. What holds beyond the session is loaded before the first decision and kept as documents (kept-rules.ts); deciding
 * itself needs no store, and is policy.ts.
 */
import { existsSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Approval, PermissionMode, PermissionRequest, PermissionRule } from "@retinue/protocol";
import {
  ALLOWED_DOMAIN,
  FOLDER_APPROVAL,
  FOLDER_RULE,
  folderKey,
  type Keeping,
  type Kept,
  type KeptEntry,
  loadFolder,
  loadKept,
} from "./kept-rules.ts";
import { askForAll, decide, isInside, isWithin, type Policy, ruleText, type Verdict } from "./policy.ts";

export interface RuleChange {
  add?: readonly PermissionRule[];
  remove?: readonly PermissionRule[];
  removeAll?: boolean;
}

export interface RulesOptions {
  workingDirectory: string;
  additionalDirectories?: readonly string[];
  /** What answers for this folder are kept under: the repository, or the folder. */
  locationKey?: string;
}

export class Rules {
  readonly #keeping: Keeping;
  #policy: Policy;
  #primary: string;
  #locationKey: string;
  #session: Approval[] = [];
  #location: KeptEntry<Approval>[];
  #locationRules: KeptEntry<PermissionRule>[];

  private constructor(
    { workingDirectory, additionalDirectories = [], locationKey = workingDirectory }: RulesOptions,
    { keeping, kept }: { keeping: Keeping; kept: Kept },
  ) {
    this.#keeping = keeping;
    this.#primary = workingDirectory;
    this.#locationKey = locationKey;
    this.#location = kept.approvals;
    this.#locationRules = kept.rules;
    this.#policy = {
      ...askForAll,
      directories: [workingDirectory, ...additionalDirectories, tmpdir()],
      allowedDomains: kept.domains,
    };
  }

  static async load(options: RulesOptions, keeping: Keeping): Promise<Rules> {
    const kept = await loadKept(keeping, options.locationKey ?? options.workingDirectory);
    return new Rules(options, { keeping, kept });
  }

  decide(request: PermissionRequest): Verdict {
    return decide(request, {
      ...this.#policy,
      ...(request.kind === "read" || request.kind === "write"
        ? { directories: withTargets(this.#policy.directories) }
        : {}),
      approved: [...this.#policy.approved, ...this.#locationRules.map(({ value }) => value)],
      approvals: [
        ...this.#session.map((approval) => ({ approval, scope: "session" as const })),
        ...this.#location.map(({ value: approval }) => ({ approval, scope: "location" as const })),
      ],
    });
  }

  get mode(): PermissionMode {
    return this.#policy.mode;
  }
  get isApproveAll(): boolean {
    return this.#policy.approveAll;
  }
  get directories(): readonly string[] {
    return this.#policy.directories;
  }
  get primary(): string {
    return this.#primary;
  }
  get locationKey(): string {
    return this.#locationKey;
  }
  get denied(): readonly PermissionRule[] {
    return this.#policy.denied;
  }

  /** What was set, without the answers of people. */
  get configured(): Omit<Policy, "approvals"> {
    const { approvals: _, ...configured } = this.#policy;
    return configured;
  }

  change(change: Partial<Omit<Policy, "approvals">>): void {
    this.#policy = { ...this.#policy, ...change };
  }

  setPrimary(path: string): void {
    const others = this.#policy.directories.filter((directory) => directory !== this.#primary);
    this.#primary = path;
    this.change({ directories: [path, ...others] });
  }

  addDirectory(path: string): void {
    if (!this.#policy.directories.includes(path)) this.change({ directories: [...this.#policy.directories, path] });
  }

  modify(change: RuleChange): void {
    this.change({ approved: changed(this.#policy.approved, change) });
  }

  /** The same for rules that are kept for the folder. */
  modifyLocation(change: RuleChange): void {
    const before = this.#locationRules;
    const after = changed(
      before.map(({ value }) => value),
      change,
    );
    this.#locationRules = after.map((value) => ({ key: folderKey(this.#locationKey, value), value }));
    const left = new Set(this.#locationRules.map(({ key }) => key));
    for (const { key } of before) if (!left.has(key)) this.#keeping.keep(FOLDER_RULE.remove(key));
    for (const { key, value } of this.#locationRules) this.#keeping.keep(FOLDER_RULE.put(key, value));
  }

  /** From now on the answers of another folder count, in place of those of the present one. */
  async useLocation(locationKey: string): Promise<{
    changed: boolean;
    approvals: readonly Approval[];
    rules: readonly PermissionRule[];
  }> {
    const { approvals, rules } = await loadFolder(this.#keeping, locationKey);
    const changed = locationKey !== this.#locationKey;
    this.#locationKey = locationKey;
    this.#location = approvals;
    this.#locationRules = rules;
    return { changed, approvals: approvals.map(({ value }) => value), rules: rules.map(({ value }) => value) };
  }

  approveForSession(approval: Approval): void {
    this.#session.push(approval);
  }

  approveForLocation(approval: Approval, locationKey = this.#locationKey): void {
    this.keepForLocation(approval, locationKey);
    if (locationKey !== this.#locationKey) this.#session.push(approval); // Kept for another folder, and it was an answer here as well.
  }

  /** Kept for a folder without being an answer in this session. */
  keepForLocation(approval: Approval, locationKey: string): void {
    const key = folderKey(locationKey, approval);
    this.#keeping.keep(FOLDER_APPROVAL.put(key, approval));
    if (locationKey === this.#locationKey) this.#location.push({ key, value: approval });
  }

  allowDomain(domain: string, { isPermanent = false }: { isPermanent?: boolean } = {}): void {
    this.change({ allowedDomains: [...this.#policy.allowedDomains, domain] });
    if (isPermanent) this.#keeping.keep(ALLOWED_DOMAIN.put(domain, { domain }));
  }

  /** Answers for the session are forgotten at once; those for the folder include what other sessions have added. */
  async resetApprovals({ includeLocation = false }: { includeLocation?: boolean } = {}): Promise<void> {
    this.#session = [];
    if (!includeLocation) return;
    const own = { approvals: this.#location, rules: this.#locationRules };
    this.#location = [];
    this.#locationRules = [];
    const all = await loadFolder(this.#keeping, this.#locationKey);
    for (const { key } of [...own.approvals, ...all.approvals]) this.#keeping.keep(FOLDER_APPROVAL.remove(key));
    for (const { key } of [...own.rules, ...all.rules]) this.#keeping.keep(FOLDER_RULE.remove(key));
  }

  isPathAllowed(path: string): boolean {
    return isInside(path, this.#policy);
  }

  isInWorkspace(path: string): boolean {
    return isWithin(this.#primary, path);
  }
}

/** A folder that is reached through a link is the same folder under both names. */
function withTargets(directories: readonly string[]): string[] {
  return directories.flatMap((directory) => {
    const target = existsSync(directory) ? realpathSync(directory) : directory;
    return target === directory ? [directory] : [directory, target];
  });
}

function changed(
  rules: readonly PermissionRule[],
  { add = [], remove = [], removeAll = false }: RuleChange,
): PermissionRule[] {
  const removed = new Set(remove.map(ruleText));
  return [...(removeAll ? [] : rules.filter((rule) => !removed.has(ruleText(rule)))), ...add];
}
