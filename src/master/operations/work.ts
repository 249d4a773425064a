/**
 * @module master/operations/work
 * Work is one step of an operation: the items that were read, those that changed, and the head that follows from them.
 */
import { MAX_OPERATION_FAILURES } from '../../protocol/index.ts'
import { hasEnded, type Operation, type OperationStore } from './operation-store.ts'
import { placeOf, recounted, type Item, type StoredHead, type StoredPart } from './stored.ts'
import type { WorkItem } from './worker-steps.ts'

/** At least this many workers have to be judged before a share of them can stop an operation. */
const MIN_JUDGED = 10

export class Work {
  readonly #store: OperationStore
  readonly #operation: Operation
  readonly #parts = new Map<number, StoredPart>()
  readonly #changed = new Set<number>()
  readonly #changes: { readonly from: Item['s']; readonly to: Item['s'] }[] = []
  readonly #failures: { readonly id: string; readonly message: string }[]
  #active: readonly number[]
  #next: number

  constructor(store: OperationStore, operation: Operation) {
    this.#store = store
    this.#operation = operation
    this.#active = operation.head.active
    this.#next = operation.head.next
    this.#failures = [...operation.head.failures]
  }

  get active(): readonly number[] {
    return this.#active
  }

  /** @returns the items at positions, in order. */
  async items(positions: readonly number[]): Promise<readonly WorkItem[]> {
    const found: WorkItem[] = []
    for (const position of positions) {
      const place = placeOf(position)
      const part = await this.#part(place.part)
      const item = part.items[place.at]
      if (item === undefined) throw new TypeError(`operation ${this.#operation.id} has no item ${position}`)
      found.push({ item, patch: item.p === undefined ? undefined : part.patches[item.p] })
    }
    return found
  }

  /** @returns the positions of the next pending workers. */
  async pending(limit: number): Promise<readonly number[]> {
    const positions: number[] = []
    const { total } = this.#operation.head
    let isFirst = true
    for (let at = this.#next; at < total && positions.length < limit; at += 1) {
      const place = placeOf(at)
      if ((await this.#part(place.part)).items[place.at]?.s === 'pending') {
        positions.push(at)
        isFirst = false
      } else if (isFirst) {
        this.#next = at + 1
      }
    }
    return positions
  }

  /** Replaces items. */
  replace(positions: readonly number[], items: readonly Item[]): void {
    const active = new Set(this.#active)
    for (const [at, position] of positions.entries()) {
      const item = items[at]
      const place = placeOf(position)
      const part = this.#parts.get(place.part)
      const old = part?.items[place.at]
      if (item === undefined || part === undefined || old === undefined || old === item) continue
      this.#parts.set(place.part, { ...part, items: part.items.with(place.at, item) })
      this.#changed.add(place.part)
      if (old.s !== item.s) this.#changes.push({ from: old.s, to: item.s })
      if (item.s === 'active') active.add(position)
      else active.delete(position)
      const isFailure = item.s === 'failed' || item.s === 'refused'
      if (isFailure && this.#failures.length < MAX_OPERATION_FAILURES)
        this.#failures.push({ id: item.id, message: item.e ?? '' })
    }
    this.#active = [...active]
  }

  /** Why no further worker may begin, by the rules of the operation; null if one may. */
  stopReason(): string | null {
    const { stopAfter, stopShare, counts: before } = this.#operation.head
    const { failed, done } = recounted(before, this.#changes)
    if (stopAfter !== null && failed >= stopAfter)
      return failed === 1 ? '1 worker has failed' : `${failed} workers have failed`
    const judged = failed + done
    if (stopShare === null || judged < MIN_JUDGED || failed / judged < stopShare) return null
    return `${failed} of ${judged} workers have failed`
  }

  /**
   * Stores the step.
   *
   * @param masterId The step is dropped if another master has taken the operation over.
   * @returns the new results of items; empty if nothing was stored.
   */
  async commit(masterId: string, nowMs: number): Promise<readonly Item['s'][]> {
    const stop = this.stopReason()
    const counts = recounted(this.#operation.head.counts, this.#changes)
    const isDone = counts.pending === 0 && this.#active.length === 0
    const { head } = this.#operation
    const isEnding = head.state === 'running' && (stop !== null || isDone)
    if (this.#changed.size === 0 && this.#next === head.next && !isEnding) return []
    const parts = new Map([...this.#changed].map((n) => [n, this.#parts.get(n) as StoredPart]))
    const change = (latest: StoredHead): StoredHead | null => {
      if (latest.owner !== masterId) return null
      const next = { ...latest, counts, active: this.#active, next: this.#next, failures: this.#failures }
      if (hasEnded(latest.state)) return next
      if (stop !== null) return { ...next, state: 'stopped', reason: stop, endedMs: nowMs }
      return isDone ? { ...next, state: 'done', endedMs: nowMs } : next
    }
    const stored = await this.#store.update(this.#operation, change, parts)
    return stored === null ? [] : this.#changes.map(({ to }) => to)
  }

  async #part(n: number): Promise<StoredPart> {
    const known = this.#parts.get(n)
    if (known !== undefined) return known
    const part = await this.#store.part(this.#operation.type, this.#operation.id, n)
    this.#parts.set(n, part)
    return part
  }
}
