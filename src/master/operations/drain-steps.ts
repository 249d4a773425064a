/**
 * @module master/operations/drain-steps
 * DrainSteps drains a worker, and waits until its process has left. At most `parallel` workers drain at a time, so that
 * a fleet can be drained while the others work.
 *
 * Repeating a drain changes nothing. A worker that left, and whose next process registered before its result was
 * stored, is drained again: this takes a master that stops within that second.
 */
import type { Backend } from '../../storage/index.ts'
import type { Clock } from '../../runtime/index.ts'
import type { Registry } from '../registry/index.ts'
import type { Operation } from './operation-store.ts'
import type { Item } from './stored.ts'
import { authorOf, type WorkerSteps, type WorkItem } from './worker-steps.ts'

export interface DrainStepDeps {
  readonly backend: Pick<Backend, 'workers'>
  readonly clock: Clock
  readonly registry: Pick<Registry, 'drain'>
}

export class DrainSteps implements WorkerSteps {
  readonly #deps: DrainStepDeps

  constructor(deps: DrainStepDeps) {
    this.#deps = deps
  }

  async begin(operation: Operation, work: readonly WorkItem[]): Promise<readonly Item[]> {
    const { backend, clock, registry } = this.#deps
    const { type } = operation
    const refs = work.map(({ item }) => ({ type, id: item.id }))
    const rows = await backend.workers.get(refs)
    const isConnected = (at: number): boolean => rows[at]?.connected === true
    await registry.drain(
      refs.filter((_, at) => isConnected(at)),
      authorOf(operation),
    )
    const t = clock.wallMs()
    return work.map(({ item }, at): Item => {
      if (rows[at] === null) return { ...item, s: 'unknown', e: 'has no record' }
      return isConnected(at) ? { ...item, s: 'active', t } : { ...item, s: 'unchanged', e: 'is not connected' }
    })
  }

  async judge({ type, head: { waitMs } }: Operation, work: readonly WorkItem[]): Promise<readonly Item[]> {
    const rows = await this.#deps.backend.workers.get(work.map(({ item }) => ({ type, id: item.id })))
    const nowMs = this.#deps.clock.wallMs()
    return work.map(({ item }, at): Item => {
      const row = rows[at] ?? null
      if (row === null) return { ...item, s: 'done', e: 'was deleted' }
      if (!row.connected || !row.draining) return { ...item, s: 'done' }
      if (nowMs - (item.t ?? nowMs) < waitMs) return item
      return { ...item, s: 'failed', e: `still drains after ${waitMs / 1_000} s` }
    })
  }
}
