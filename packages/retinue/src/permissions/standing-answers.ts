/**
 * Answers that hold for longer than one call: "for this session", or "for this folder".
 *
 * Answers for a folder are loaded before the first decision and stored as documents (kept-rules.ts). Other sessions in the same folder
 * may change them at the same time, so each is a document of its own.
 */
import type { Approval, PermissionRule } from "@retinue/protocol";
import {
  FOLDER_APPROVAL,
  FOLDER_RULE,
  folderKey,
  type Keeping,
  type Kept,
  type KeptEntry,
  loadFolder,
} from "./kept-rules.ts";
import { type Policy, ruleText } from "./policy.ts";
import { inOwnWords } from "./rule-words.ts";

export interface RuleChange {
  add?: readonly PermissionRule[];
  remove?: readonly PermissionRule[];
  removeAll?: boolean;
}

export class StandingAnswers {
  readonly #keeping: Keeping;
  #locationKey: string;
  #session: Approval[] = [];
  #location: KeptEntry<Approval>[];
  #locationRules: KeptEntry<PermissionRule>[];

  constructor(locationKey: string, { keeping, kept }: { keeping: Keeping; kept: Kept }) {
    this.#keeping = keeping;
    this.#locationKey = locationKey;
    this.#location = kept.approvals;
    this.#locationRules = kept.rules;
  }

  /** The key of answers for this folder. */
  get locationKey(): string {
    return this.#locationKey;
  }

  get approvals(): Policy["approvals"] {
    return [
      ...this.#session.map((approval) => ({ approval, scope: "session" as const })),
      ...this.#location.map(({ value: approval }) => ({ approval, scope: "location" as const })),
    ];
  }

  /** Rules that are kept for the folder. */
  get rules(): readonly PermissionRule[] {
    return this.#locationRules.map(({ value }) => value);
  }

  forSession(approval: Approval): void {
    this.#session.push(approval);
  }

  forLocation(approval: Approval, locationKey = this.#locationKey): void {
    this.keep(approval, locationKey);
    if (locationKey !== this.#locationKey) this.#session.push(approval); // It was also given here.
  }

  /** Stores an answer for a folder without applying it to this session. */
  keep(approval: Approval, locationKey: string): void {
    const key = folderKey(locationKey, approval);
    this.#keeping.keep(FOLDER_APPROVAL.put(key, approval));
    if (locationKey === this.#locationKey) this.#location.push({ key, value: approval });
  }

  modifyRules(change: RuleChange): void {
    const before = this.#locationRules;
    const after = withChange(this.rules, change);
    this.#locationRules = after.map((value) => ({ key: folderKey(this.#locationKey, value), value }));
    const left = new Set(this.#locationRules.map(({ key }) => key));
    for (const { key } of before) if (!left.has(key)) this.#keeping.keep(FOLDER_RULE.remove(key));
    for (const { key, value } of this.#locationRules) this.#keeping.keep(FOLDER_RULE.put(key, value));
  }

  /** Uses the answers of another folder instead of those of the current one. */
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
    return { changed, approvals: approvals.map(({ value }) => value), rules: this.rules };
  }

  /** Forgets the answers for the session; with `includeLocation` also those for the folder, of other sessions too. */
  async reset({ includeLocation = false }: { includeLocation?: boolean } = {}): Promise<void> {
    this.#session = [];
    if (!includeLocation) return;
    const own = { approvals: this.#location, rules: this.#locationRules };
    this.#location = [];
    this.#locationRules = [];
    const all = await loadFolder(this.#keeping, this.#locationKey);
    for (const { key } of [...own.approvals, ...all.approvals]) this.#keeping.keep(FOLDER_APPROVAL.remove(key));
    for (const { key } of [...own.rules, ...all.rules]) this.#keeping.keep(FOLDER_RULE.remove(key));
  }
}

/** Rules after a change of them. */
export function withChange(
  rules: readonly PermissionRule[],
  { add = [], remove = [], removeAll = false }: RuleChange,
): PermissionRule[] {
  const removed = new Set([...remove, ...remove.map(inOwnWords)].map(ruleText));
  return [...(removeAll ? [] : rules.filter((rule) => !removed.has(ruleText(rule)))), ...add];
}
