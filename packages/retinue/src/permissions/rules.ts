/**
 * The rules of one session tree as they stand: what was configured, and what people answered "for this session" or "for this folder".
 *
 * Owns their changes; answers for a folder are kept in the store. The decision itself is policy.ts.
 */
import { existsSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Approval, PermissionMode, PermissionRequest, PermissionRule } from "@retinue/protocol";
import type { Store } from "../store/store.ts";
import { askForAll, decide, isInside, isWithin, type Policy, ruleText, type Verdict } from "./policy.ts";

const KIND = "approvals";
/** Addresses that were approved for good, whatever the folder. No folder has this name. */
const DOMAINS = "*domains";
const RULES_KIND = "location-rules";

export interface RuleChange {
  add?: readonly PermissionRule[];
  remove?: readonly PermissionRule[];
  removeAll?: boolean;
}

export class Rules {
  readonly #store: Store;
  #policy: Policy;
  #primary: string;
  #locationKey: string;
  #session: Approval[] = [];
  #location: Approval[];
  #locationRules: PermissionRule[];

  constructor({
    store,
    workingDirectory,
    additionalDirectories = [],
    locationKey = workingDirectory,
  }: {
    store: Store;
    workingDirectory: string;
    additionalDirectories?: readonly string[];
    /** What answers for this folder are kept under: the repository, or the folder. */
    locationKey?: string;
  }) {
    this.#store = store;
    this.#primary = workingDirectory;
    this.#locationKey = locationKey;
    this.#location = readApprovals(store, locationKey);
    this.#locationRules = readRules(store, locationKey);
    this.#policy = {
      ...askForAll,
      directories: [workingDirectory, ...additionalDirectories, tmpdir()],
      allowedDomains: readDomains(store),
    };
  }

  decide(request: PermissionRequest): Verdict {
    return decide(request, {
      ...this.#policy,
      ...(request.kind === "read" || request.kind === "write"
        ? { directories: withTargets(this.#policy.directories) }
        : {}),
      approved: [...this.#policy.approved, ...this.#locationRules],
      approvals: [
        ...this.#session.map((approval) => ({ approval, scope: "session" as const })),
        ...this.#location.map((approval) => ({ approval, scope: "location" as const })),
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
    this.#locationRules = changed(this.#locationRules, change);
    this.#store.put(RULES_KIND, this.#locationKey, JSON.stringify(this.#locationRules));
  }

  /** From now on the answers of another folder count, in place of those of the present one. */
  useLocation(locationKey: string): {
    changed: boolean;
    approvals: readonly Approval[];
    rules: readonly PermissionRule[];
  } {
    const changed = locationKey !== this.#locationKey;
    this.#locationKey = locationKey;
    this.#location = readApprovals(this.#store, locationKey);
    this.#locationRules = readRules(this.#store, locationKey);
    return { changed, approvals: this.#location, rules: this.#locationRules };
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
    const all = [...readApprovals(this.#store, locationKey), approval];
    this.#store.put(KIND, locationKey, JSON.stringify(all));
    if (locationKey === this.#locationKey) this.#location = all;
  }

  allowDomain(domain: string, { isPermanent = false }: { isPermanent?: boolean } = {}): void {
    this.change({ allowedDomains: [...this.#policy.allowedDomains, domain] });
    if (isPermanent)
      this.#store.put(KIND, DOMAINS, JSON.stringify([...new Set([...readDomains(this.#store), domain])]));
  }

  resetApprovals({ includeLocation = false }: { includeLocation?: boolean } = {}): void {
    this.#session = [];
    if (!includeLocation) return;
    this.#location = [];
    this.#locationRules = [];
    this.#store.remove(KIND, this.#locationKey);
    this.#store.remove(RULES_KIND, this.#locationKey);
  }

  isPathAllowed(path: string): boolean {
    return isInside(path, this.#policy);
  }

  isInWorkspace(path: string): boolean {
    return isWithin(this.#primary, path);
  }
}

function readApprovals(store: Store, locationKey: string): Approval[] {
  const json = store.get(KIND, locationKey);
  return json === undefined ? [] : (JSON.parse(json) as Approval[]);
}

function readRules(store: Store, locationKey: string): PermissionRule[] {
  const json = store.get(RULES_KIND, locationKey);
  return json === undefined ? [] : (JSON.parse(json) as PermissionRule[]);
}

/** A folder that is reached through a link is the same folder under both names. */
function withTargets(directories: readonly string[]): string[] {
  return directories.flatMap((directory) => {
    const target = existsSync(directory) ? realpathSync(directory) : directory;
    return target === directory ? [directory] : [directory, target];
  });
}

function readDomains(store: Store): string[] {
  return JSON.parse(store.get(KIND, DOMAINS) ?? "[]") as string[];
}

function changed(
  rules: readonly PermissionRule[],
  { add = [], remove = [], removeAll = false }: RuleChange,
): PermissionRule[] {
  const removed = new Set(remove.map(ruleText));
  return [...(removeAll ? [] : rules.filter((rule) => !removed.has(ruleText(rule)))), ...add];
}
