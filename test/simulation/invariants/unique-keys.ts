/**
 * Checks unique keys.
 *
 *   I21  a submit conflicts with the last task that was queued with its key exactly while that task waits, or runs
 *        under a key that lasts until it finished; a task that is in flight is never replaced             (D118)
 */
import type { NewTask, StorageCall, SubmitItemResult, TaskPlace } from '../../../src/storage/index.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

interface Holder {
  readonly id: string
  readonly until: 'started' | 'finished'
}

class UniqueKeyCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  /** The last task that was queued with a key, by type and key. */
  readonly #holders = new Map<string, Holder>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  async executed({ group, method, args }: StorageCall, result: unknown): Promise<void> {
    if (group !== 'tasks' || method !== 'submit') return
    const [type, , tasks] = args as [string, number, readonly NewTask[]]
    const results = result as readonly SubmitItemResult[]
    const isQueued = (at: number): boolean => results[at]?.kind === 'queued'
    const replaced = results.flatMap((each) => (each.kind === 'queued' ? (each.replaced ?? []) : []))
    for (const [at, task] of tasks.entries()) {
      // What a later item replaces, or stores anew, is not after the call where it was before.
      const later = tasks.filter((_, other) => other > at && isQueued(other)).map(({ id }) => id)
      const one = results[at]
      if (one !== undefined) await this.#submitted(type, task, one, new Set([...replaced, ...later]))
    }
  }

  storeLost(): void {
    this.#holders.clear()
  }

  async #submitted(
    type: string,
    { id, key, unique }: NewTask,
    result: SubmitItemResult,
    changed: ReadonlySet<string>,
  ): Promise<void> {
    const name = `${type} ${unique?.key}`
    const holder = unique === undefined ? undefined : this.#holders.get(name)
    const isReplacing = result.kind === 'queued' && result.replaced !== undefined
    if (isReplacing && (result.replaced !== holder?.id || unique?.onConflict !== 'replace'))
      this.#deps.fail('I21', `task ${id} replaced ${result.replaced}, and its key names ${holder?.id}`)
    if (result.kind === 'duplicate' && result.duplicateOf !== id && key === null && result.duplicateOf !== holder?.id)
      this.#deps.fail('I21', `task ${id} is a duplicate of ${result.duplicateOf}, and its key names ${holder?.id}`)
    if (holder !== undefined && holder.id !== id && !changed.has(holder.id)) {
      const [place = null] = await this.#deps.backend().tasks.locate(type, [holder.id])
      this.#checkConflict(id, holder, place, result)
    }
    if (result.kind !== 'queued') return
    // An id that is queued again is a new task, whatever key it had before.
    for (const [other, { id: holderId }] of this.#holders) if (holderId === id) this.#holders.delete(other)
    if (unique !== undefined) this.#holders.set(name, { id, until: unique.until })
  }

  #checkConflict(id: string, holder: Holder, place: TaskPlace | null, { kind }: SubmitItemResult): void {
    const isWaiting = place === 'pending' || place === 'scheduled'
    const isHeld = isWaiting || (place === 'in_flight' && holder.until === 'finished')
    if (isHeld && kind === 'queued')
      this.#deps.fail('I21', `task ${id} was queued, and ${holder.id} with the same unique key is ${place}`)
    if (isHeld && kind === 'duplicate') this.#deps.count('duplicate by unique key')
  }
}

export const checkUniqueKeys: CreateCheck = (deps) => new UniqueKeyCheck(deps)
