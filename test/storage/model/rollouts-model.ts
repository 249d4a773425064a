/** A minimal model of rollout reports. Their bound is above what the commands reach. */
import type { RolloutHead, RolloutPutResult, RolloutReport } from '../../../src/storage/index.ts'

export class RolloutsModel {
  readonly #types = new Map<string, readonly RolloutReport[]>()

  put(type: string, report: RolloutReport): RolloutPutResult {
    const stored = this.list(type).find(({ name }) => name === report.name)
    const others = this.list(type).filter(({ name }) => name !== report.name)
    this.#types.set(
      type,
      [...others, report].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    )
    return stored?.head === report.head ? 'updated' : 'changed'
  }

  remove(type: string, removed: string): string | null {
    const stored = this.list(type).find(({ name }) => name === removed)
    this.#types.set(
      type,
      this.list(type).filter(({ name }) => name !== removed),
    )
    return stored?.head ?? null
  }

  list(type: string): readonly RolloutReport[] {
    return this.#types.get(type) ?? []
  }

  heads(type: string): readonly RolloutHead[] {
    return this.list(type).map(({ name, head }) => ({ name, head }))
  }
}
