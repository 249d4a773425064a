/** A minimal model of enrolment rules. It takes over the versions that the backend generated. */
import type { EnrolmentPutResult, EnrolmentRule, EnrolmentRules } from '../../../src/storage/index.ts'

const MAX = 16

export class EnrolmentsModel {
  readonly #hasRevision: (type: string, name: string) => boolean
  readonly #types = new Map<string, { version: string; rules: readonly EnrolmentRule[] }>()

  constructor(hasRevision: (type: string, name: string) => boolean) {
    this.#hasRevision = hasRevision
  }

  put(type: string, rule: EnrolmentRule): EnrolmentPutResult {
    if (!this.#hasRevision(type, rule.revision)) return 'unknown_revision'
    const { rules } = this.list(type)
    if (rules.some((each) => JSON.stringify(each) === JSON.stringify(rule))) return 'unchanged'
    const others = rules.filter(({ name }) => name !== rule.name)
    if (others.length >= MAX) return 'full'
    this.#types.set(type, { version: 'new', rules: [...others, rule].toSorted((a, b) => (a.name < b.name ? -1 : 1)) })
    return 'stored'
  }

  remove(type: string, name: string): boolean {
    const { rules } = this.list(type)
    const others = rules.filter((rule) => rule.name !== name)
    if (others.length === rules.length) return false
    this.#types.set(type, { version: 'new', rules: others })
    return true
  }

  /** Takes over the version that the backend gave to a change. */
  changed(type: string, version: string): void {
    this.#types.set(type, { ...this.list(type), version })
  }

  list(type: string): EnrolmentRules {
    return this.#types.get(type) ?? { version: '', rules: [] }
  }

  uses(type: string, revision: string): boolean {
    return this.list(type).rules.some((rule) => rule.revision === revision)
  }
}
