/** @module storage/memory/enrolments  Implements `enrolments` of the contract: the rules of each type by name. */
import { MAX_ENROLMENTS } from '../../protocol/index.ts'
import { byName, type EnrolmentPutResult, type EnrolmentRule, type EnrolmentRules } from '../index.ts'
import type { Enrolments, Sync } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import type { MemoryRevisions } from './revisions.ts'
import { valueOf, type Store } from './store.ts'

interface OfType {
  readonly rules: Map<string, EnrolmentRule>
  /** The number of changes, and the time of the last one. */
  changes: number
  changedAtMs: number
}

export class MemoryEnrolments implements Sync<Enrolments> {
  readonly #store: Store
  readonly #revisions: () => MemoryRevisions
  readonly #types = new Map<string, OfType>()

  /** @param revisions Returns the revisions, which need the rules themselves. */
  constructor(store: Store, revisions: () => MemoryRevisions) {
    this.#store = store
    this.#revisions = revisions
  }

  put(type: string, rule: EnrolmentRule): EnrolmentPutResult {
    if (!this.#revisions().has(type, rule.revision)) return 'unknown_revision'
    const of = valueOf(this.#types, type, () => ({
      rules: new Map<string, EnrolmentRule>(),
      changes: 0,
      changedAtMs: 0,
    }))
    const stored = of.rules.get(rule.name)
    if (stored !== undefined && isEqual(stored, rule)) return 'unchanged'
    if (stored === undefined && of.rules.size >= MAX_ENROLMENTS) return 'full'
    const growth = sizeOf(rule) - (stored === undefined ? 0 : sizeOf(stored))
    this.#store.budget.require(growth)
    this.#store.budget.add(growth)
    const { name, revision, variant, managedBy, body } = rule
    of.rules.set(name, { name, revision, variant, managedBy, body })
    this.#changed(of)
    return 'stored'
  }

  remove(type: string, name: string): boolean {
    const of = this.#types.get(type)
    const stored = of?.rules.get(name)
    if (of === undefined || stored === undefined) return false
    of.rules.delete(name)
    this.#store.budget.add(-sizeOf(stored))
    this.#changed(of)
    return true
  }

  list(type: string): EnrolmentRules {
    const rules = [...(this.#types.get(type)?.rules.values() ?? [])]
    return { version: this.versionOf(type), rules: rules.toSorted(byName) }
  }

  versionOf(type: string): string {
    const of = this.#types.get(type)
    return of === undefined || of.changes === 0 ? '' : `${of.changedAtMs}.${of.changes}`
  }

  /** Records that a worker was enrolled with the revision. */
  use(type: string, revision: string): void {
    this.#revisions().use(type, revision)
  }

  /** Whether a rule names the revision. */
  uses(type: string, revision: string): boolean {
    return [...(this.#types.get(type)?.rules.values() ?? [])].some((rule) => rule.revision === revision)
  }

  #changed(of: OfType): void {
    of.changes += 1
    of.changedAtMs = this.#store.now()
  }
}

const isEqual = (a: EnrolmentRule, b: EnrolmentRule): boolean =>
  a.revision === b.revision && a.variant === b.variant && a.managedBy === b.managedBy && a.body === b.body
const sizeOf = ({ name, body }: EnrolmentRule): number => RECORD_OVERHEAD + name.length + body.length
